//! The settings of an agent.

use std::time::Duration;

use machinery::controllers::ElectionConfig;

/// The settings of an agent.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The port of all CNFs; `None`: the container port named `rest`, else 443.
    pub cnf_port: Option<u16>,
    /// Writes to the ready pods of a CNF that is not ready as a whole.
    pub partial_apply: bool,
    /// The interval at which each pod is compared; shortened by up to a fifth.
    pub drift: Duration,
    /// The number of CNFs that are processed at once. A CNF that hangs occupies one.
    pub workers: usize,
    /// The limit of all calls to one pod in one run.
    pub pod_time: Duration,
    /// The limit of one call, when it has to end before another agent may lead.
    pub call_time: Duration,
    /// The number of concurrent writes to the API server in one run.
    pub api_writes: usize,
    /// The seed of jitter. The key under which secrets are compared does not depend on it.
    pub seed: u64,
    /// The Lease by which one of several agents leads; `None`: there is one agent only.
    pub election: Option<ElectionConfig>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            cnf_port: None,
            partial_apply: false,
            drift: Duration::from_secs(60),
            workers: 256,
            pod_time: Duration::from_secs(60),
            // A Lease of 15 s is renewed within 10 s, or the term ends: what is left.
            call_time: Duration::from_secs(5),
            api_writes: 16,
            seed: 0,
            election: None,
        }
    }
}
