//! Long logs: the bounds of read chunks and pipeline parts fall at every position.

use std::sync::Arc;

use machinery_store::{Backend, Disk, DiskOptions, KeySpan, OpenError, Range, Transaction, faulty};

/// Sizes around those of a part, of a window, and of two windows.
const SIZES: [usize; 7] = [1, 60_000, 65_536, 1_000_000, 1_048_576, 1_200_000, 9];

async fn store() -> faulty::FaultyDisk {
    let disk = faulty::FaultyDisk::new();
    let store = open(&disk).unwrap();
    for (round, size) in (0_u8..3).flat_map(|round| SIZES.map(|size| (round, size))) {
        store.commit(Transaction::new().put(format!("{size}"), vec![round; size])).await.unwrap();
    }
    disk.kill()
}

fn open(disk: &faulty::FaultyDisk) -> Result<Disk, OpenError> {
    open_with(disk, 32 << 20)
}

fn open_with(disk: &faulty::FaultyDisk, segment_bytes: u64) -> Result<Disk, OpenError> {
    let options = DiskOptions { segment_bytes, checkpoint_bytes: u64::MAX, ..DiskOptions::default() };
    Disk::open_on(Arc::new(disk.clone()), options)
}

#[tokio::test]
async fn a_long_log_is_read_whole() {
    let disk = store().await;
    for _ in 0..2 {
        let store = open(&disk).unwrap();
        for size in SIZES {
            let page = store.range(Range::of(KeySpan::one(format!("{size}")))).await.unwrap();
            assert!(*page.entries[0].value == vec![2; size], "{size}");
        }
        store.checkpoint().await.unwrap();
        store.close().await.unwrap();
    }
}

/// The frame that proves the damage is far after it.
#[tokio::test]
async fn damage_is_found_where_the_next_batch_is_far_away() {
    let disk = store().await;
    let files = disk.contents();
    let (log, bytes) = files.iter().find(|(name, _)| name.starts_with("log")).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    assert!(end > 8 << 20, "{end}");
    for place in (100..end - 2_000_000).step_by(700_001) {
        let damaged = disk.kill();
        damaged.flip(log, place * 8);
        let error = open(&damaged).unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }), "{place}: {error}");
    }
}

/// Everything is compacted, so only the number of versions shows that some are missing.
#[tokio::test]
async fn a_checkpoint_that_ends_between_two_blocks_is_damaged() {
    let disk = faulty::FaultyDisk::new();
    // One segment per batch, so the logs before the checkpoint are removed.
    let store = open_with(&disk, 1 << 16).unwrap();
    for key in 0..10 {
        store.commit(Transaction::new().put(format!("{key}"), vec![key; 100_000])).await.unwrap();
    }
    store.compact(store.revision().await.unwrap()).await.unwrap();
    store.checkpoint().await.unwrap();
    store.close().await.unwrap();
    let files = disk.contents();
    let (name, bytes) = files.iter().find(|(name, _)| name.starts_with("checkpoint")).unwrap();
    let length = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let blocks =
        std::iter::successors(Some(64), |at| Some(at + 8 + length(*at)).filter(|at| *at < bytes.len()));
    let ends: Vec<usize> = blocks.collect();
    assert!(ends.len() >= 3, "{ends:?}");
    for end in ends {
        let cut = disk.kill();
        cut.put(name, &bytes[..end]);
        let error = open_with(&cut, 1 << 16).unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }), "{end}: {error}");
    }
}
