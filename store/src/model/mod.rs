//! The simplest backend that is right: what every other one is compared with.
//!
//! [`NaiveBackend`] keeps the whole state of every revision, forgets nothing, and looks at everything under one lock. It is
//! slow and large on purpose: what it does can be checked by reading it. [`FlawedBackend`] puts a known mistake in front of
//! any backend, so that a checker can show that it notices.

mod flaw;
mod flawed;
mod flawed_watch;
mod naive;

pub use flaw::Flaw;
pub use flawed::FlawedBackend;
pub use naive::NaiveBackend;
