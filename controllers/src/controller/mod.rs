//! The loop around a reconcile.

mod builder;
mod completing;
mod handle;
mod held;
mod left;
mod observed;
mod outcome;
mod records;
mod run;
mod settings;
mod source;
mod state;
mod traces;
mod watchdog;
mod worker;

pub use builder::{Builder, changed};
pub use handle::Controller;
pub use left::Ended;
pub use observed::Diagnosed;
#[cfg(feature = "prometheus")]
pub(crate) use observed::{Observed, Seen};
pub use outcome::{Outcome, Record};
pub use run::RunError;
pub use settings::Settings;
pub use state::{Counts, Explained, Holding, Phase, Running, State};
