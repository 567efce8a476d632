//! The parts of a pod that the runner acts on.

use std::time::Duration;

use machinery::k8s_openapi::api::core::v1::{Container, Pod, Probe};
use machinery::k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::model::names::{ACCOUNT_SECRET_LABEL, CERT_SECRET_LABEL, NETWORKS_ANNOTATION};

/// The annotation of a pod that stops or disconnects its CNF.
pub const STATE_ANNOTATION: &str = "sdewan/state";
/// The name of the container port of the REST API.
pub const REST_PORT_NAME: &str = "rest";
/// The port of the REST API of a pod that names none.
pub const DEFAULT_REST_PORT: u16 = 443;

/// The state that the annotation requires of a pod's CNF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedState {
    /// It runs.
    Running,
    /// It is killed, and starts empty when the annotation goes.
    Stopped,
    /// It runs, and its API cannot be reached.
    Disconnected,
}

/// Returns the state that a pod requires. Other values than `stopped` and `disconnected` are as no
/// annotation.
#[must_use]
pub fn wanted_state(pod: &Pod) -> WantedState {
    match annotation(pod, STATE_ANNOTATION) {
        Some("stopped") => WantedState::Stopped,
        Some("disconnected") => WantedState::Disconnected,
        _ => WantedState::Running,
    }
}

/// Returns the port of the REST API.
#[must_use]
pub fn rest_port(pod: &Pod) -> u16 {
    let ports = containers(pod).iter().flat_map(|container| container.ports.iter().flatten());
    let mut named = ports.filter(|port| port.name.as_deref() == Some(REST_PORT_NAME));
    named.next().and_then(|port| u16::try_from(port.container_port).ok()).unwrap_or(DEFAULT_REST_PORT)
}

/// Returns the annotation with the networks.
#[must_use]
pub fn networks(pod: &Pod) -> Option<&str> {
    annotation(pod, NETWORKS_ANNOTATION)
}

/// Returns the names of the Secrets with the account, and with the authority.
#[must_use]
pub fn secret_names(pod: &Pod) -> [Option<&str>; 2] {
    [ACCOUNT_SECRET_LABEL, CERT_SECRET_LABEL].map(|name| {
        let labels = pod.metadata.labels.as_ref()?;
        labels.get(name).map(String::as_str).filter(|name| !name.is_empty())
    })
}

fn annotation<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

/// Returns the containers.
pub(super) fn containers(pod: &Pod) -> &[Container] {
    pod.spec.as_ref().map_or(&[], |spec| &spec.containers)
}

/// The readiness probe of a pod, as a kubelet reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadinessProbe {
    /// The request.
    pub action: ProbeAction,
    /// The time before the first probe.
    pub initial_delay: Duration,
    /// The time between probes.
    pub period: Duration,
    /// The time limit of a probe.
    pub timeout: Duration,
    /// Failures in a row after which the pod is not ready.
    pub failures: u32,
    /// Successes in a row after which it is ready.
    pub successes: u32,
}

/// The request of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeAction {
    /// A connection to a port.
    Connect(u16),
    /// A GET of a path, with TLS or without. Any status from 200 to 399 is a success.
    Get {
        /// The port.
        port: u16,
        /// The path.
        path: String,
        /// Whether with TLS; the certificate is not verified, as by a kubelet.
        is_tls: bool,
    },
    /// A probe that the runner cannot make, such as a command: it always succeeds.
    Unsupported,
}

impl ReadinessProbe {
    /// Returns the port that is probed.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        match self.action {
            ProbeAction::Connect(port) | ProbeAction::Get { port, .. } => Some(port),
            ProbeAction::Unsupported => None,
        }
    }

    /// Returns the probe of the first container that has one.
    #[must_use]
    pub fn of(pod: &Pod) -> Option<Self> {
        let containers = containers(pod);
        let (container, probe) =
            containers.iter().find_map(|one| Some((one, one.readiness_probe.as_ref()?)))?;
        let seconds = |value: Option<i32>, least: u64, default: u64| {
            Duration::from_secs(
                value.and_then(|value| u64::try_from(value).ok()).unwrap_or(default).max(least),
            )
        };
        let count = |value: Option<i32>, default: u32| {
            value.and_then(|value| u32::try_from(value).ok()).unwrap_or(default).max(1)
        };
        Some(Self {
            action: action(container, probe),
            initial_delay: seconds(probe.initial_delay_seconds, 0, 0),
            period: seconds(probe.period_seconds, 1, 10),
            timeout: seconds(probe.timeout_seconds, 1, 1),
            failures: count(probe.failure_threshold, 3),
            successes: count(probe.success_threshold, 1),
        })
    }
}

fn action(container: &Container, probe: &Probe) -> ProbeAction {
    if let Some(http) = &probe.http_get
        && let Some(port) = port(container, &http.port)
    {
        let path = http.path.clone().unwrap_or_else(|| "/".into());
        let is_tls = http.scheme.as_deref().is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"));
        return ProbeAction::Get { port, path, is_tls };
    }
    let socket = probe.tcp_socket.as_ref().and_then(|socket| port(container, &socket.port));
    socket.map_or(ProbeAction::Unsupported, ProbeAction::Connect)
}

fn port(container: &Container, port: &IntOrString) -> Option<u16> {
    match port {
        IntOrString::Int(number) => u16::try_from(*number).ok(),
        IntOrString::String(name) => {
            let mut ports = container.ports.iter().flatten();
            let found = ports.find(|one| one.name.as_ref() == Some(name))?;
            u16::try_from(found.container_port).ok()
        }
    }
}
