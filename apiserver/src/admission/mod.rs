//! Admission: who is asked before an object is written, in the process and by webhook.
//!
//! Decided by plain functions:
//!
//! * [`matching`]: which webhooks a request is for
//! * [`review`]: what they are sent, and what their answers mean
//! * [`rounds`]: which are asked once more
//! * [`conditions`]: about which of these it is asked, by expression; [`authorizer`]: whom expressions ask
//! * [`config`]: what a configuration must be; [`webhook`]: what was read of it
//!
//! Around them: [`ask`] asks about one write, [`desk`] knows who is to be asked, and [`call`] has the connections.

mod ask;
mod attributes;
mod authorizer;
mod call;
mod conditions;
mod config;
mod desk;
mod matching;
mod notes;
mod own;
mod reason;
mod review;
mod rounds;
mod webhook;

pub use attributes::{Attributes, Operation};
pub use own::{Admission, Denied};

pub(crate) use ask::Asking;
pub(crate) use call::Roads;
pub(crate) use config::{Configurations, GROUP};
pub(crate) use desk::Desk;
pub(crate) use notes::Notes;

/// How often a write is asked about anew because somebody else's came before it.
pub(crate) const ROUNDS: usize = 10;
