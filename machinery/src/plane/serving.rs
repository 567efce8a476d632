//! The embedded server on a socket, for the components of a control plane in other processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use machinery_apiserver::{Access, ApiServer, Identity, Listen};
use machinery_objects::{Kind, Preconditions, Scope, WriteError, Writer as _};
use machinery_store::Disk;
use serde_json::Value;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::builder::PlaneBuilder;
use super::component::Component;
use super::error::PlaneError;
use super::handle::Plane;
use super::transport::Transport;

/// Interval of checks for changed certificates and tokens, and of the store's state.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The socket and the components of an embedded server.
#[derive(Default)]
pub(super) struct Serving {
    listen: Option<Listen>,
    components: Vec<Component>,
    clients: Vec<(Identity, PathBuf)>,
    notice: Option<Notice>,
}

type Notice = Arc<dyn Fn(&str) + Send + Sync>;

impl PlaneBuilder {
    /// Serves the embedded server on a socket, with RBAC. [`Plane::access`] has its URL and
    /// kubeconfig. Certificates and tokens are reloaded when their files change.
    pub fn serve(mut self, listen: Listen) -> Self {
        self.serving.listen = Some(listen);
        self
    }

    /// Adds a component in other processes: its role is created or updated at each start, and each
    /// of its identities has a token and a kubeconfig at the path. Requires
    /// [`serve`](Self::serve).
    pub fn component(
        mut self,
        component: Component,
        clients: impl IntoIterator<Item = (Identity, PathBuf)>,
    ) -> Self {
        self.serving.components.push(component);
        self.serving.clients.extend(clients);
        self
    }

    /// Calls a function with messages for operators: created, expiring and unusable certificates,
    /// and a degraded store. By default they are logged as warnings.
    pub fn on_notice(mut self, notice: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.serving.notice = Some(Arc::new(notice));
        self
    }

    /// Validates the files of the socket before anything is created, and enables RBAC.
    pub(super) fn take_serving(&mut self) -> Result<Option<Serving>, PlaneError> {
        let mut serving = std::mem::take(&mut self.serving);
        let Some(listen) = &mut serving.listen else {
            return match serving.components.first() {
                Some(component) => Err(PlaneError::NotServing { component: component.name().into() }),
                None => Ok(None),
            };
        };
        listen.others.append(&mut serving.clients);
        listen.check()?;
        self.server_parts.push(Box::new(machinery_apiserver::Builder::rbac));
        Ok(Some(serving))
    }
}

impl Serving {
    /// Creates the roles, listens, and watches certificates and the store until the shutdown.
    pub(super) async fn start(self, plane: &Plane) -> Result<(), PlaneError> {
        #[cfg_attr(not(feature = "kube"), expect(irrefutable_let_patterns, reason = "the only transport"))]
        let Transport::Embedded { server, disk, .. } = plane.transport() else {
            return Err(PlaneError::NoServer);
        };
        let Some(listen) = self.listen else { return Ok(()) };
        for manifest in self.components.iter().flat_map(Component::manifests) {
            put_role(server, &manifest).await?;
        }
        let access = server.listen(listen).await?;
        let notice = self.notice.unwrap_or_else(|| {
            Arc::new(|text: &str| tracing::warn!(notice = text, "the server of the plane needs attention"))
        });
        access.notes.iter().for_each(|note| notice(note));
        let (watched, disk) = (access.clone(), disk.clone());
        plane.run_as("the watch of certificates", |stopping| watch(watched, disk, notice, stopping));
        plane.set_access(access);
        Ok(())
    }
}

/// Reloads changed certificates and tokens, and reports a degraded store once.
async fn watch(access: Access, disk: Option<Disk>, notice: Notice, stopping: CancellationToken) {
    let mut reported: Option<Arc<str>> = None;
    while stopping.run_until_cancelled(sleep(POLL_INTERVAL)).await.is_some() {
        if access.is_outdated() {
            let reloaded = access.reload();
            reloaded.notes.iter().for_each(|note| notice(note));
            for refused in &reloaded.refused {
                notice(&format!("not reloaded, the previous one stays in use: {refused}"));
            }
        }
        let trouble = disk.as_ref().and_then(Disk::trouble);
        match &trouble {
            Some(why) if trouble != reported => notice(&format!("the store needs attention: {why}")),
            None if reported.is_some() => notice("the store has recovered"),
            _ => {}
        }
        reported = trouble;
    }
}

/// Creates or updates a role or its binding.
async fn put_role(server: &ApiServer, manifest: &Value) -> Result<(), PlaneError> {
    let (kind, plural) = match manifest["kind"].as_str() {
        Some("ClusterRole") => ("ClusterRole", "clusterroles"),
        _ => ("ClusterRoleBinding", "clusterrolebindings"),
    };
    let kind = Kind::new("rbac.authorization.k8s.io/v1", kind, plural, Scope::Cluster)?;
    let handle = server.handle_of::<Value>(kind, Identity::admin());
    let written = match handle.create(manifest, None).await {
        Err(WriteError::AlreadyExists { .. }) => {
            handle.update(manifest, &Preconditions::default()).await.map(drop)
        }
        created => created.map(drop),
    };
    written.map_err(|why| PlaneError::Role { role: manifest["metadata"]["name"].to_string(), why })
}
