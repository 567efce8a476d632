//! Informers by key: which objects one hears of is what one holds.
//!
//! [`wanted`] counts who holds which key; [`holdings`] is what is held and shared. Two shells keep it up to date: `per_key`, and
//! `stream` with its machine, the `editor`,
//! which `edits`, has `heard`, and knows what to do when a stream `ends`.

#[cfg(feature = "tokio")]
mod builder;
#[cfg(feature = "tokio")]
mod completions;
#[cfg(feature = "tokio")]
mod editor;
#[cfg(feature = "tokio")]
mod edits;
#[cfg(feature = "tokio")]
mod ends;
#[cfg(feature = "tokio")]
mod guard;
#[cfg(feature = "tokio")]
mod heard;
mod holdings;
#[cfg(feature = "tokio")]
mod informers;
#[cfg(machinery_loom)]
mod model;
#[cfg(feature = "tokio")]
mod per_key;
#[cfg(feature = "tokio")]
mod progress;
#[cfg(feature = "tokio")]
mod reached;
#[cfg(feature = "tokio")]
mod refused;
#[cfg(feature = "tokio")]
mod room;
#[cfg(feature = "tokio")]
mod shared;
#[cfg(feature = "tokio")]
mod shelves;
#[cfg(feature = "tokio")]
mod stream;
#[cfg(feature = "tokio")]
mod texts;
mod wanted;

#[cfg(feature = "tokio")]
pub use builder::KeyedBuilder;
#[cfg(feature = "tokio")]
pub use completions::Completions;
#[cfg(feature = "tokio")]
pub use guard::{Interest, Released};
#[cfg(feature = "tokio")]
pub use informers::{KeyedInformers, KeyedState, NotAcquired};
#[cfg(machinery_loom)]
pub use model::Model;
#[cfg(feature = "tokio")]
pub use shared::{KeyedCounts, Text};
#[cfg(feature = "tokio")]
pub use shelves::Key;
