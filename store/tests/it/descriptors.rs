//! A process without free file descriptors: writes go on with the segment that was made in advance,
//! or are refused until there is a descriptor. Regression: the store refused every write until a
//! restart.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinery_store::faulty::FaultyDisk;
use machinery_store::files::{File, FileId, Files, HeldLock};
use machinery_store::{Backend as _, CommitError, Disk, DiskOptions, KeySpan, Range, Transaction};

/// `EMFILE` of all systems that have it.
const EMFILE: i32 = 24;

/// A disk whose files cannot be opened while there are no descriptors.
#[derive(Clone)]
struct Scarce {
    disk: FaultyDisk,
    none: Arc<AtomicBool>,
}

impl Scarce {
    fn new() -> Self {
        Self { disk: FaultyDisk::new(), none: Arc::default() }
    }

    fn open<T>(&self, open: impl FnOnce(&FaultyDisk) -> io::Result<T>) -> io::Result<T> {
        if self.none.load(Ordering::Relaxed) {
            return Err(io::Error::from_raw_os_error(EMFILE));
        }
        open(&self.disk)
    }
}

impl Files for Scarce {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.open(|disk| disk.create(name))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.open(|disk| Files::open(disk, name))
    }

    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.open(|disk| disk.open_to_read(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn HeldLock>>> {
        self.disk.lock()
    }

    fn id(&self, name: &str) -> io::Result<FileId> {
        self.disk.id(name)
    }

    fn salt(&self) -> io::Result<u64> {
        self.disk.salt()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.disk.path(name)
    }
}

fn options() -> DiskOptions {
    DiskOptions { segment_bytes: 8192, background: false, ..DiskOptions::default() }
}

fn put(number: usize) -> Transaction {
    Transaction::new().put(format!("k{number:04}"), vec![7; 300])
}

async fn keys(store: &Disk) -> usize {
    store.range(Range::of(KeySpan::all())).await.unwrap().entries.len()
}

fn logs(disk: &FaultyDisk) -> usize {
    disk.contents().keys().filter(|name| name.starts_with("log")).count()
}

#[tokio::test]
async fn the_next_segment_needs_no_descriptor() {
    let scarce = Scarce::new();
    let store = Disk::open_on(Arc::new(scarce.clone()), options()).unwrap();
    let mut written = 0;
    while !scarce.disk.contents().keys().any(|name| name.starts_with("spare")) {
        store.commit(put(written)).await.unwrap();
        written += 1;
    }
    scarce.none.store(true, Ordering::Relaxed);
    let before = logs(&scarce.disk);
    while logs(&scarce.disk) == before {
        store.commit(put(written)).await.expect("the segment was made in advance");
        written += 1;
    }
    assert_eq!(keys(&store).await, written);
}

#[tokio::test]
async fn writes_without_descriptors_are_refused_until_there_are_some() {
    let scarce = Scarce::new();
    let store = Disk::open_on(Arc::new(scarce.clone()), options()).unwrap();
    scarce.none.store(true, Ordering::Relaxed);
    let mut written = 0;
    let refused = loop {
        match store.commit(put(written)).await {
            Ok(_) => written += 1,
            Err(refused) => break refused,
        }
        assert!(written < 1000, "the segment ends");
    };
    assert!(matches!(refused, CommitError::Refused { .. }), "{refused:?}");
    assert!(refused.to_string().contains("file descriptor"), "{refused}");
    assert!(store.trouble().is_some());
    assert_eq!(keys(&store).await, written, "reads go on");

    scarce.none.store(false, Ordering::Relaxed);
    for _ in 0..100 {
        store.commit(put(written)).await.expect("it recovers by itself");
        written += 1;
    }
    assert_eq!(store.trouble(), None);
    store.close().await.unwrap();
    let store = Disk::open_on(Arc::new(scarce), options()).unwrap();
    assert_eq!(keys(&store).await, written);
}

#[tokio::test]
async fn a_checkpoint_without_a_descriptor_is_made_later() {
    let scarce = Scarce::new();
    let store = Disk::open_on(Arc::new(scarce.clone()), options()).unwrap();
    store.commit(put(0)).await.unwrap();
    scarce.none.store(true, Ordering::Relaxed);
    store.checkpoint().await.expect_err("there is none");
    assert!(store.trouble().is_some());
    scarce.none.store(false, Ordering::Relaxed);
    let made = async {
        while store.trouble().is_some() {
            // As a server does to find out.
            store.commit(Transaction::new()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), made).await.expect("it is made");
    assert!(scarce.disk.contents().keys().any(|name| name.starts_with("checkpoint")));
}
