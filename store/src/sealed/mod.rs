//! Encryption at rest: a [`Backend`](crate::Backend) around another one, which keeps values sealed.
//!
//! What is under a key that has a [`KeyRing`] is encrypted before the backend below sees it, and opened in all that comes back: pages,
//! events, what was there before, conflicts. The names of entries stay as they are. Whoever reads the files, a snapshot or a copy of them
//! has names, sizes and times, and no value.
//!
//! 1. **No value is below in plain** that is put under a key with a ring (`no_value_is_in_any_file_of_a_sealed_disk`).
//! 2. **Above, it is the backend below**: the suite of [`conformance`](crate::conformance) passes (`sealed::over_memory`, `sealed::over_disk`).
//! 3. **What was changed, cut or moved is refused**, and never skipped (`a_changed_cut_or_moved_value_is_refused`,
//!    `an_unopenable_value_is_reported_by_every_call`).
//! 4. **No key encrypts two values**: each has one of its own, made of the sealing key and 32 random bytes
//!    (`two_seals_of_one_value_have_nothing_in_common`, `each_put_draws_its_own_salt`).
//! 5. **Keys are replaced while it runs on**: the first seals, all open, and [`Sealed::reseal`] brings everything to the first one
//!    (`keys_are_rotated_and_removed`, `a_write_during_a_reseal_is_kept`).
//! 6. **What was sealed once is opened for ever** (`the_first_format_is_written_and_opened`).
//! 7. **No key is printed** (`no_key_is_printed`).
//!
//! It hides neither names nor sizes, and not that a value was put back that was under the same key before: that is what the files'
//! checksums, and their owner, are for. What it has opened is in memory until nobody uses it.
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
//! let store = Sealed::new(below.clone(), move |key| key.starts_with("/secrets/").then(|| ring.clone()), random);
//!
//! store.commit(Transaction::new().put("/secrets/a", *b"s3cret")).await?;
//! let (above, below) = (store.range(Range::of(KeySpan::all())).await?, below.range(Range::of(KeySpan::all())).await?);
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
