//! Diagnostics of a plane: metrics, health checks, and explanations of runs.

mod components;
mod explain;
#[cfg(feature = "diagnostics")]
mod listen;
mod page;
mod registry;

pub use explain::{ExplainError, explain};
#[cfg(feature = "diagnostics")]
pub use listen::{DiagnosticsError, PORTS};
#[cfg(feature = "diagnostics")]
pub(crate) use listen::{listen, listen_from};
pub(crate) use registry::DiagnosticsRegistry;
