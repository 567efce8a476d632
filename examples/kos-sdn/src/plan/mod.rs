//! All decisions: pure functions and state machines, without clocks, locks, logs or awaits.

mod addresses;
mod agent;
mod invariants;
mod causes;
mod random;
mod checks;
mod exec;
mod flow;
mod flows;
mod ipam;
mod lock_name;
mod mac;
#[cfg(test)]
mod races;
mod silence;
mod timeline;
mod summary;
mod validator;
mod wait_queues;

pub use addresses::Addresses;
pub use agent::{AgentStep, PeerLocation, FINALIZER, Interface, AgentView, network_of, next_step, desired_local};
pub use invariants::{Invariants, Violation, NodeInterfaces, converged_violations, place_of};
pub use causes::{WriteCause, LastWrite, seconds};
pub use random::SplitMix64;
pub use checks::{CheckResult, checks};
pub use exec::{ExecValues, complaints, complaints_label, expand, not_allowed};
pub use flow::{Action, EtherType, Flow, Match, Port};
pub use flows::{
    FlowDifference, LocalInterface, RemoteInterface, flow_difference, default_drop_flows, local_cookie, local_flows, remote_cookie, remote_flows,
};
pub use ipam::{LockedAddress, IpamDecision, OwnedLock, IpamStep, AddressFailure, IpamView, locked_address, decide};
pub use lock_name::AddressKey;
pub use mac::{Mac, MacError, interface_name};
pub use silence::{SilenceTracker, is_unanswered, unanswered};
pub use timeline::{TimelineEvent, timeline};
pub use summary::{SubnetSummary, Summary, AttachmentCounts, summary};
pub use validator::{BeginOutcome, Examination, Verdict, SubnetValidator, conflicts};
pub use wait_queues::WaitQueues;
