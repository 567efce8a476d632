//! Random seeds, for callers that set none.

/// Returns a seed from the operating system, by way of std: for hash tables and jitter.
#[expect(clippy::disallowed_types, reason = "the source of seeds that the caller does not set")]
pub(crate) fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0_u8)
}
