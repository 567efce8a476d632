//! The reference model: the simplest correct backend, to compare others with.
//!
//! [`NaiveBackend`] keeps the state of every revision, drops nothing, and does all work under one
//! lock. It is deliberately slow and large, so that it can be verified by reading it.
//! [`FlawedBackend`] adds a known flaw to any backend, to test that a checker detects it.

mod flaw;
mod flawed;
mod flawed_watch;
mod naive;

pub use flaw::Flaw;
pub use flawed::FlawedBackend;
pub use naive::NaiveBackend;
