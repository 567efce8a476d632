//! The settings of a lab, and the names that follow from them.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use super::LabError;
use crate::drive::ovs::links::{NamespaceName, owner_mark};

/// Maximum number of hosts: the underlay is 192.0.2.0/24.
pub const HOST_LIMIT: usize = 250;

/// Maximum length of the path of a unix socket.
const SOCKET_PATH_LIMIT: usize = 107;

/// The longest name of a socket in a run directory.
const LONGEST_SOCKET: &str = "underlay.snoop";

/// The settings of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabSettings {
    /// The directory of the lab: absent or empty.
    pub directory: PathBuf,
    /// Prefix of its namespaces. Two labs on one machine have different ones.
    pub name: String,
    /// Number of hosts: node-1, node-2, …
    pub nodes: usize,
    /// MTU of the underlay.
    pub mtu: u32,
    /// Stops `up` after this many halves of journal entries, as if it were killed there: before and
    /// after each entry is written.
    #[doc(hidden)]
    pub stop_after: Option<usize>,
}

/// A host of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabHost {
    /// Name of the node.
    pub node: String,
    /// Its address in the underlay.
    pub address: Ipv4Addr,
    /// Its network namespace.
    pub namespace: NamespaceName,
    /// The run directory of its Open vSwitch.
    pub run_directory: PathBuf,
}

impl LabSettings {
    /// Returns settings with a directory and a number of hosts; the namespaces begin with `kos-`.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, nodes: usize) -> Self {
        Self { directory: directory.into(), name: "kos".into(), nodes, mtu: 1500, stop_after: None }
    }

    /// Returns the hosts.
    ///
    /// # Errors
    /// The number of hosts or the length of a path is out of bounds.
    pub fn hosts(&self) -> Result<Vec<LabHost>, LabError> {
        if self.nodes == 0 || self.nodes > HOST_LIMIT {
            return Err(LabError::Hosts { nodes: self.nodes, limit: HOST_LIMIT });
        }
        // Open vSwitch takes a relative path as one below its own directory.
        let directory =
            std::path::absolute(&self.directory).map_err(LabError::io("reading", &self.directory))?;
        (1..=self.nodes).map(|number| self.host(&directory, number)).collect()
    }

    /// Returns the namespace of the underlay.
    ///
    /// # Errors
    /// The name of the lab cannot be part of a file name.
    pub fn underlay(&self) -> Result<NamespaceName, LabError> {
        Ok(NamespaceName::new(format!("{}-underlay", self.name))?)
    }

    fn host(&self, directory: &Path, number: usize) -> Result<LabHost, LabError> {
        let node = format!("node-{number}");
        let run_directory = directory.join(&node);
        let longest = run_directory.join(LONGEST_SOCKET);
        if longest.as_os_str().len() > SOCKET_PATH_LIMIT {
            return Err(LabError::PathTooLong { path: longest, limit: SOCKET_PATH_LIMIT });
        }
        let low = u8::try_from(number).unwrap_or(u8::MAX);
        let namespace = NamespaceName::new(format!("{}-{node}", self.name))?;
        Ok(LabHost { node, address: Ipv4Addr::new(192, 0, 2, low), namespace, run_directory })
    }
}

impl LabHost {
    /// Returns the mark of the namespaces that the host's agent makes for workloads.
    #[must_use]
    pub fn workload_mark(&self) -> String {
        // The fabric resolves links in the path, too.
        owner_mark(&self.node, &self.run_directory.canonicalize().unwrap_or(self.run_directory.clone()))
    }

    /// Returns the environment in which Open vSwitch's tools find the daemons of the host.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, &Path); 3] {
        ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"].map(|name| (name, &*self.run_directory))
    }

    /// Returns the path of a file in the run directory.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.run_directory.join(name)
    }
}

/// Returns the mark of a lab's namespaces.
pub(super) fn lab_mark(id: &str) -> String {
    format!("kos lab {id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_named() {
        assert!(matches!(LabSettings::new("/l", 0).hosts(), Err(LabError::Hosts { .. })));
        assert!(matches!(LabSettings::new("/l", HOST_LIMIT + 1).hosts(), Err(LabError::Hosts { .. })));
        let deep = format!("/{}", "l".repeat(90));
        assert!(matches!(LabSettings::new(deep, 1).hosts(), Err(LabError::PathTooLong { .. })));
        let hosts = LabSettings::new("/l", HOST_LIMIT).hosts().unwrap();
        assert_eq!(hosts.last().map(|host| host.address), Some([192, 0, 2, 250].into()));
    }
}
