//! `kos lab`: hosts with Open vSwitch on this machine, as network namespaces.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::cluster::home;
use super::enter::enter;
use machinery::report::text_table;

use crate::lab::{Lab, LabError, LabSettings, down, status};

/// Run hosts with Open vSwitch on this machine, as network namespaces
#[derive(Debug, clap::Args)]
pub(super) struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
    /// The directory of the lab
    #[arg(long, value_name = "D", global = true, default_value_os_t = home().join("lab"))]
    lab_dir: PathBuf,
}

#[derive(Debug, clap::Subcommand)]
enum LabCommand {
    /// Make the hosts, which then run in the background
    Up(LabUpArguments),
    /// Show the hosts and their processes
    Status,
    /// Run a command in a host
    Exec {
        /// The host, such as node-1
        host: String,
        /// The command and its arguments
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Remove the lab, whole or half made
    Down,
}

#[derive(Debug, clap::Args)]
struct LabUpArguments {
    /// The number of hosts: node-1, node-2, …
    #[arg(long, value_name = "N", default_value_t = 3)]
    nodes: usize,
    /// Prefix of the network namespaces; a second lab on this machine needs another one
    #[arg(long, value_name = "NAME", default_value = "kos")]
    name: String,
    /// MTU of the underlay
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    mtu: u32,
    /// Start an agent in each host, with the file NODE.kubeconfig of this directory: `kos apiserver
    /// --nodes node-1,node-2,…` writes them
    #[arg(long, value_name = "DIR")]
    kubeconfigs: Option<PathBuf>,
}

pub(super) async fn run(arguments: LabArguments) -> machinery::Result<ExitCode> {
    let directory = arguments.lab_dir;
    match arguments.command {
        LabCommand::Up(arguments) => up(directory, arguments).await?,
        LabCommand::Status => show(&directory)?,
        LabCommand::Down => {
            down(&directory).await?;
            println!("there is no lab in {} any more", directory.display());
        }
        LabCommand::Exec { host, command } => {
            let status = status(&directory)?;
            let host = status.host(&host)?;
            let hint = "`kos lab up` was interrupted: `kos lab down` removes the rest";
            return Err(enter(&host.namespace, hint, &command, &host.environment()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn up(directory: PathBuf, arguments: LabUpArguments) -> machinery::Result<()> {
    let mut settings = LabSettings::new(&directory, arguments.nodes);
    (settings.name, settings.mtu) = (arguments.name, arguments.mtu);
    let lab = Lab::up(settings).await.map_err(|error| with_rest(&directory, error))?;
    if let Some(kubeconfigs) = &arguments.kubeconfigs {
        for host in lab.hosts() {
            lab.start_agent(host, kubeconfigs).await.map_err(|error| with_rest(&directory, error))?;
        }
    }
    show(&directory)?;
    let option = match directory == home().join("lab") {
        true => String::new(),
        false => format!(" --lab-dir {}", directory.display()),
    };
    println!("\n  kos lab exec node-1{option} -- ovs-vsctl show\n  kos lab down{option}");
    Ok(())
}

fn with_rest(directory: &Path, error: LabError) -> machinery::Error {
    match status(directory) {
        Ok(_) if !matches!(error, LabError::Exists { .. } | LabError::Busy { .. }) => {
            format!("{error}\na part of the lab exists: `kos lab down` removes it").into()
        }
        _ => error.into(),
    }
}

fn show(directory: &Path) -> machinery::Result<()> {
    let status = status(directory)?;
    let rows = status.hosts.iter().map(|(host, processes)| {
        let process = |program: &str| match processes.iter().find(|process| process.program == program) {
            Some(process) if process.running => process.pid.to_string(),
            Some(_) => "ended".into(),
            None => "-".into(),
        };
        let [database, switch, agent] = ["ovsdb-server", "ovs-vswitchd", "agent"].map(process);
        let namespace = host.namespace.to_string();
        let run_directory = host.run_directory.display().to_string();
        [host.node.clone(), host.address.to_string(), namespace, run_directory, database, switch, agent]
    });
    let head = ["HOST", "ADDRESS", "NAMESPACE", "RUN DIRECTORY", "OVSDB-SERVER", "OVS-VSWITCHD", "AGENT"];
    print!("{}", text_table(&head, rows));
    Ok(())
}
