//! A store that is opened on a full disk: it is read, and written as soon as there is space.

use std::io::ErrorKind;

use machinery_store::faulty::{self, DiskCall, DiskFault};
use machinery_store::{Backend, CommitError, KeySpan, Range, Transaction};

use crate::crash::open;
use crate::crash_witness::Witness;

/// A file system that copies on writes needs space to rewrite the last batch, too.
#[tokio::test]
async fn a_store_opened_on_a_full_disk_serves_reads_until_there_is_space() {
    for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded] {
        let (disk, mut witness) = (faulty::FaultyDisk::new(), Witness::new());
        let store = open(&disk).unwrap();
        for _ in 0..3 {
            witness.write_next(&store).await;
        }
        drop(store);
        disk.inject(DiskFault::error(DiskCall::Write, kind).for_ever());
        let store = open(&disk).unwrap();
        witness.check(&store).await;
        for _ in 0..2 {
            let refused = store.commit(Transaction::new().put("more", *b"1")).await.unwrap_err();
            assert!(matches!(refused, CommitError::Refused { .. }), "{refused}");
            assert!(refused.to_string().contains("free some there, and writes go on"), "{refused}");
        }
        assert!(store.trouble().unwrap().contains("there is no room"));
        witness.check(&store).await;
        drop(store);
        let store = open(&disk).unwrap();
        witness.check(&store).await;

        disk.heal();
        let before = disk.steps();
        witness.write_next(&store).await;
        let writes = disk.trace()[before..].iter().filter(|(call, _)| *call == DiskCall::Write).count();
        assert!(writes >= 2, "the last batch is rewritten before the next one is written");
        assert_eq!(store.trouble(), None);
        store.close().await.unwrap();
        witness.check(&open(&disk).unwrap()).await;
    }
}

/// The rewrite fails: nothing is known of the last batch then.
#[tokio::test]
async fn a_rewrite_that_fails_after_the_open_ends_writes() {
    let disk = faulty::FaultyDisk::new();
    let store = open(&disk).unwrap();
    store.commit(Transaction::new().put("a", *b"1")).await.unwrap();
    drop(store);
    disk.inject(DiskFault::error(DiskCall::Write, ErrorKind::StorageFull));
    let store = open(&disk).unwrap();
    disk.inject(DiskFault::error(DiskCall::Write, ErrorKind::Other));
    store.commit(Transaction::new().put("b", *b"2")).await.unwrap_err();
    assert!(store.trouble().unwrap().contains("mend the disk"));
    assert_eq!(store.range(Range::of(KeySpan::all())).await.unwrap().entries.len(), 1);
    drop(store);
    assert_eq!(open(&disk).unwrap().range(Range::of(KeySpan::all())).await.unwrap().entries.len(), 1);
}
