//! The end of the log, where batches are added.

use std::io;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_sync::Mutex;

use super::checkpoint::remove_if_there;
use super::format::{FORMAT, HEADER, Header, Kind as FileKind};
use super::frame::{self, FRAME, Kind};
use super::names::Name;
use crate::files::{File, Files};

/// The open segment of the log.
pub(crate) struct Log {
    files: Arc<dyn Files>,
    spares: Arc<Spares>,
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

/// A file that grows does so by this much, so that most syncs find its length unchanged.
const STEP: u64 = 1 << 20;

/// Files that are written already, so that writing them again changes no metadata: half the time of a sync.
#[derive(Default)]
pub(crate) struct Spares(Mutex<Vec<String>>);

/// More than this is given back to the system.
pub(crate) const SPARES: usize = 8;

impl Spares {
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
        spares: Arc<Spares>,
        segment: Segment,
        segment_bytes: u64,
    ) -> Self {
        Self { files, spares, segment, segment_bytes, mark: Vec::new() }
    }

    /// The number of the open segment.
    pub(crate) fn number(&self) -> u64 {
        self.segment.number
    }

    /// Makes a batch durable: `frame` has its payload behind 32 free bytes, and follows
    /// `revision` and `compacted`. True: in a new segment.
    pub(crate) fn append(
        &mut self,
        frame: &mut Vec<u8>,
        revision: Revision,
        compacted: Revision,
    ) -> io::Result<bool> {
        let needed = (frame.len().next_multiple_of(8) + FRAME) as u64;
        let rotates = self.segment.end > HEADER as u64 && self.segment.end + needed > self.segment_bytes;
        if rotates {
            self.turn(revision, compacted)?;
        }
        self.grow(needed)?;
        frame::finish(frame, Kind::Batch, revision, self.segment.salt);
        self.segment.file.write_at(frame, self.segment.end)?;
        self.segment.file.sync()?;
        self.segment.end += frame.len() as u64;
        Ok(rotates)
    }

    /// Goes on in a new segment.
    fn turn(&mut self, revision: Revision, compacted: Revision) -> io::Result<()> {
        let number = self.segment.number + 1;
        let next = begin(&*self.files, self.spares.take(), number, revision, compacted)?;
        // Behind this a missing file is missed.
        self.mark(Kind::Turn, revision)?;
        self.segment.file.sync()?;
        self.segment = next;
        Ok(())
    }

    /// Makes room for `needed` bytes. That the file is so long is durable before anything is written there.
    fn grow(&mut self, needed: u64) -> io::Result<()> {
        let Segment { file, end, size, .. } = &mut self.segment;
        if *end + needed > *size {
            let step = STEP.min(self.segment_bytes.saturating_sub(*size)).max(*end + needed - *size);
            file.write_at(&vec![0; step as usize], *size)?;
            file.sync()?;
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
        self.mark(Kind::Seal, revision)
    }

    fn mark(&mut self, kind: Kind, revision: Revision) -> io::Result<()> {
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
    // Somebody may have removed it to make room.
    let spare = spare.and_then(|name| files.open(&name).ok().map(|file| (name, file)));
    let (name, file) = match spare {
        Some(spare) => spare,
        None => {
            let name = Name::Spare(number).to_string();
            remove_if_there(files, &name)?;
            let file = files.create(&name)?;
            (name, file)
        }
    };
    match name_log(files, &*file, &name, number, from, compacted) {
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
    number: u64,
    from: Revision,
    compacted: Revision,
) -> io::Result<(u64, u64)> {
    let salt = files.salt()?;
    let count = compacted.0;
    let header = Header { format: FORMAT, kind: FileKind::Log, salt, number, from: from.0, count };
    let mut bytes = header.encode().to_vec();
    bytes.resize(HEADER + FRAME, 0);
    file.write_at(&bytes, 0)?;
    file.sync()?;
    let size = file.size()?;
    files.rename(name, &Name::Log(number).to_string())?;
    files.sync()?;
    Ok((salt, size))
}
