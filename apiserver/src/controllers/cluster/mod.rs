//! Objects that clients of a cluster expect, and controller managers or kube-apiserver maintain
//! there.

mod api_services;
mod namespaces;
mod service;

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::late::unless_unwritable;
use super::start::{spawn, store};
use crate::refusal::Refusal;
use crate::server::{ApiServer, Shared, StartError};

/// The facts of a cluster that [`ApiServer::maintain`] publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// The certificate of the authority that clients trust, in PEM. `None`: not published.
    pub root_ca: Option<String>,
    /// The port of the server. `None`: there is no Service of the server.
    pub port: Option<u16>,
}

impl ApiServer {
    /// Creates the objects that clients of a cluster expect, and maintains them until the server is
    /// stopped: the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt` of every
    /// namespace, the Service `kubernetes` in the namespace `default`, and an APIService for each
    /// served group and version. A deleted one is created again.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn maintain(&self, facts: ClusterFacts) -> Result<(), StartError> {
        let ClusterFacts { root_ca, port } = facts;
        begin(self.shared(), self.tasks(), root_ca.map(Into::into), port).await.map_err(store)
    }
}

async fn begin(
    shared: &Arc<Shared>,
    tasks: &TaskTracker,
    root_ca: Option<Arc<str>>,
    port: Option<u16>,
) -> Result<(), Refusal> {
    let defaults = namespaces::NamespaceDefaults::new(root_ca);
    unless_unwritable(defaults.reconcile(shared, &Default::default()).await)?;
    unless_unwritable(api_services::reconcile(shared).await)?;
    if let Some(port) = port {
        unless_unwritable(service::reconcile(shared, port).await)?;
        spawn(shared, tasks, service::run(shared.clone(), port));
    }
    spawn(shared, tasks, namespaces::run(shared.clone(), defaults));
    spawn(shared, tasks, api_services::run(shared.clone()));
    Ok(())
}

/// Ignores the refusal of a creation, such as by a namespace in deletion; errors of the store are
/// returned.
fn created(outcome: Result<(), Refusal>) -> Result<(), Refusal> {
    outcome.or_else(|refusal| if matches!(refusal.code, 503 | 504 | 507) { Err(refusal) } else { Ok(()) })
}
