//! All decisions: pure functions and state machines, without clocks, locks, logs or awaits.

mod addresses;
mod adoption;
mod agent;
mod causes;
mod checks;
mod cookie;
mod exec;
mod flow;
mod flows;
mod invariants;
mod ipam;
mod lock_name;
mod mac;
pub mod ovs;
#[cfg(test)]
mod races;
mod random;
mod silence;
mod summary;
mod timeline;
mod validator;
mod wait_queues;

pub use addresses::Addresses;
pub use adoption::{AdoptionClaim, PeerKnowledge, UnclaimedInterfaces};
pub use agent::{
    AgentStep, AgentView, FINALIZER, Interface, PeerLocation, desired_local, network_of, next_step,
};
pub use causes::{LastWrite, WriteCause, seconds};
pub use checks::{CheckResult, checks};
pub use cookie::{COOKIE_MARK, COOKIE_MARK_MASK, CookieOwner, local_cookie, remote_cookie};
pub use exec::{ExecValues, complaints, complaints_label, expand, not_allowed};
pub use flow::{Action, EtherType, Flow, Match, Port};
pub use flows::{
    FlowDifference, LocalInterface, RemoteInterface, Workload, default_drop_flows, flow_difference,
    local_flows, remote_flows,
};
pub use invariants::{Invariants, NodeInterfaces, Violation, address_key, converged_violations};
pub use ipam::{
    AddressFailure, IpamDecision, IpamStep, IpamView, LockedAddress, OwnedLock, decide, locked_address,
};
pub use lock_name::AddressKey;
pub use mac::{Mac, MacError, interface_name};
pub use random::SplitMix64;
pub use silence::{is_unanswered, unanswered};
pub use summary::{AttachmentCounts, SubnetSummary, Summary, summary};
pub use timeline::{TimelineEvent, timeline};
pub use validator::{BeginOutcome, Examination, SubnetValidator, Verdict, conflicts};
pub use wait_queues::WaitQueues;
