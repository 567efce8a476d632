//! An SD-EWAN on Machinery: nineteen kinds of rules for appliances (CNFs) behind a REST API, the
//! agent that keeps each CNF as its rules say, and a CNF. A rewrite of the configuration agent of
//! icn-sdwan in Go, which comments here call the original; its design page is called the page.
//!
//! - [`model`]: the kinds, as rows of one table, and the REST objects that they become.
//! - [`plan`]: all decisions of the agent, as pure functions.
//! - [`drive`]: the port to the REST API of a pod, over TLS and in memory; the data path of a CNF.
//! - [`agent`]: the shell around the decisions: informers, runs, pushes, writes.
//! - [`cnf`]: the server of a CNF.
//! - [`runner`]: Deployment controller and kubelet for CNFs, where no kubelet runs pods.
//! - [`roles`]: RBAC roles of the components; [`up`]: all in one process; [`command`]: the command
//!   line.

pub mod agent;
pub mod cnf;
pub mod command;
pub mod drive;
pub mod model;
pub mod plan;
pub mod roles;
pub mod runner;
pub mod up;
