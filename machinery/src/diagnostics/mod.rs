//! Diagnostics of a plane: metrics, health checks, and explanations of runs.

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
