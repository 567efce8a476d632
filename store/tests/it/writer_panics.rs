//! A panic in the writer thread.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinery_store::files::{File, FileId, Files, HeldLock};
use machinery_store::{Backend, CommitError, Disk, KeySpan, Range, Transaction, WatchError, faulty};

use crate::crash::{open, options};

/// A disk that panics on writes once its flag is set.
struct Panicking(faulty::FaultyDisk, Arc<AtomicBool>);

struct Handle(Box<dyn File>, Arc<AtomicBool>);

impl Panicking {
    fn handle(&self, file: io::Result<Box<dyn File>>) -> io::Result<Box<dyn File>> {
        file.map(|file| Box::new(Handle(file, Arc::clone(&self.1))) as _)
    }
}

impl Files for Panicking {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.handle(self.0.create(name))
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.handle(self.0.open(name))
    }
    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.0.open_to_read(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn sync(&self) -> io::Result<()> {
        Files::sync(&self.0)
    }
    fn lock(&self) -> io::Result<Option<Box<dyn HeldLock>>> {
        self.0.lock()
    }
    fn id(&self, name: &str) -> io::Result<FileId> {
        self.0.id(name)
    }
    fn salt(&self) -> io::Result<u64> {
        self.0.salt()
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }
}

impl File for Handle {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        assert!(!self.1.load(Ordering::Relaxed), "as the test wants it");
        self.0.write_at(bytes, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
    fn id(&self) -> io::Result<FileId> {
        self.0.id()
    }
    fn lock(&self) -> io::Result<bool> {
        self.0.lock()
    }
}

#[tokio::test]
async fn a_writer_panic_ends_watches_unlocks_the_directory_and_is_reported() {
    let (disk, panics) = (faulty::FaultyDisk::new(), Arc::new(AtomicBool::new(false)));
    let files = Panicking(disk.clone(), Arc::clone(&panics));
    let store = Disk::open_on(Arc::new(files), options()).unwrap();
    let kept = store.commit(Transaction::new().put("kept", *b"")).await.unwrap();
    let mut watch = store.watch(KeySpan::all(), kept.revision).await.unwrap();
    panics.store(true, Ordering::Relaxed);
    let lost = store.commit(Transaction::new().put("lost", *b"")).await.unwrap_err();
    assert!(matches!(lost, CommitError::Unknown { .. }), "{lost}");
    let ended = tokio::time::timeout(Duration::from_secs(60), watch.next()).await.expect("it ends");
    assert!(matches!(ended, Err(WatchError::Unavailable { .. })), "{ended:?}");
    store.close().await.unwrap();
    assert!(store.trouble().unwrap().contains("panicked"));

    let store = open(&disk).unwrap();
    assert_eq!(store.range(Range::of(KeySpan::one("kept"))).await.unwrap().entries.len(), 1);
}
