//! Keys and values, like those of `bench/peers/go/etcd_traffic.go`.

use crate::random::SplitMix;
use machinery_store::{Key, Value};

pub(super) fn key(i: usize) -> Key {
    format!("/bench/pods/ns-{:04}/object-{i:09}", i % 1000).into()
}

/// Generates distinct values of 1 KiB.
pub(super) struct Values {
    bytes: [u8; 1024],
    count: u64,
}

impl Values {
    pub(super) fn new(seed: u64) -> Self {
        let (mut bytes, mut chance) = ([0; 1024], SplitMix(seed));
        bytes.chunks_exact_mut(8).for_each(|eight| eight.copy_from_slice(&chance.next().to_le_bytes()));
        Self { bytes, count: 0 }
    }

    pub(super) fn next(&mut self) -> Value {
        self.count += 1;
        self.bytes[..8].copy_from_slice(&self.count.to_le_bytes());
        Value::from(&self.bytes[..])
    }
}
