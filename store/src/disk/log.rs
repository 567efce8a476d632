//! Appending batches to the log.

use std::io;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_sync::Mutex;

use super::checkpoint::remove_if_there;
use super::file_name::FileName;
use super::format::{FORMAT, FileKind, HEADER, Header};
use super::frame::{self, FRAME, FrameKind};
use crate::files::{File, Files};

/// The log, open for appending.
pub(crate) struct Log {
    files: Arc<dyn Files>,
    spares: Arc<SpareSegments>,
    segment: Segment,
    /// Length at which the next segment is started.
    segment_bytes: u64,
    mark: Vec<u8>,
}

/// A segment: one file of the log.
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) salt: u64,
    pub(crate) file: Box<dyn File>,
    /// Offset of the next frame.
    pub(crate) end: u64,
    /// Size of the file.
    pub(crate) size: u64,
    /// The link of the next batch.
    pub(crate) link: u32,
    /// The last batch and its offset, if it could not be rewritten at the open, for want of room.
    pub(crate) owed: Option<(u64, Vec<u8>)>,
}

/// An error of reserving space.
#[derive(Debug)]
pub(crate) enum SpaceError {
    /// The disk is full, or there is no file descriptor for the next segment. The log is as it was.
    Full(io::Error),
    /// Another error: the state of the disk is unknown.
    Failed(io::Error),
}

impl SpaceError {
    fn of(error: io::Error) -> Self {
        if is_full(&error) || lacks_descriptors(&error) { Self::Full(error) } else { Self::Failed(error) }
    }
}

