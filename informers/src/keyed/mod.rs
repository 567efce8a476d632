//! Keyed informers: informers of the objects under acquired keys.
//!
//! [`interest_counts`] counts the interests in keys; [`keyed_cache`] holds the shared state. Two
//! shells keep it up to date: `per_key`, and `stream` with its state machine: `editor`, `edits`,
//! `stream_events` and `stream_end`.

#[cfg(feature = "tokio")]
mod builder;
#[cfg(feature = "tokio")]
mod completions;
#[cfg(feature = "tokio")]
mod editor;
#[cfg(feature = "tokio")]
mod edits;
#[cfg(feature = "tokio")]
mod guard;
#[cfg(feature = "tokio")]
mod informers;
mod interest_counts;
mod keyed_cache;
#[cfg(feature = "tokio")]
mod keyed_store;
#[cfg(machinery_loom)]
mod loom_model;
#[cfg(feature = "tokio")]
mod per_key;
#[cfg(feature = "tokio")]
mod progress;
#[cfg(feature = "tokio")]
mod refused_keys;
#[cfg(feature = "tokio")]
mod request_budget;
#[cfg(feature = "tokio")]
mod selector_text;
#[cfg(feature = "tokio")]
mod shared;
#[cfg(feature = "tokio")]
mod stream;
#[cfg(feature = "tokio")]
mod stream_end;
#[cfg(feature = "tokio")]
mod stream_events;
#[cfg(feature = "tokio")]
mod wait;

#[cfg(feature = "tokio")]
pub use builder::KeyedBuilder;
#[cfg(feature = "tokio")]
pub use completions::Completions;
#[cfg(feature = "tokio")]
pub use guard::{Interest, InterestError};
#[cfg(feature = "tokio")]
pub use informers::{AcquireError, KeyedInformers, KeyedState};
#[cfg(feature = "tokio")]
pub use keyed_store::Key;
#[cfg(machinery_loom)]
pub use loom_model::Model;
#[cfg(feature = "tokio")]
pub use shared::{KeyedCounts, SelectorKey};
