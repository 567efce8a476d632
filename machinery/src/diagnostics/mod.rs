//! What a plane says of itself: pages for Prometheus, for those who look whether it lives, and for whoever asks why something did not run.

mod components;
mod explain;
#[cfg(feature = "diagnostics")]
mod listen;
mod page;
mod registry;

pub use explain::{ExplainError, explain};
#[cfg(feature = "diagnostics")]
pub use listen::DiagnosticsError;
#[cfg(feature = "diagnostics")]
pub(crate) use listen::listen;
pub(crate) use registry::DiagnosticsRegistry;
