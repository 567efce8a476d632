//! The conformance suite of stores, run against a cache.

use std::sync::Arc;

use async_trait::async_trait;
use machinery_store::conformance::{Capabilities, Subject};
use machinery_store::{Backend, Disk, DiskOptions, Limits, Memory, Options};
use tempfile::TempDir;

use super::behind::Behind;

/// A memory store behind a cache with a ring of this many revisions.
struct OfMemory(usize);

#[async_trait]
impl Subject for OfMemory {
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
        let store = Memory::new(Options { limits, ..Options::default() });
        Arc::new(Behind::new(Arc::new(store), self.0).await)
    }

    fn capabilities(&self) -> Capabilities {
        // Watches of a cache open no watch of the store.
        Capabilities { counts_watches: false, buffered_revisions: self.0, ..Capabilities::default() }
    }
}

/// A disk store behind a cache, which is created again on reopening.
#[derive(Default)]
struct OfDisk(Option<(TempDir, Arc<Disk>)>);

const RING: usize = 64;

#[async_trait]
impl Subject for OfDisk {
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
        let directory = TempDir::new().expect("a directory of our own");
        let mut options = DiskOptions::default();
        options.store.limits = limits;
        let disk = Arc::new(Disk::open(directory.path(), options).expect("a new store is opened"));
        self.0 = Some((directory, disk.clone()));
        Arc::new(Behind::new(disk, RING).await)
    }

    async fn reopen(&mut self) -> Option<Arc<dyn Backend>> {
        let (directory, disk) = self.0.take()?;
        disk.close().await.expect("the store is closed");
        drop(disk);
        let disk = Disk::open(directory.path(), DiskOptions::default()).expect("what was closed is opened");
        let disk = Arc::new(disk);
        self.0 = Some((directory, disk.clone()));
        Some(Arc::new(Behind::new(disk, RING).await))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { counts_watches: false, buffered_revisions: RING, ..Capabilities::default() }
    }
}

mod disk_with_a_ring {
    machinery_store::conformance_tests!(super::OfDisk::default());
}

mod memory_with_a_ring {
    machinery_store::conformance_tests!(super::OfMemory(1024));
}

/// Most watches that are not read at once are read from the store.
mod memory_with_a_short_ring {
    machinery_store::conformance_tests!(super::OfMemory(24));
}
