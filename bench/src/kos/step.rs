//! What the processes of a run are told.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ControlRequest {
    /// Serves, with all kinds and both controllers, and writes how it is reached.
    Begin { directory: PathBuf, kubeconfig: PathBuf },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum AgentsRequest {
    /// Begins the agents of so many nodes, and waits until each has looked at what is there.
    Begin { kubeconfig: PathBuf, nodes: usize, per_key: bool },
    /// Waits until so many interfaces of others were made on all nodes together, and so many of their own.
    Until { remotes: usize, locals: usize },
    /// What became of all attachments: asks the server, and lays beside it what was noted.
    Report,
}
