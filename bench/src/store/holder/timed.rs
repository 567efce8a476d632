//! A directory that counts, times and optionally delays its syncs.

use machinery_store::files::{Directory, File, FileId, Files, HeldLock};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The syncs of files. Directory syncs are not counted, as in etcd.
#[derive(Default)]
pub(super) struct Syncs {
    count: AtomicUsize,
    nanoseconds: AtomicU64,
}

#[derive(Clone, Copy)]
pub(super) struct SoFar {
    count: usize,
    nanoseconds: u64,
}

impl Syncs {
    pub(super) fn so_far(&self) -> SoFar {
        SoFar {
            count: self.count.load(Ordering::Relaxed),
            nanoseconds: self.nanoseconds.load(Ordering::Relaxed),
        }
    }

    /// Returns the number and the total duration of syncs since `before`.
    pub(super) fn since(&self, before: SoFar) -> (usize, Duration) {
        let now = self.so_far();
        (now.count - before.count, Duration::from_nanos(now.nanoseconds - before.nanoseconds))
    }
}

pub(super) struct Timed {
    directory: Directory,
    at_least: Duration,
    syncs: Arc<Syncs>,
}

struct TimedFile {
    file: Box<dyn File>,
    at_least: Duration,
    syncs: Arc<Syncs>,
}

impl Timed {
    pub(super) fn new(directory: Directory, at_least: Duration, syncs: Arc<Syncs>) -> Self {
        Self { directory, at_least, syncs }
    }

    fn timed(&self, file: Box<dyn File>) -> Box<dyn File> {
        Box::new(TimedFile { file, at_least: self.at_least, syncs: self.syncs.clone() })
    }
}

impl Files for Timed {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.directory.create(name).map(|file| self.timed(file))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.directory.open(name).map(|file| self.timed(file))
    }

    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.directory.open_to_read(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.directory.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.directory.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.directory.list()
    }

    fn sync(&self) -> io::Result<()> {
        self.directory.sync()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn HeldLock>>> {
        self.directory.lock()
    }

    fn id(&self, name: &str) -> io::Result<FileId> {
        self.directory.id(name)
    }

    fn salt(&self) -> io::Result<u64> {
        self.directory.salt()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path(name)
    }
}

impl File for TimedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        let started = Instant::now();
        self.file.sync()?;
        std::thread::sleep(self.at_least.saturating_sub(started.elapsed()));
        let nanoseconds = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.syncs.count.fetch_add(1, Ordering::Relaxed);
        self.syncs.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn id(&self) -> io::Result<FileId> {
        self.file.id()
    }

    fn lock(&self) -> io::Result<bool> {
        self.file.lock()
    }
}
