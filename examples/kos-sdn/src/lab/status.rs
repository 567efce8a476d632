//! The state of a lab, read from its journal.

use std::path::Path;

use super::journal::{self, LabEffect};
use super::{LabError, LabHost, LabSettings};

/// A lab, seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabStatus {
    /// Its settings.
    pub settings: LabSettings,
    /// Its hosts, with the latest process of each program.
    pub hosts: Vec<(LabHost, Vec<ProcessStatus>)>,
}

/// A process of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStatus {
    /// The program: `ovsdb-server`, `ovs-vswitchd` or `agent`.
    pub program: String,
    /// Process ID.
    pub pid: u32,
    /// Whether it runs.
    pub running: bool,
}

impl LabStatus {
    /// Returns a host by the name of its node.
    ///
    /// # Errors
    /// There is none.
    pub fn host(&self, node: &str) -> Result<&LabHost, LabError> {
        let found = self.hosts.iter().map(|(host, _)| host).find(|host| host.node == node);
        found.ok_or_else(|| LabError::NoHost {
            node: node.into(),
            hosts: self.hosts.iter().map(|(host, _)| host.node.clone()).collect(),
        })
    }
}

/// Reads the state of the lab in a directory.
///
/// # Errors
/// There is no lab, or its journal cannot be read.
pub fn status(directory: &Path) -> Result<LabStatus, LabError> {
    let none = || LabError::None { directory: directory.into() };
    let entries = journal::read(directory)?.ok_or_else(none)?;
    let Some(LabEffect::Lab { name, nodes, mtu, .. }) = entries.first() else { return Err(none()) };
    let mut settings = LabSettings::new(directory, *nodes);
    (settings.name, settings.mtu) = (name.clone(), *mtu);
    let processes_of = |host: &LabHost| {
        let mut processes: Vec<ProcessStatus> = Vec::new();
        for entry in &entries {
            if let LabEffect::Started { node, program, process } = entry
                && *node == host.node
            {
                processes.retain(|earlier| earlier.program != *program);
                let (pid, running) = (process.pid, process.is_running());
                processes.push(ProcessStatus { program: program.clone(), pid, running });
            }
        }
        processes
    };
    let hosts = settings.hosts()?.into_iter().map(|host| {
        let processes = processes_of(&host);
        (host, processes)
    });
    Ok(LabStatus { hosts: hosts.collect(), settings })
}
