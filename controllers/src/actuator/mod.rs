//! Actuator: keeps the items of a system outside of the API as desired.

mod batch;
mod call;
mod compare;
mod dispatch;
mod entry;
mod error;
mod gate;
mod handle;
mod ledger;
mod orphans;
mod port;
mod repair;
mod run;
mod settings;
mod shared;
mod status;
#[cfg(test)]
mod tests;
mod turns;

pub use batch::{ChangeBatch, ItemChange, Progress};
pub use error::{ActuatorError, ItemFailure, PortFailure};
pub use handle::{Actuator, Ensured};
pub use port::{ActuatorPort, Disturbance, FoundItem, RepairOutcome, RepairRequest};
pub use settings::ActuatorSettings;
pub use status::{ActuatorStatus, BrokenItem, ItemState, RepairReport};
pub use turns::KeyTurn;
