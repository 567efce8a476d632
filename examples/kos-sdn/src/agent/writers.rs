//! The writers of an agent: with the identity of its plane, or with its own.

use std::fmt;
use std::sync::Arc;

use machinery::apiserver::ApiServer;
use machinery::objects::Writer;

use crate::model::{NetworkAttachment, Probe, agent_identity};

/// Writers with the identity of a node's agent, on a server in this process. Cheap to clone.
#[derive(Clone)]
pub struct AgentWriters {
    pub(super) attachments: Arc<dyn Writer<NetworkAttachment>>,
    pub(super) probes: Arc<dyn Writer<Probe>>,
}

impl AgentWriters {
    /// Returns the writers of a node's agent. The server must have the kinds.
    #[must_use]
    pub fn new(server: &ApiServer, node: &str) -> Self {
        let identity = agent_identity(node);
        let attachments = Arc::new(server.handle(identity.clone()));
        Self { attachments, probes: Arc::new(server.handle(identity)) }
    }
}

impl fmt::Debug for AgentWriters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentWriters")
    }
}
