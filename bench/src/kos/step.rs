//! Requests to the processes of a run.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ControlRequest {
    /// Starts the server with all kinds and both controllers, and writes a kubeconfig.
    Begin { directory: PathBuf, kubeconfig: PathBuf },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum AgentsRequest {
    /// Starts the agents of `nodes` nodes, and waits until each has synced.
    Begin { kubeconfig: PathBuf, nodes: usize, per_key: bool },
    /// Waits until this many remote and local interfaces were created on all nodes.
    Until { remotes: usize, locals: usize },
    /// Reports all attachments: compares the server's timestamps with the records.
    Report,
}
