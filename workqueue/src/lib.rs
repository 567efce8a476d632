//! Stub docs.

mod add;
mod batch;
mod cause;
mod clock;
mod config;
mod core;
pub mod limiter;
mod priority;
mod queue;
mod shared;
mod work;

#[cfg(feature = "prometheus")]
mod metrics;
#[cfg(feature = "tokio")]
mod pulse;
#[cfg(feature = "tokio")]
mod run;
#[cfg(feature = "testing")]
pub mod testing;

pub use add::{Add, AddError, Added};
pub use batch::{Batch, Works};
pub use cause::{Cause, Causes};
pub use clock::ManualClock;
pub use config::{Config, ConfigError, DeadLetterHook, Debounce, MAX_DELAY, TenantOf, tenant_of};
pub use core::{Histogram, Retried, Seen, SeenState, Stats};
#[cfg(feature = "prometheus")]
pub use metrics::{Metrics, NameTaken};
pub use priority::Priority;
pub use queue::{Drained, Queue};
#[cfg(feature = "tokio")]
pub use run::{Next, Run};
pub use shared::Key;
pub use work::{DeadLetter, Work};