/// Returns whether the process or the system has no free file descriptor, which is temporary.
pub(crate) fn lacks_descriptors(error: &io::Error) -> bool {
    // The same numbers in all systems that have them.
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

/// Returns whether an error means that the disk is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Step by which a segment grows, so that most syncs find its length unchanged.
const STEP: u64 = 1 << 20;

/// Preallocated segments: overwriting a file changes no metadata, which halves the time of a sync.
/// They are open, so that the next segment needs no file descriptor.
#[derive(Default)]
pub(crate) struct SpareSegments(Mutex<Vec<SpareSegment>>);

/// An open file that can become a segment.
pub(crate) struct SpareSegment {
    pub(crate) name: String,
    pub(crate) file: Box<dyn File>,
}

/// Maximum number of spare segments.
pub(crate) const SPARES: usize = 8;

impl SpareSegments {
    pub(crate) fn put(&self, spare: SpareSegment) {
        self.0.lock().push(spare);
    }

    fn take(&self) -> Option<SpareSegment> {
        self.0.lock().pop()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

impl Log {
    /// Appends to `segment`.
    pub(crate) fn new(
        files: Arc<dyn Files>,
        spares: Arc<SpareSegments>,
        segment: Segment,
        segment_bytes: u64,
    ) -> Self {
        Self { files, spares, segment, segment_bytes, mark: Vec::new() }
    }

    /// Returns the open segment.
    pub(crate) fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Returns the number of the open segment.
    pub(crate) fn number(&self) -> u64 {
        self.segment.number
    }

    /// Reserves space for a batch that follows `revision` and `compacted`, with a frame of up to
    /// `bytes`. May start another segment. A failed reservation does not reduce the space that was
    /// reserved before.
    pub(crate) fn reserve(
        &mut self,
        bytes: usize,
        revision: Revision,
        compacted: Revision,
    ) -> Result<(), SpaceError> {
        self.pay()?;
        // And a header more, since a seal or a turn follows the batch.
        let needed = (bytes.next_multiple_of(8) + FRAME) as u64;
        // An empty segment grows instead: the next one would be too small as well.
        if self.segment.end > HEADER as u64 && self.segment.end + needed > self.segment_bytes {
            return self.turn(needed, revision, compacted);
        }
        self.grow(needed)
    }

    /// Rewrites the last batch of the process before, if that had no room yet.
    fn pay(&mut self) -> Result<(), SpaceError> {
        let Segment { file, owed, .. } = &mut self.segment;
        if let Some((at, batch)) = owed {
            file.write_at(batch, *at).map_err(SpaceError::of)?;
            file.sync().map_err(SpaceError::Failed)?;
            *owed = None;
        }
        Ok(())
    }

    /// Appends a batch durably. Its space must have been reserved; `frame` has its payload after 32
    /// free bytes, and follows `revision`.
    pub(crate) fn append(&mut self, frame: &mut Vec<u8>, revision: Revision) -> io::Result<()> {
        let link = frame::finish(frame, FrameKind::Batch, revision, self.segment.salt, self.segment.link);
        let end = self.segment.end + frame.len() as u64;
        debug_assert!(
            end + FRAME as u64 <= self.segment.size,
            "room was made for it, and for a mark behind it"
        );
        // One frame per batch: several could reach the disk in any order, and prove nothing.
        self.segment.file.write_at(frame, self.segment.end)?;
        self.segment.file.sync()?;
        (self.segment.end, self.segment.link) = (end, link);
        Ok(())
    }

    /// Switches to a new segment with space for `needed` bytes.
    fn turn(&mut self, needed: u64, revision: Revision, compacted: Revision) -> Result<(), SpaceError> {
        let number = self.segment.number + 1;
        let size = (HEADER as u64 + needed).max(STEP.min(self.segment_bytes));
        // The next segment first: if the disk is full, this one is still as it was.
        let next = begin_with(&*self.files, self.spares.take(), number, revision, compacted, size)
            .map_err(SpaceError::of)?;
        // The turn frame makes recovery notice if the next file is missing.
        self.mark(FrameKind::Turn, revision).map_err(SpaceError::Failed)?;
        self.segment.file.sync().map_err(SpaceError::Failed)?;
        self.segment = next;
        Ok(())
    }

    /// Grows the segment by `needed` bytes. The new length is durable before anything is written
    /// there.
    fn grow(&mut self, needed: u64) -> Result<(), SpaceError> {
        let Segment { file, end, size, .. } = &mut self.segment;
        if *end + needed > *size {
            // Zeros are written rather than a length set: writing over them changes no metadata.
            let step = STEP.min(self.segment_bytes.saturating_sub(*size)).max(*end + needed - *size);
            // Zeros of a failed attempt are after the end, and are rewritten next time.
            file.write_at(&vec![0; step as usize], *size).map_err(SpaceError::of)?;
            file.sync().map_err(SpaceError::Failed)?;
            *size += step;
        }
        Ok(())
    }

    /// Returns whether a spare for the next segment should be made.
    pub(crate) fn wants_spare(&self) -> bool {
        // Early enough for a throttled fill, and a small store needs no spare at all.
        self.segment.end >= self.segment_bytes / 4
    }

    /// Writes a seal after the last batch: it was durable, and the log ends at `revision`. The next
    /// batch overwrites the seal.
    pub(crate) fn seal(&mut self, revision: Revision) -> io::Result<()> {
        if self.segment.owed.is_some() {
            return Ok(());
        }
        // With a seal behind it, damage of the last batch is not taken for a torn write.
        self.mark(FrameKind::Seal, revision)
    }

    fn mark(&mut self, kind: FrameKind, revision: Revision) -> io::Result<()> {
        self.mark.clear();
        self.mark.resize(FRAME, 0);
        frame::finish(&mut self.mark, kind, revision, self.segment.salt, 0);
        self.segment.file.write_at(&self.mark, self.segment.end)
    }

    /// Syncs the open segment, and with it a seal that was written last.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.segment.file.sync()
    }
}

/// Creates a segment from a spare or a new file. It is renamed to a log only once its header is
/// durable.
pub(crate) fn begin(
    files: &dyn Files,
    spare: Option<SpareSegment>,
    number: u64,
    from: Revision,
    compacted: Revision,
) -> io::Result<Segment> {
    begin_with(files, spare, number, from, compacted, (HEADER + FRAME) as u64)
}

/// As [`begin`], with a minimum size.
fn begin_with(
    files: &dyn Files,
    spare: Option<SpareSegment>,
    number: u64,
    from: Revision,
    compacted: Revision,
    least: u64,
) -> io::Result<Segment> {
    let header =
        Header { format: FORMAT, kind: FileKind::Log, salt: 0, number, from: from.0, count: compacted.0 };
    if let Some(spare) = spare {
        match open_segment(files, spare, header, least) {
            // An operator has removed the spare to free space.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            made => return made,
        }
    }
    let name = FileName::Spare(number).to_string();
    remove_if_there(files, &name)?;
    let file = files.create(&name)?;
    open_segment(files, SpareSegment { name, file }, header, least)
}

/// Makes a segment of a spare file, or removes the file.
fn open_segment(files: &dyn Files, spare: SpareSegment, header: Header, least: u64) -> io::Result<Segment> {
    let SpareSegment { name, file } = spare;
    if !file.lock()? {
        return Err(io::Error::other("another process has it open"));
    }
    match name_log(files, &*file, &name, header, least) {
        Ok((salt, size)) => {
            let number = header.number;
            Ok(Segment { number, salt, file, end: HEADER as u64, size, link: 0, owed: None })
        }
        Err(error) => {
            let _ = files.remove(&name);
            Err(error)
        }
    }
}

fn name_log(
    files: &dyn Files,
    file: &dyn File,
    name: &str,
    header: Header,
    least: u64,
) -> io::Result<(u64, u64)> {
    // A new salt for each use: old frames in a recycled segment no longer match.
    let salt = files.salt()?;
    let mut bytes = Header { salt, ..header }.encode().to_vec();
    bytes.resize(HEADER + FRAME, 0);
    file.write_at(&bytes, 0)?;
    let long = file.size()?;
    if long < least {
        file.write_at(&vec![0; (least - long) as usize], long)?;
    }
    // A failed sync is never treated as a full disk, whatever its error.
    file.sync().map_err(io::Error::other)?;
    files.rename(name, &FileName::Log(header.number).to_string())?;
    files.sync().map_err(io::Error::other)?;
    Ok((salt, long.max(least)))
}
