//! What is to be done: pure functions and state machines, with no clock, no lock, no log and nothing awaited.

mod addresses;
mod exec;
mod ipam;
mod load;
mod lock_name;
mod mac;
mod validator;
mod wait;

pub use addresses::Addresses;
pub use exec::{ExecValues, complaints, complaints_label, expand, not_allowed};
pub use ipam::{Address, Decision, OwnedLock, Step, Trouble, View, address_of, decide};
pub use load::{Load, Net, SubnetPlan, vni_of};
pub use lock_name::AddressKey;
pub use mac::{Mac, MacError, interface_name};
pub use validator::{Begin, Judged, Validator};
pub use wait::WaitLists;
