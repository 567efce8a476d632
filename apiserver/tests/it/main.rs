//! The server as its clients see it, without a socket.
#![allow(clippy::unwrap_used, reason = "in helpers too, which clippy does not know for tests")]

mod admission;
mod applies;
mod audit;
mod client;
mod differential;
mod expiry;
mod fences;
mod fuzz;
mod garbage;
mod guards;
mod handle;
mod interest;
mod interposed;
mod kube_rs;
mod kube_rs_apply;
mod kubectl;
mod malformed;
mod metrics;
mod objects;
mod outlives;
mod own;
mod paths;
mod protobuf;
mod real;
mod reload;
mod revisions;
mod rights;
mod roads;
mod strangers;
mod tls;
mod traces;
mod typed;
mod upkeep;
mod versions;
mod wire;
