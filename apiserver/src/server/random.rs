//! The random number generator of the operating system, which is fit for secrets.

/// Fills a buffer with cryptographically secure random bytes.
///
/// # Panics
/// If the system has no randomness: no secret could be generated.
pub(crate) fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system gives randomness");
}
