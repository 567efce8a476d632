//! The end of the log, where batches are added.

use std::io;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_sync::Mutex;

use super::checkpoint::remove_if_there;
use super::file_name::FileName;
use super::format::{FORMAT, FileKind, HEADER, Header};
use super::frame::{self, FRAME, FrameKind};
use crate::files::{File, Files};

/// The open segment of the log.
pub(crate) struct Log {
    files: Arc<dyn Files>,
    spares: Arc<SpareSegments>,
    segment: Segment,
    /// A segment that is this long is followed by another one.
    segment_bytes: u64,
    mark: Vec<u8>,
}

/// One file of the log.
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) salt: u64,
    pub(crate) file: Box<dyn File>,
    /// Where the next frame goes.
    pub(crate) end: u64,
    /// Bytes of the file.
    pub(crate) size: u64,
}

/// Why no room was made.
#[derive(Debug)]
pub(crate) enum SpaceError {
    /// The disk is full. The log is as it was.
    Full(io::Error),
    /// Something else: what the disk holds is not known.
    Failed(io::Error),
}

impl SpaceError {
    fn of(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full(error),
            _ => Self::Failed(error),
        }
    }
}

/// A file that grows does so by this much, so that most syncs find its length unchanged.
const STEP: u64 = 1 << 20;

/// Files that are written already, so that writing them again changes no metadata: half the time of a sync.
#[derive(Default)]
pub(crate) struct SpareSegments(Mutex<Vec<String>>);

/// More than this is given back to the system.
pub(crate) const SPARES: usize = 8;

impl SpareSegments {
    pub(crate) fn put(&self, name: String) {
        self.0.lock().push(name);
    }

    fn take(&self) -> Option<String> {
        self.0.lock().pop()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

impl Log {
    /// Goes on at the end of `segment`.
    pub(crate) fn new(
        files: Arc<dyn Files>,
        spares: Arc<SpareSegments>,
        segment: Segment,
        segment_bytes: u64,
    ) -> Self {
        Self { files, spares, segment, segment_bytes, mark: Vec::new() }
    }

    /// The number of the open segment.
    pub(crate) fn number(&self) -> u64 {
        self.segment.number
    }

    /// Sees to it that a batch whose frame has up to `bytes`, and follows `revision` and `compacted`, asks the disk for no more
    /// room. It may begin another segment for that. What there was room for before, there is room for after any lack of it.
    pub(crate) fn reserve(
        &mut self,
        bytes: usize,
        revision: Revision,
        compacted: Revision,
    ) -> Result<(), SpaceError> {
        let needed = (bytes.next_multiple_of(8) + FRAME) as u64;
        if self.segment.end > HEADER as u64 && self.segment.end + needed > self.segment_bytes {
            return self.turn(needed, revision, compacted);
        }
        self.grow(needed)
    }

    /// Makes a batch durable for which there is room: `frame` has its payload behind 32 free bytes, and follows `revision`.
    pub(crate) fn append(&mut self, frame: &mut Vec<u8>, revision: Revision) -> io::Result<()> {
        frame::finish(frame, FrameKind::Batch, revision, self.segment.salt);
        let end = self.segment.end + frame.len() as u64;
        debug_assert!(
            end + FRAME as u64 <= self.segment.size,
            "room was made for it, and for a mark behind it"
        );
        self.segment.file.write_at(frame, self.segment.end)?;
        self.segment.file.sync()?;
        self.segment.end = end;
        Ok(())
    }

    /// Goes on in a new segment with room for `needed` bytes.
    fn turn(&mut self, needed: u64, revision: Revision, compacted: Revision) -> Result<(), SpaceError> {
        let number = self.segment.number + 1;
        let size = (HEADER as u64 + needed).max(STEP.min(self.segment_bytes));
        let next = begin_with(&*self.files, self.spares.take(), number, revision, compacted, size)
            .map_err(SpaceError::of)?;
        // Behind this a missing file is missed.
        self.mark(FrameKind::Turn, revision).map_err(SpaceError::Failed)?;
        self.segment.file.sync().map_err(SpaceError::Failed)?;
        self.segment = next;
        Ok(())
    }

    /// Makes room for `needed` bytes. That the file is so long is durable before anything is written there.
    fn grow(&mut self, needed: u64) -> Result<(), SpaceError> {
        let Segment { file, end, size, .. } = &mut self.segment;
        if *end + needed > *size {
            let step = STEP.min(self.segment_bytes.saturating_sub(*size)).max(*end + needed - *size);
            // What comes of them before it fails is behind the end, and zero, and written again the next time.
            file.write_at(&vec![0; step as usize], *size).map_err(SpaceError::of)?;
            file.sync().map_err(SpaceError::Failed)?;
            *size += step;
        }
        Ok(())
    }

    /// Whether so much is written that the next segment should be made.
    pub(crate) fn wants_spare(&self) -> bool {
        self.segment.end >= self.segment_bytes / 4
    }

    /// Says behind the last batch that it was durable, and that the log ends at `revision`. The next batch takes its place.
    pub(crate) fn seal(&mut self, revision: Revision) -> io::Result<()> {
        self.mark(FrameKind::Seal, revision)
    }

    fn mark(&mut self, kind: FrameKind, revision: Revision) -> io::Result<()> {
        self.mark.clear();
        self.mark.resize(FRAME, 0);
        frame::finish(&mut self.mark, kind, revision, self.segment.salt);
        self.segment.file.write_at(&self.mark, self.segment.end)
    }

    /// Makes the seal durable, too.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.segment.file.sync()
    }
}

/// Makes a segment out of a spare file or a new one. It has its name only when its header is durable.
pub(crate) fn begin(
    files: &dyn Files,
    spare: Option<String>,
    number: u64,
    from: Revision,
    compacted: Revision,
) -> io::Result<Segment> {
    begin_with(files, spare, number, from, compacted, (HEADER + FRAME) as u64)
}

/// As [`begin`], with room for so many bytes at least.
fn begin_with(
    files: &dyn Files,
    spare: Option<String>,
    number: u64,
    from: Revision,
    compacted: Revision,
    least: u64,
) -> io::Result<Segment> {
    // Somebody may have removed it to make room.
    let spare = spare.and_then(|name| files.open(&name).ok().map(|file| (name, file)));
    let (name, file) = match spare {
        Some(spare) => spare,
        None => {
            let name = FileName::Spare(number).to_string();
            remove_if_there(files, &name)?;
            let file = files.create(&name)?;
            (name, file)
        }
    };
    let header =
        Header { format: FORMAT, kind: FileKind::Log, salt: 0, number, from: from.0, count: compacted.0 };
    match name_log(files, &*file, &name, header, least) {
        Ok((salt, size)) => Ok(Segment { number, salt, file, end: HEADER as u64, size }),
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
    let salt = files.salt()?;
    let mut bytes = Header { salt, ..header }.encode().to_vec();
    bytes.resize(HEADER + FRAME, 0);
    file.write_at(&bytes, 0)?;
    let long = file.size()?;
    if long < least {
        file.write_at(&vec![0; (least - long) as usize], long)?;
    }
    // A sync that failed is never a mere lack of room, whatever it says.
    file.sync().map_err(io::Error::other)?;
    files.rename(name, &FileName::Log(header.number).to_string())?;
    files.sync().map_err(io::Error::other)?;
    Ok((salt, long.max(least)))
}
