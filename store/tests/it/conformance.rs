//! The conformance suite on every backend, and a test of its list.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use machinery_store::conformance::{BEHAVIOURS, Subject};
use machinery_store::model::NaiveBackend;
use machinery_store::{Backend, Disk, DiskOptions, Limits, Memory, Options};

/// The model stays open instead of reopening.
#[derive(Default)]
struct NaiveSubject(Option<NaiveBackend>);

#[async_trait]
impl Subject for NaiveSubject {
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
        Arc::new(self.0.insert(NaiveBackend::new(limits)).clone())
    }

    async fn reopen(&mut self) -> Option<Arc<dyn Backend>> {
        Some(Arc::new(self.0.clone()?))
    }
}

struct MemorySubject;

#[async_trait]
impl Subject for MemorySubject {
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
        Arc::new(Memory::new(Options { limits, ..Options::default() }))
    }
}

/// With tiny segments, so that every boundary is crossed, or with the defaults.
struct DiskSubject {
    options: DiskOptions,
    opened: Option<(tempfile::TempDir, Arc<Disk>)>,
}

impl DiskSubject {
    fn tiny() -> Self {
        Self::with(DiskOptions { segment_bytes: 4096, checkpoint_bytes: 16 * 1024, ..DiskOptions::default() })
    }

    fn with(options: DiskOptions) -> Self {
        Self { options, opened: None }
    }
}

#[async_trait]
impl Subject for DiskSubject {
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
        let directory = tempfile::tempdir().expect("a directory of our own");
        self.options.store.limits = limits;
        let disk = Disk::open(directory.path(), self.options.clone()).expect("a new store is opened");
        let disk = Arc::new(disk);
        // Dropping the previous directory removes the previous store.
        self.opened = Some((directory, Arc::clone(&disk)));
        disk
    }

    async fn reopen(&mut self) -> Option<Arc<dyn Backend>> {
        let (directory, disk) = self.opened.take()?;
        disk.close().await.expect("the store is closed");
        drop(disk);
        let disk = Disk::open(directory.path(), self.options.clone()).expect("what was closed is opened");
        let disk = Arc::new(disk);
        self.opened = Some((directory, Arc::clone(&disk)));
        Some(disk)
    }
}

mod naive {
    machinery_store::conformance_tests!(super::NaiveSubject::default());
}

mod memory {
    machinery_store::conformance_tests!(super::MemorySubject);
}

mod disk {
    machinery_store::conformance_tests!(super::DiskSubject::tiny());
}

mod disk_as_it_ships {
    machinery_store::conformance_tests!(super::DiskSubject::with(super::DiskOptions::default()));
}

#[test]
fn the_list_is_the_suite() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance");
    let mut written = BTreeSet::new();
    for file in std::fs::read_dir(sources).expect("the sources are there") {
        let path = file.expect("a readable directory").path();
        if path.ends_with("list.rs") {
            continue;
        }
        let source = std::fs::read_to_string(path).expect("a readable file");
        let names = source.lines().filter_map(|line| line.strip_prefix("pub async fn "));
        written.extend(names.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.to_string()));
    }
    let listed: BTreeSet<String> = BEHAVIOURS.iter().map(|behaviour| behaviour.name.to_string()).collect();
    assert_eq!(listed, written);
    assert_eq!(listed.len(), BEHAVIOURS.len(), "none is listed twice");
}
