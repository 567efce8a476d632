//! KOS on real Open vSwitch: `machinery-bench kos --fabric ovs`.
//!
//! Hosts are those of a lab: network namespaces with a pair of OVS daemons each ([`hosts`]). Ours
//! is the control plane of this process, with agents on these hosts ([`cluster`], [`fabric`]). The
//! peers are the original's method ([`cli`]) and programs of Open vSwitch and Debian ([`tools`]).
//! [`rows`] lists shapes and rows; each shape has a file: [`create`], [`adopt`], [`audit`],
//! [`refill`], [`pipeline`], [`first_ping`]. [`watching`] counts changes of a switch,
//! [`table_stats`] its flows.

mod adopt;
mod audit;
mod cli;
mod cluster;
mod create;
mod fabric;
mod first_ping;
mod hosts;
mod measured;
mod network;
mod pipeline;
mod refill;
mod rows;
mod shape;
mod table_stats;
mod tools;
mod watching;

pub(crate) use hosts::{GUARD, serve_guard};
pub(crate) use measured::run;
