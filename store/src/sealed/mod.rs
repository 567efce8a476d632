//! Encryption at rest: a [`Backend`](crate::Backend) that seals values before the backend below
//! stores them.
//!
//! Values under keys that have a [`KeyRing`] are encrypted on their way down, and decrypted in all
//! answers: pages, events, previous entries, conflicts. The names of entries stay in plain: a copy
//! of the files or a snapshot reveals names, sizes and times, and no value.
//!
//! Tests are in `sealed/tests.rs` and `tests/it/sealed.rs`.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | **No value of a key with a ring is stored in plain** | `no_value_is_in_any_file_of_a_sealed_disk` |
//! | 2 | **The sealed backend satisfies the contract**: the suite of [`conformance`](crate::conformance) passes | `sealed::over_memory`, `sealed::over_disk` |
//! | 3 | **A changed, truncated or moved value is refused**, never skipped | `a_changed_cut_or_moved_value_is_refused`, `an_unopenable_value_is_reported_by_every_call` |
//! | 4 | **No key encrypts two values**: each value has a key derived from the sealing key and 32 random bytes | `two_seals_of_one_value_have_nothing_in_common`, `each_put_draws_its_own_salt` |
//! | 5 | **Keys are rotated online**: the first key seals, all keys unseal, and [`Sealed::reseal`] rewrites all values with the first | `keys_are_rotated_and_removed`, `a_write_during_a_reseal_is_kept` |
//! | 6 | **Every sealed format stays readable** | `the_first_format_is_written_and_opened` |
//! | 7 | **No key is printed** | `no_key_is_printed` |
//!
//! # Limits
//!
//! Names and sizes are visible. Replacing a value by an earlier one of the same key is not
//! detected: the files' checksums and permissions protect against that. Decrypted values stay in
//! memory until they are dropped.
//!
//! ```
//! # use std::sync::Arc;
//! use machinery_store::sealed::{Provider, KeyRing, Sealed, SealingKey};
//! use machinery_store::{Backend, Memory, Options, Range, KeySpan, Transaction};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (secret, random) = ([7; 32], |bytes: &mut [u8]| bytes.fill(7));
//! let below = Arc::new(Memory::new(Options::default()));
//! let ring = KeyRing::new([Provider::Key(SealingKey::new("2026", &secret)?)])?;
//! let choose = move |key: &str| key.starts_with("/secrets/").then(|| ring.clone());
//! let store = Sealed::new(below.clone(), choose, random);
//!
//! store.commit(Transaction::new().put("/secrets/a", *b"s3cret")).await?;
//! let above = store.range(Range::of(KeySpan::all())).await?;
//! let below = below.range(Range::of(KeySpan::all())).await?;
//! assert_eq!(&*above.entries[0].value, b"s3cret");
//! assert!(below.entries[0].value.starts_with(b"\xffsealed\xff\x01\x042026"));
//! # Ok(()) }
//! ```

mod backend;
mod cipher;
mod error;
mod format;
mod growth;
mod key_ring;
mod reseal;
mod watch;

pub use backend::Sealed;
pub use error::{KeyRingError, ResealError, UnsealError};
pub use key_ring::{KeyRing, Provider, SealingKey};
pub use reseal::Resealed;

#[cfg(test)]
mod tests;
