//! Where a seed comes from that nobody hands in.

/// From the operating system, by way of std: for hash tables, and for waits that differ.
#[expect(clippy::disallowed_types, reason = "where nobody hands a seed in, this is where it comes from")]
pub(crate) fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0_u8)
}
