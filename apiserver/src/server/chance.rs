//! Chance, from the operating system.

/// Fills with what nobody can guess.
///
/// # Panics
/// If the system has no randomness to give: nothing that must be secret could be made then.
pub(crate) fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system gives randomness");
}
