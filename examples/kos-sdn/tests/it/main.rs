//! Integration tests in one binary, because linking costs more than running.

#![allow(clippy::unwrap_used, reason = "tests panic on failure")]

mod adoption;
mod agents;
mod any_cluster;
mod controllers;
mod crash_nodes;
mod crashes;
mod definitions;
mod gated_fabric;
mod harness;
mod kos_process;
mod kubectl;
mod lab;
mod links;
mod load;
mod metrics;
mod ovs;
mod ovs_daemons;
mod ovs_database;
mod ovs_fake_database;
mod ovs_processes;
mod permissions;
mod probes;
mod processes;
mod programs;
mod server;
mod subnets;
mod up;
mod validation;
mod webhook;
mod webhook_hooks;
