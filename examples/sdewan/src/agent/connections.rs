//! Connections to the pods of a CNF, and what is known of their configurations.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::memory::CnfMemory;
use super::settings::AgentSettings;
use super::sources::Sources;
use crate::drive::{
    Cnf, CnfConnector, CnfCredentials, CnfError, CnfErrorClass, CnfInterface, ConfigTag, PodTarget,
};
use crate::model::{CnfKey, Observed};
use crate::plan::CnfPod;

/// A connection to a pod.
#[derive(Clone)]
pub(super) struct PodConnection {
    target: PodTarget,
    pub(super) cnf: Arc<dyn Cnf>,
    /// The interface; probed once per connection.
    pub(super) interface: Option<CnfInterface>,
    /// The last known configuration over v2. It may be outdated: writes are conditional.
    pub(super) known: Option<(ConfigTag, Arc<Observed>)>,
}

/// The port of a CNF that names none.
const DEFAULT_PORT: u16 = 443;
/// The key of the password in its Secret.
const PASSWORD: &str = "password";
/// The key of the certificate authority in its Secret.
const AUTHORITY: &str = "ca.crt";

/// Returns the connections to pods in their order, those of before where the target is the same.
pub(super) fn connect(
    connector: &dyn CnfConnector,
    sources: &Sources,
    settings: &AgentSettings,
    mac_key: &Arc<[u8]>,
    cnf: &CnfKey,
    pods: &[CnfPod],
    memory: &mut CnfMemory,
) -> Vec<Result<PodConnection, CnfError>> {
    let mut before = std::mem::take(&mut memory.pods);
    let mut kept = BTreeMap::new();
    let mut connections = Vec::new();
    for pod in pods {
        let connection = target(sources, settings, mac_key, cnf, pod).and_then(|target| {
            if let Some(known) = before.remove(&pod.uid).filter(|known| known.target == target) {
                return Ok(known);
            }
            let cnf = connector.connect(&target)?;
            Ok(PodConnection { target, cnf, interface: None, known: None })
        });
        if let Ok(connection) = &connection {
            kept.insert(pod.uid.clone(), connection.clone());
        }
        connections.push(connection);
    }
    memory.pods = kept;
    connections
}

/// Returns the target of a pod, with the credentials in the Secrets of its labels.
fn target(
    sources: &Sources,
    settings: &AgentSettings,
    mac_key: &Arc<[u8]>,
    cnf: &CnfKey,
    pod: &CnfPod,
) -> Result<PodTarget, CnfError> {
    let unusable = |reason: String| CnfError::new(CnfErrorClass::Credentials, "login", reason);
    let secret = |name: &str, key: &str| sources.secret(&cnf.namespace, name, key).map_err(unusable);
    let password = match &pod.account_secret {
        Some(name) => secret(name, PASSWORD)?,
        None => Vec::new(),
    };
    let password = String::from_utf8(password)
        .map_err(|_| unusable(format!("the password of pod {} is no UTF-8 text", pod.name)))?;
    let authority = pod.cert_secret.as_ref().map(|name| secret(name, AUTHORITY)).transpose()?;
    Ok(PodTarget {
        namespace: cnf.namespace.clone(),
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        restarts: pod.restarts,
        ip: pod.ip.clone(),
        port: settings.cnf_port.or(pod.rest_port).unwrap_or(DEFAULT_PORT),
        credentials: CnfCredentials {
            user: "root".into(),
            password: password.into(),
            authority: authority.map(Into::into),
        },
        mac_key: mac_key.clone(),
    })
}
