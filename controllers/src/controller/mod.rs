//! The control loop: sources, work queue, workers and shutdown.

mod batch;
mod begun_run;
mod builder;
mod builder_options;
mod carry_over;
mod completions;
mod diagnostics;
mod documents;
mod feed;
mod handle;
mod held_key;
mod open_window;
mod outcome;
mod records;
mod run;
mod settings;
mod source;
mod start;
mod state;
mod traces;
mod watchdog;
mod worker;
mod workload;

pub use builder::{Builder, changed};
pub use carry_over::ShutdownReport;
pub use diagnostics::ControllerDiagnostics;
#[cfg(feature = "prometheus")]
pub(crate) use diagnostics::{ControllerSample, ObservedController};
pub use handle::Controller;
pub use outcome::{Outcome, RunRecord};
pub use run::RunError;
pub use settings::{OwnWrites, Settings};
pub use state::{Counts, Explanation, PendingWrites, Phase, Running, State};
