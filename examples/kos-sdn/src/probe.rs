//! A client of probes: pings and traces, executed by node agents.

use std::sync::Arc;
use std::time::Duration;

use machinery::objects::{ObjectKey, Uid, WriteError};
use machinery::{Objects, Plane, UntilError};

use crate::model::{NetworkAttachment, Probe, ProbeQuestion, ProbeSpec, ProbeStatus};

/// Creates probes and waits for their results. Cheap to clone.
#[derive(Clone)]
pub struct Prober {
    attachments: Objects<NetworkAttachment>,
    probes: Objects<Probe>,
    time_limit: Duration,
}

/// The reason why a probe failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The attachment does not exist.
    #[error("there is no attachment {0}")]
    NotThere(ObjectKey),
    /// The attachment has no interface yet.
    #[error("{0} has no interface yet: {1}")]
    NotReady(ObjectKey, String),
    /// The node agent did not answer in time.
    #[error("the agent of {node} did not answer within {time_limit:?}: does it run?")]
    NoAnswer {
        /// The node.
        node: String,
        /// The time limit.
        time_limit: Duration,
    },
    /// The plane has stopped.
    #[error("the plane has stopped")]
    Ended,
    /// The probe could not be created.
    #[error("the probe cannot be written: {0}")]
    Write(#[from] WriteError),
    /// The error reported by the agent.
    #[error("{0}")]
    Failed(String),
}

impl Prober {
    /// Creates a client; each probe has the time limit.
    ///
    /// # Errors
    /// The plane has stopped.
    pub fn new(plane: &Plane, time_limit: Duration) -> machinery::Result<Self> {
        Ok(Self { attachments: plane.objects()?, probes: plane.objects()?, time_limit })
    }

    /// Waits for the initial list of attachments.
    ///
    /// # Errors
    /// The plane has stopped.
    pub async fn synced(&self) -> Result<(), ProbeError> {
        self.attachments.informer().synced().await.map_err(|_| ProbeError::Ended)
    }

    /// Returns an attachment that has an interface.
    ///
    /// # Errors
    /// The attachment is missing or not ready.
    pub fn ready(&self, key: &ObjectKey) -> Result<Arc<NetworkAttachment>, ProbeError> {
        let attachment = self.attachments.get(key).ok_or_else(|| ProbeError::NotThere(key.clone()))?;
        if attachment.status.ifc_name.is_empty() {
            return Err(ProbeError::NotReady(key.clone(), pending_reason(&attachment)));
        }
        Ok(attachment)
    }

    /// Pings an attachment from another.
    ///
    /// # Errors
    /// No frame was sent.
    pub async fn ping(
        &self,
        from: &NetworkAttachment,
        to: &NetworkAttachment,
        count: u16,
    ) -> Result<ProbeStatus, ProbeError> {
        self.execute(from, ProbeSpec { count, ..probe_spec(from, to, &from.spec.node, ProbeQuestion::Ping) })
            .await
    }

    /// Traces the frames from one attachment to another on both nodes; the frames to another
    /// network reach no second node. Returns each node with its steps.
    ///
    /// # Errors
    /// A node did not answer.
    pub async fn trace(
        &self,
        from: &NetworkAttachment,
        to: &NetworkAttachment,
    ) -> Result<Vec<(String, Vec<String>)>, ProbeError> {
        let mut traces = Vec::new();
        let leaving = probe_spec(from, to, &from.spec.node, ProbeQuestion::Leaving);
        traces.push((from.spec.node.clone(), self.steps(from, leaving).await?));
        let is_one_network = from.status.address_vni == to.status.address_vni;
        if is_one_network && from.spec.node != to.spec.node {
            let arriving = probe_spec(from, to, &to.spec.node, ProbeQuestion::Arriving);
            traces.push((to.spec.node.clone(), self.steps(from, arriving).await?));
        }
        Ok(traces)
    }

    /// Traces a frame from an attachment to itself, which shows that its node has the interface.
    ///
    /// # Errors
    /// The node lacks the interface or did not answer.
    pub async fn interface(&self, of: &NetworkAttachment) -> Result<Vec<String>, ProbeError> {
        self.steps(of, probe_spec(of, of, &of.spec.node, ProbeQuestion::Leaving)).await
    }

    async fn steps(&self, from: &NetworkAttachment, spec: ProbeSpec) -> Result<Vec<String>, ProbeError> {
        let status = self.execute(from, spec).await?;
        if status.error.is_empty() { Ok(status.steps) } else { Err(ProbeError::Failed(status.error)) }
    }

    async fn execute(&self, from: &NetworkAttachment, spec: ProbeSpec) -> Result<ProbeStatus, ProbeError> {
        let node = spec.node.clone();
        let mut probe = Probe::named(from.metadata.namespace.as_deref().unwrap_or_default(), "", spec);
        probe.metadata.name = None;
        probe.metadata.generate_name = Some("probe-".into());
        let made = self.probes.create(&probe).await?.object;
        let key = machinery::objects::Object::key(&made);
        let uid = made.metadata.uid.as_deref().and_then(Uid::new);
        let finished = self.probes.until(self.time_limit, |probes| {
            let probe = probes.get(&key)?;
            let is_it = probe.metadata.uid.as_deref().and_then(Uid::new) == uid;
            probe.status.clone().filter(|status| is_it && status.finished)
        });
        let answer = match finished.await {
            Ok(status) => Ok(status),
            Err(UntilError::TimedOut { .. }) => {
                Err(ProbeError::NoAnswer { node, time_limit: self.time_limit })
            }
            Err(_) => Err(ProbeError::Ended),
        };
        // If this future is dropped before, the agent deletes the probe.
        let _ = self.probes.delete(&key).await;
        answer
    }
}

fn probe_spec(from: &NetworkAttachment, to: &NetworkAttachment, node: &str, ask: ProbeQuestion) -> ProbeSpec {
    ProbeSpec {
        node: node.into(),
        ask,
        from: from.metadata.name.clone().unwrap_or_default(),
        to: to.status.ipv4.clone(),
        count: 1,
    }
}

/// Returns the reason why an attachment is not ready, from its status.
#[must_use]
pub fn pending_reason(attachment: &NetworkAttachment) -> String {
    let status = &attachment.status;
    let errors: Vec<_> = status.errors.ipam.iter().chain(&status.errors.host).cloned().collect();
    if !errors.is_empty() {
        return errors.join("; ");
    }
    match (status.ipv4.is_empty(), status.ifc_name.is_empty()) {
        (true, _) => "it waits for an address from the controllers".into(),
        (false, true) => format!("it waits for the agent of {}", attachment.spec.node),
        (false, false) => "it is ready".into(),
    }
}
