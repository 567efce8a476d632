//! An SD-EWAN on Machinery: nineteen kinds of rules for appliances (CNFs) behind a REST API, the
//! agent that keeps each CNF as its rules say, and a CNF. A rewrite of the configuration agent of
//! icn-sdwan in Go, which comments here call the original; its design page is called the page.
//!
//! - [`model`]: the kinds, as rows of one table, and the REST objects that they become.
//! - [`plan`]: all decisions, as pure functions.
//! - [`drive`]: the port to the REST API of a pod, and a CNF in memory.
//! - [`agent`]: the shell around the decisions: informers, runs, pushes, writes.

pub mod agent;
pub mod drive;
pub mod model;
pub mod plan;
