//! A conformance suite for backends: one function per behaviour.
//!
//! Each function opens a new store through a [`Subject`], and panics if the behaviour is missing.
//! [`conformance_tests!`](crate::conformance_tests) generates a test of each; [`BEHAVIOURS`] lists
//! them for other runners.
//!
//! ```
//! # use std::sync::Arc;
//! use machinery_store::conformance::{Capabilities, Subject};
//! use machinery_store::{Backend, Limits};
//! # use machinery_store::model::NaiveBackend;
//!
//! struct Mine;
//!
//! #[async_trait::async_trait]
//! impl Subject for Mine {
//!     async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
//!         Arc::new(NaiveBackend::new(limits))
//!     }
//! }
//!
//! mod mine {
//!     # use super::Mine;
//!     machinery_store::conformance_tests!(Mine);
//! }
//! # fn main() {}
//! ```

mod compaction;
mod conditions;
mod crowd;
mod limits;
mod list;
mod paging;
mod progress;
mod reads;
mod reopen;
mod slow;
mod subject;
mod tools;
mod transactions;
mod watches;
mod writes;

pub use compaction::*;
pub use conditions::*;
pub use crowd::*;
pub use limits::*;
pub use list::{BEHAVIOURS, Behaviour, within};
pub use paging::*;
pub use progress::*;
pub use reads::*;
pub use reopen::*;
pub use slow::*;
pub use subject::{Capabilities, Subject};
pub use transactions::*;
pub use watches::*;
pub use writes::*;
