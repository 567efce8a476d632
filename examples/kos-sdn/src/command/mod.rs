//! The command line of `kos`: one file per command.

mod agent;
mod apiserver;
mod cluster;
mod cluster_text;
mod controllers;
mod crds;
mod dashboard;
mod drive;
mod enter;
mod exec;
mod lab;
mod lab_cluster;
mod page;
mod ping;
mod report;
mod roles;
mod status;
mod switch;
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
    /// Print the CustomResourceDefinitions, for clusters that are not served by `kos` itself
    Crds,
    /// Print the RBAC roles of the components, for clusters that are not served by `kos` itself
    Roles,
    Dashboard(dashboard::DashboardArguments),
    Up(up::UpArguments),
    Status(status::StatusArguments),
    Ping(ping::PingArguments),
    Trace(trace::TraceArguments),
    Exec(exec::ExecArguments),
    Lab(lab::LabArguments),
    Drive(drive::DriveArguments),
    Report(report::ReportArguments),
    Apiserver(apiserver::ApiserverArguments),
    Controllers(controllers::ControllersArguments),
    Agent(agent::AgentArguments),
    Webhook(webhook::WebhookArguments),
}

impl Arguments {
    /// Executes the command.
    ///
    /// # Errors
    /// The command failed; the text is for the user.
    pub async fn run(self) -> machinery::Result<ExitCode> {
        match self.command {
            Command::Crds => crds::run(),
            Command::Roles => roles::run(),
            Command::Dashboard(arguments) => dashboard::run(&arguments),
            Command::Up(arguments) => up::run(arguments).await,
            Command::Ping(arguments) => ping::run(arguments).await,
            Command::Trace(arguments) => trace::run(arguments).await,
            Command::Status(arguments) => status::run(arguments).await,
            Command::Exec(arguments) => exec::run(&arguments),
            Command::Lab(arguments) => lab::run(arguments).await,
            Command::Drive(arguments) => drive::run(arguments).await,
            Command::Report(arguments) => report::run(arguments).await,
            Command::Apiserver(arguments) => apiserver::run(arguments).await,
            Command::Controllers(arguments) => controllers::run(arguments).await,
            Command::Agent(arguments) => agent::run(arguments).await,
            Command::Webhook(arguments) => webhook::run(arguments).await,
        }
    }
}
