//! All decisions of the agent, as pure functions: the situation of a CNF, the desired state that
//! its CRs make, the differences of a pod, the steps over v1, and the statuses.

mod compose;
mod difference;
mod forget;
mod merge;
mod pacing;
mod resolve;
mod retain;
mod situation;
mod status;
mod v1;

pub use compose::{Composition, CrInput, Problem, ProblemKind, Verdict, compose, owner_of};
pub use difference::{Difference, difference};
pub use forget::{Place, without};
pub use merge::merged;
pub use pacing::{Pacing, jittered, retry_delay};
pub use retain::{foreign_users, retain};
pub use situation::{CnfPod, CnfSituation, assess};
pub use status::{PodOutcome, StatusInput, status_of};
pub use v1::{V1Plan, V1Step, v1_plan};
