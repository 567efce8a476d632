//! Informers by key: which objects one hears of is what one holds.
//!
//! [`wanted`] counts who holds which key; [`holdings`] is what is held and shared; two shells keep it up to date: [`per_key`], and
//! [`stream`] with its machine, the [`editor`].

mod builder;
mod editor;
mod guard;
mod holdings;
mod informers;
mod per_key;
mod shared;
mod shelves;
mod stream;
mod wanted;

pub use builder::KeyedBuilder;
pub use guard::{Interest, Released};
pub use informers::{KeyedInformers, KeyedState, NotAcquired};
pub use shared::{KeyedCounts, Text};
pub use shelves::Key;
