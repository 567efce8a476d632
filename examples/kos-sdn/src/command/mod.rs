//! What `kos` is told to do: one command, one file.

mod agent;
mod apiserver;
mod cluster;
mod controllers;
mod crds;
mod dashboard;
mod drive;
mod page;
mod ping;
mod report;
mod roles;
mod status;
mod table;
mod trace;
mod up;
mod webhook;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The control plane of a software-defined network, in one binary.
#[derive(Debug, Parser)]
#[command(name = "kos", version, about)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the definitions of the kinds, for clusters that are not served by `kos` itself
    Crds,
    /// Print the roles of the components, for clusters that are not served by `kos` itself
    Roles,
    /// Print a dashboard for Grafana, of all that `/metrics` has
    Dashboard,
    Up(up::Arguments),
    Status(status::Arguments),
    Ping(ping::Arguments),
    Trace(trace::Arguments),
    Drive(drive::Arguments),
    Report(report::Arguments),
    Apiserver(apiserver::Arguments),
    Controllers(controllers::Arguments),
    Agent(agent::Arguments),
    Webhook(webhook::Arguments),
}

impl Arguments {
    /// Does what they say.
    ///
    /// # Errors
    /// What the command says.
    pub async fn run(self) -> machinery::Result<ExitCode> {
        match self.command {
            Command::Crds => crds::run(),
            Command::Roles => roles::run(),
            Command::Dashboard => dashboard::run().await,
            Command::Up(arguments) => up::run(arguments).await,
            Command::Ping(arguments) => ping::run(arguments).await,
            Command::Trace(arguments) => trace::run(arguments).await,
            Command::Status(arguments) => status::run(arguments).await,
            Command::Drive(arguments) => drive::run(arguments).await,
            Command::Report(arguments) => report::run(arguments).await,
            Command::Apiserver(arguments) => apiserver::run(arguments).await,
            Command::Controllers(arguments) => controllers::run(arguments).await,
            Command::Agent(arguments) => agent::run(arguments).await,
            Command::Webhook(arguments) => webhook::run(arguments).await,
        }
    }
}
