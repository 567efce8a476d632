//! Asking the nodes of attachments what becomes of frames between them.

use std::sync::Arc;
use std::time::Duration;

use machinery::objects::{ObjectKey, Uid, WriteError};
use machinery::tokio::time::timeout;
use machinery::{Objects, Plane};

use crate::model::{Ask, NetworkAttachment, Probe, ProbeSpec, ProbeStatus};
use crate::until::until;

/// Asks. Cheap to clone.
#[derive(Clone)]
pub struct Asks {
    attachments: Objects<NetworkAttachment>,
    probes: Objects<Probe>,
    patience: Duration,
}

/// What stands between two attachments and frames, or between a question and its answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is no such attachment.
    #[error("there is no attachment {0}")]
    NotThere(ObjectKey),
    /// It has no interface yet.
    #[error("{0} has no interface yet: {1}")]
    NotReady(ObjectKey, String),
    /// Nobody answers.
    #[error("the agent of {node} did not answer within {patience:?}: does it run?")]
    NoAnswer {
        /// Which node's.
        node: String,
        /// So long it was waited for.
        patience: Duration,
    },
    /// The plane is ending.
    #[error("nothing more is told of probes: the plane has ended")]
    Ended,
    /// The question was not written.
    #[error("the probe cannot be written: {0}")]
    Write(#[from] WriteError),
    /// What the agent says.
    #[error("{0}")]
    Failed(String),
}

impl Asks {
    /// Asks agents by a plane, and waits for each answer as long as said.
    ///
    /// # Errors
    /// The plane has stopped.
    pub fn new(plane: &Plane, patience: Duration) -> machinery::Result<Self> {
        Ok(Self { attachments: plane.objects()?, probes: plane.objects()?, patience })
    }

    /// Until all attachments that are there can be read.
    ///
    /// # Errors
    /// They are not told of any more.
    pub async fn synced(&self) -> Result<(), AskError> {
        self.attachments.informer().synced().await.map_err(|_| AskError::Ended)
    }

    /// An attachment with an interface.
    ///
    /// # Errors
    /// There is none, and why.
    pub fn ready(&self, key: &ObjectKey) -> Result<Arc<NetworkAttachment>, AskError> {
        let attachment = self.attachments.get(key).ok_or_else(|| AskError::NotThere(key.clone()))?;
        if attachment.status.ifc_name.is_empty() {
            return Err(AskError::NotReady(key.clone(), why_not(&attachment)));
        }
        Ok(attachment)
    }

    /// Has real frames sent from one to the other, and says how they fared.
    ///
    /// # Errors
    /// They were not sent.
    pub async fn ping(
        &self,
        from: &NetworkAttachment,
        to: &NetworkAttachment,
        count: u16,
    ) -> Result<ProbeStatus, AskError> {
        self.ask(from, ProbeSpec { count, ..question(from, to, &from.spec.node, Ask::Ping) }).await
    }

    /// What both nodes do with frames from one to the other: where they leave, and where they arrive.
    ///
    /// # Errors
    /// A node did not say.
    pub async fn trace(
        &self,
        from: &NetworkAttachment,
        to: &NetworkAttachment,
    ) -> Result<Vec<(String, Vec<String>)>, AskError> {
        let mut told = Vec::new();
        let leaving = question(from, to, &from.spec.node, Ask::Leaving);
        told.push((from.spec.node.clone(), self.steps(from, leaving).await?));
        if from.spec.node != to.spec.node {
            let arriving = question(from, to, &to.spec.node, Ask::Arriving);
            let arriving = ProbeSpec { host: from.status.host_ip.clone(), ..arriving };
            told.push((to.spec.node.clone(), self.steps(from, arriving).await?));
        }
        Ok(told)
    }

    /// Asks a node whether it has the interface of an attachment: what it does with frames from there.
    ///
    /// # Errors
    /// It has not, or did not say.
    pub async fn interface(&self, of: &NetworkAttachment) -> Result<Vec<String>, AskError> {
        self.steps(of, question(of, of, &of.spec.node, Ask::Leaving)).await
    }

    async fn steps(&self, from: &NetworkAttachment, spec: ProbeSpec) -> Result<Vec<String>, AskError> {
        let status = self.ask(from, spec).await?;
        if status.error.is_empty() { Ok(status.steps) } else { Err(AskError::Failed(status.error)) }
    }

    async fn ask(&self, from: &NetworkAttachment, spec: ProbeSpec) -> Result<ProbeStatus, AskError> {
        let node = spec.node.clone();
        let mut probe = Probe::new("", spec);
        probe.metadata.name = None;
        probe.metadata.generate_name = Some("probe-".into());
        probe.metadata.namespace = from.metadata.namespace.clone();
        let made = self.probes.create(&probe).await?.object;
        let key = machinery::objects::Object::key(&made);
        let uid = made.metadata.uid.as_deref().and_then(Uid::new);
        let finished = until(&self.probes, |probes| {
            let probe = probes.get(&key)?;
            let is_it = probe.metadata.uid.as_deref().and_then(Uid::new) == uid;
            probe.status.clone().filter(|status| is_it && status.finished)
        });
        let answer = match timeout(self.patience, finished).await {
            Ok(Some(status)) => Ok(status),
            Ok(None) => Err(AskError::Ended),
            Err(_) => Err(AskError::NoAnswer { node, patience: self.patience }),
        };
        // Whoever does not come to this leaves it to the agent.
        let _ = self.probes.delete(&key).await;
        answer
    }
}

fn question(from: &NetworkAttachment, to: &NetworkAttachment, node: &str, ask: Ask) -> ProbeSpec {
    ProbeSpec {
        node: node.into(),
        ask,
        vni: from.status.address_vni,
        from: from.status.ipv4.clone(),
        to: to.status.ipv4.clone(),
        host: String::new(),
        count: 1,
    }
}

/// What an attachment waits for, as far as it says.
#[must_use]
pub fn why_not(attachment: &NetworkAttachment) -> String {
    let status = &attachment.status;
    let errors: Vec<_> = status.errors.ipam.iter().chain(&status.errors.host).cloned().collect();
    if !errors.is_empty() {
        return errors.join("; ");
    }
    match (status.ipv4.is_empty(), status.ifc_name.is_empty()) {
        (true, _) => "it waits for an address, which the controllers give".into(),
        (false, true) => format!("it waits for the agent of {}", attachment.spec.node),
        (false, false) => "nothing is in the way".into(),
    }
}
