//! What is to be done: pure functions and state machines, with no clock, no lock, no log and nothing awaited.

mod addresses;
mod agent;
mod audit;
mod causes;
mod chance;
mod checks;
mod exec;
mod flow;
mod flows;
mod ipam;
mod load;
mod lock_name;
mod mac;
mod operations;
mod page;
mod percentiles;
mod plot;
#[cfg(test)]
mod races;
mod record;
mod schedule;
mod silence;
mod story;
mod summary;
mod validator;
mod wait;

pub use addresses::Addresses;
pub use agent::Step as AgentStep;
pub use agent::{Elsewhere, FINALIZER, Interface, Sight, network_of, next, wanted_here};
pub use audit::{Changes, Finding, Seen, at_rest, place_of};
pub use causes::{Cause, LastWrite, seconds};
pub use chance::Chance;
pub use checks::{Checked, checks};
pub use exec::{ExecValues, complaints, complaints_label, expand, not_allowed};
pub use flow::{Action, EtherType, Flow, Match, Port};
pub use flows::{
    Difference, Local, Remote, difference, fixed, local_cookie, local_flows, remote_cookie, remote_flows,
};
pub use ipam::{Address, Decision, OwnedLock, Step, Trouble, View, address_of, decide};
pub use load::{Load, Net, SubnetPlan, vni_of};
pub use lock_name::AddressKey;
pub use mac::{Mac, MacError, interface_name};
pub use operations::{Operation, operations};
pub use page::of_page;
pub use percentiles::{Buckets, Row, of_buckets, of_samples};
pub use plot::plot;
pub use record::{Record, Tested, rows};
pub use schedule::{Spread, due_times, number_of, thread_of};
pub use silence::{Silence, is_unanswered, unanswered};
pub use story::{Happened, story};
pub use summary::{OfSubnet, Summary, Tally, summary};
pub use validator::{Begin, Examine, Judged, Validator, conflicts};
pub use wait::WaitLists;
