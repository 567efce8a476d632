//! Tests on real Open vSwitch: hosts are network namespaces of one machine, with the daemons of
//! the distribution and its data path in user space.
//!
//! They need root and are skipped otherwise, with the reason on the standard error stream.
//!
//! - [`command`], [`namespace`]: programs of the system, and network namespaces.
//! - [`daemons`], [`hosts`]: hosts with their daemons, on one underlay.
//! - [`probe`]: the isolation probe, which runs throughout all faults.
//! - [`cloud`], [`equality`]: control plane and agents on the hosts, and the comparison of all
//!   state with the API's.
//! - [`foreign`]: a bridge of somebody else on the same daemons.

#![expect(
    clippy::disallowed_methods,
    reason = "threads that send and receive on sockets of real switches, in real time"
)]

mod capture;
mod cloud;
mod command;
mod crashes;
mod daemons;
mod equality;
mod faults;
mod foreign;
mod hostile;
mod hosts;
mod isolation;
mod namespace;
mod probe;
mod requirements;
mod rows;
mod running_agent;
mod spoofing;
mod traffic;
