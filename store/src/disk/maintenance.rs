//! Background maintenance: preallocates segments, makes checkpoints, and removes the files that
//! they replace.

use std::io;
use std::sync::Arc;

use machinery_objects::Revision;

use super::checkpoint;
use super::file_name::FileName;
use super::log::{SPARES, SpareSegment, SpareSegments, lacks_descriptors};
use super::ownership::Ownership;
use super::recover::InactiveFiles;
use super::scheduler::State;
use crate::core::View;
use crate::files::{File, Files};
use crate::shared::Shared;

/// A maintenance job.
pub(crate) enum MaintenanceJob {
    /// Preallocate a segment, if there are too few.
    Spare,
    /// A log segment is full; the next checkpoint replaces it.
    Rotated(u64),
    /// Make a checkpoint.
    Checkpoint(CheckpointJob),
}

/// The input of a checkpoint.
pub(crate) struct CheckpointJob {
    pub(crate) view: View,
    pub(crate) revision: Revision,
    /// Called with the result.
    pub(crate) done: Box<dyn FnOnce(io::Result<()>) + Send>,
}

/// Executes maintenance jobs, on the thread of the caller.
pub(crate) struct Maintenance {
    files: Arc<dyn Files>,
    ownership: Arc<Ownership>,
    shared: Arc<Shared>,
    pub(crate) spares: Arc<SpareSegments>,
    pub(crate) state: Arc<State>,
    segment_bytes: u64,
    checkpoints: Vec<Revision>,
    /// Log segments before the open one.
    logs: Vec<u64>,
    next_spare: u64,
}

/// Bytes written between syncs.
pub(crate) const SYNC_CHUNK: u64 = 1 << 20;

/// Recycled spares have their log's number; new ones count from here.
const FRESH: u64 = 1 << 63;

impl Maintenance {
    /// Takes over the existing files.
    pub(crate) fn new(
        files: Arc<dyn Files>,
        ownership: Arc<Ownership>,
        shared: Arc<Shared>,
        segment_bytes: u64,
        others: InactiveFiles,
        state: Arc<State>,
    ) -> Self {
        for name in &others.unfinished {
            // A file that cannot be removed is harmless.
            let _ = files.remove(name);
        }
        let InactiveFiles { logs, checkpoints, spares, .. } = others;
        let next_spare = spares.iter().copied().max().unwrap_or(0).clamp(FRESH, u64::MAX / 4 * 3) + 1;
        let kept = Arc::default();
        let upkeep = Self {
            files,
            ownership,
            shared,
            spares: kept,
            state,
            segment_bytes,
            checkpoints,
            logs,
            next_spare,
        };
        for number in spares {
            upkeep.recycle(&FileName::Spare(number).to_string(), number);
        }
        upkeep
    }

    pub(crate) fn run(&mut self, job: MaintenanceJob) {
        match job {
            MaintenanceJob::Spare => {
                // Without a spare the next segment is created on demand, which is slower and needs
                // a file descriptor.
                if self.make_spare().is_err_and(|error| lacks_descriptors(&error)) {
                    self.state.retry_spare();
                }
            }
            MaintenanceJob::Rotated(number) => self.logs.push(number),
            MaintenanceJob::Checkpoint(checkpoint) => self.checkpoint(checkpoint),
        }
    }

    fn make_spare(&mut self) -> io::Result<()> {
        // One in advance is enough: checkpoints recycle the segments that they replace.
        if self.spares.len() > 0 {
            return Ok(());
        }
        self.check_ownership()?;
        let name = FileName::Spare(self.next_spare).to_string();
        self.next_spare += 1;
        let file = self.files.create(&name)?;
        match self.fill(&*file) {
            Ok(()) => self.spares.put(SpareSegment { name, file }),
            Err(error) => {
                let _ = self.files.remove(&name);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes zeros in chunks, so that syncs of the log can run between them.
    fn fill(&self, file: &dyn File) -> io::Result<()> {
        let zeros = vec![0; self.segment_bytes.min(SYNC_CHUNK) as usize];
        let mut at = 0;
        while at < self.segment_bytes {
            let gulp = (self.segment_bytes - at).min(SYNC_CHUNK);
            file.write_at(&zeros[..gulp as usize], at)?;
            file.sync()?;
            at += gulp;
            self.state.throttle()?;
        }
        Ok(())
    }

    fn checkpoint(&mut self, job: CheckpointJob) {
        let CheckpointJob { view, revision, done } = job;
        let name = checkpoint::name(revision);
        let compacted = || self.shared.compacted();
        let pause = || self.state.throttle().and_then(|()| self.check_ownership());
        let made = self
            .check_ownership()
            .and_then(|()| checkpoint::write(&*self.files, &name, &view, revision, compacted, pause));
        // A snapshot makes the writer copy blocks, so not longer than needed.
        drop(view);
        match &made {
            Ok(()) if self.check_ownership().is_ok() => self.remove_replaced(revision),
            Err(error) if lacks_descriptors(error) => self.state.retry_checkpoint(),
            _ => {}
        }
        done(made);
    }

    /// Fails if the directory belongs to somebody else. Its files must stay as they are.
    fn check_ownership(&self) -> io::Result<()> {
        self.ownership.check().map_err(|why| io::Error::other(why.to_string()))
    }

    /// Removes the files that a durable checkpoint replaces. Those that cannot be removed now are
    /// ignored at the next open.
    fn remove_replaced(&mut self, revision: Revision) {
        for old in std::mem::replace(&mut self.checkpoints, vec![revision]) {
            if old != revision {
                let _ = self.files.remove(&checkpoint::name(old));
            }
        }
        for number in std::mem::take(&mut self.logs) {
            self.recycle(&FileName::Log(number).to_string(), number);
        }
    }

    /// Keeps a file as a spare segment, or removes it.
    fn recycle(&self, name: &str, number: u64) {
        let spare = FileName::Spare(number).to_string();
        // A shorter file would grow while it is written, with slower syncs.
        let fits = |file: &dyn File| file.size().is_ok_and(|size| size == self.segment_bytes);
        let open = || self.files.open(name).ok().filter(|file| fits(&**file));
        let file = (self.spares.len() < SPARES).then(open).flatten();
        let named =
            || name == spare || self.files.rename(name, &spare).and_then(|()| self.files.sync()).is_ok();
        match file {
            Some(file) if named() => self.spares.put(SpareSegment { name: spare, file }),
            _ => drop(self.files.remove(name)),
        }
    }
}
