//! Rows of the tables: pods of CNFs, and rules.

use machinery::k8s_openapi::api::core::v1::Pod;
use serde::Serialize;

use crate::model::names::PURPOSE_LABEL;
use crate::model::{SdewanKind, SdewanObject};
use crate::runner::{plan, pod_spec};

/// A pod of a CNF.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PodRow {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The purpose of its CNF.
    pub purpose: String,
    /// The address; empty while it has none.
    pub ip: String,
    /// The port of the REST API.
    pub port: u16,
    /// Whether it is ready.
    #[serde(rename = "ready")]
    pub is_ready: bool,
    /// Restarts of its container.
    pub restarts: i32,
    /// The state of its container.
    pub state: String,
}

impl PodRow {
    /// Returns the row of a pod with a purpose.
    #[must_use]
    pub fn of(pod: &Pod) -> Option<Self> {
        let purpose = pod.metadata.labels.as_ref()?.get(PURPOSE_LABEL)?.clone();
        let status = pod.status.clone().unwrap_or_default();
        let container = status.container_statuses.unwrap_or_default().into_iter().next();
        let state = container.as_ref().and_then(|container| container.state.clone()).unwrap_or_default();
        let state = match (state.waiting, state.terminated) {
            (Some(waiting), _) => {
                let parts = [waiting.reason.unwrap_or_default(), waiting.message.unwrap_or_default()];
                parts.join(": ")
            }
            (None, Some(terminated)) => terminated.reason.unwrap_or_else(|| "Terminated".into()),
            (None, None) => status.phase.unwrap_or_else(|| "Pending".into()),
        };
        Some(Self {
            namespace: pod.metadata.namespace.clone().unwrap_or_default(),
            name: pod.metadata.name.clone().unwrap_or_default(),
            purpose,
            ip: status.pod_ip.unwrap_or_default(),
            port: pod_spec::rest_port(pod),
            is_ready: plan::is_ready(pod) && !plan::is_terminating(pod),
            restarts: container.map_or(0, |container| container.restart_count),
            state,
        })
    }

    /// Returns the cells of a table.
    #[must_use]
    pub fn cells(&self) -> [String; 6] {
        let address = if self.ip.is_empty() { "-".to_owned() } else { format!("{}:{}", self.ip, self.port) };
        let ready = if self.is_ready { "yes" } else { "no" };
        let key = format!("{}/{}", self.namespace, self.name);
        [key, self.purpose.clone(), address, ready.into(), self.restarts.to_string(), self.state.clone()]
    }
}

/// A rule of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRow {
    /// The plural of its kind.
    pub kind: &'static str,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The state, empty before the first.
    pub state: String,
    /// The reason if it is not in sync.
    pub message: String,
    /// Whether every pod of its CNF holds the present generation.
    pub is_in_sync: bool,
}

impl RuleRow {
    /// Returns the row of a rule.
    #[must_use]
    pub fn of(kind: &'static SdewanKind, object: &SdewanObject) -> Self {
        let status = object.sync_status();
        Self {
            kind: kind.plural,
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            is_in_sync: status.in_sync && status.applied_generation == object.metadata.generation,
            state: status.state,
            message: status.message,
        }
    }

    /// Returns `NAMESPACE/NAME`.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Returns the state with the message.
    #[must_use]
    pub fn reason(&self) -> String {
        match (&*self.state, &*self.message) {
            ("", _) => "it has no status yet".to_owned(),
            (state, "") => state.to_owned(),
            (state, message) => format!("{state}: {message}"),
        }
    }
}
