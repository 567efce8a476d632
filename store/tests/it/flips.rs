//! Flips every bit of a small store, one at a time: the store does not open, or has its old
//! content.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::faulty::{self, DiskCall, PowerLoss};
use machinery_store::{Backend, Disk, DiskOptions, OpenError, Transaction};

use crate::crash::options;
use crate::crash_witness::{At, Witness};

pub(crate) fn open(disk: &faulty::FaultyDisk) -> Result<Disk, OpenError> {
    let options = DiskOptions { segment_bytes: 512, checkpoint_bytes: u64::MAX, ..options() };
    Disk::open_on(Arc::new(disk.clone()), options)
}

/// Makes a store with a checkpoint, a replaced log, logs after it, a spare, history and a compacted
/// revision.
pub(crate) async fn store() -> (faulty::FaultyDisk, Disk, Witness) {
    let (disk, mut witness) = (faulty::FaultyDisk::new(), Witness::new());
    let store = open(&disk).unwrap();
    for count in 0..9 {
        let value = |bytes: usize| vec![b'a' + count; bytes];
        let transaction = match count {
            5 => Transaction::new().delete("k0").put("k1", value(7)).put("k2", value(9)),
            8 => Transaction::new().put("last", value(3)),
            _ => Transaction::new().put(format!("k{}", count % 3), value(60)),
        };
        assert!(witness.answered(transaction.clone(), store.commit(transaction).await));
        if count == 4 {
            assert!(witness.compacted(Revision(3), &store.compact(Revision(3)).await));
            store.checkpoint().await.unwrap();
        }
    }
    witness.check(&store).await;
    (disk, store, witness)
}

/// Flips every bit of every file; prints the results.
async fn every_bit(disk: &faulty::FaultyDisk, witness: &Witness, what: &str) {
    let files = disk.contents();
    let kinds = |kind: &str| files.keys().filter(|name| name.starts_with(kind)).count();
    assert!(kinds("checkpoint") == 1 && kinds("log") >= 2 && kinds("spare") >= 1, "{:?}", files.keys());
    let mut counts = BTreeMap::<(String, &str), usize>::new();
    for (name, bytes) in &files {
        for bit in 0..bytes.len() * 8 {
            let flipped = disk.kill();
            flipped.flip(name, bit);
            let _at = At(|| format!("{what}: {name}, byte {}, bit {}", bit / 8, bit % 8));
            let fate = match open(&flipped) {
                Ok(store) => {
                    witness.clone().check(&store).await;
                    "harmless"
                }
                Err(OpenError::Damaged { path, .. }) => {
                    assert_eq!(path, std::path::Path::new("faulty").join(name), "the right file is named");
                    "damaged"
                }
                Err(OpenError::NotAStore { .. }) => "not a store",
                Err(OpenError::NewerFormat { .. }) => "newer format",
                Err(error) => panic!("{error}"),
            };
            if fate != "harmless" {
                let changes = flipped.trace().iter().any(|(call, _)| *call != DiskCall::SyncNames);
                assert!(!changes, "what is damaged is left alone");
            }
            let kind = name.split_once('-').map_or(&**name, |(kind, _)| kind);
            *counts.entry((kind.into(), fate)).or_default() += 1;
        }
    }
    println!("{what}: {counts:?}");
    for kind in ["checkpoint", "log"] {
        assert!(counts[&(kind.into(), "damaged")] > 1000, "{counts:?}");
    }
}

#[tokio::test]
async fn no_flipped_bit_is_served_after_a_close() {
    let (disk, store, witness) = store().await;
    store.close().await.unwrap();
    every_bit(&disk.crash(PowerLoss::Everything, 0), &witness, "closed").await;
}

#[tokio::test]
async fn no_flipped_bit_is_served() {
    let (disk, _store, witness) = store().await;
    every_bit(&disk.kill(), &witness, "killed").await;
}
