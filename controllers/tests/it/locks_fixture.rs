//! A server with hosts, host names and records; name locks; and faulty writers.

use async_trait::async_trait;
use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use machinery_apiserver::{ApiServer, Handle, Identity, KindOf};
use machinery_controllers::{Claim, HeldLock, LockHolder, LockKinds, LocksBuilder, NameLocks};
use machinery_informers::Informer;
use machinery_objects::{
    Deleted, Deletion, Fence, Freshness, Kind, Labels, ListWatch, Object, ObjectKey, OwnerRef, Preconditions,
    ResourceVersion, Scope, Uid, WriteError, Writer, WriterCapabilities, Written,
};
use machinery_store::{Memory, Options};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// An object of any of the three kinds.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Doc {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: BTreeMap<String, String>,
}

pub(crate) fn doc(key: &ObjectKey) -> Doc {
    let (namespace, name) = (key.namespace().map(str::to_owned), Some(key.name().to_owned()));
    Doc { metadata: ObjectMeta { namespace, name, ..ObjectMeta::default() }, spec: BTreeMap::new() }
}

impl Doc {
    pub(crate) fn says(mut self, field: &str, text: &str) -> Self {
        self.spec.insert(field.into(), text.into());
        self
    }

    pub(crate) fn owned_by(mut self, owner: &OwnerRef) -> Self {
        self.metadata.owner_references = Some(vec![owner.into()]);
        self
    }
}

impl Object for Doc {
    fn key(&self) -> ObjectKey {
        let name = self.metadata.name.as_deref().unwrap_or_default();
        ObjectKey::new(self.metadata.namespace.as_deref(), name).unwrap_or_default()
    }

    fn version(&self) -> Option<ResourceVersion> {
        ResourceVersion::new(self.metadata.resource_version.as_deref()?)
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }

    fn uid(&self) -> Option<&str> {
        self.metadata.uid.as_deref()
    }

    fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    fn owners(&self) -> Vec<OwnerRef> {
        let owner = |owner: &OwnerReference| OwnerRef {
            api_version: owner.api_version.as_str().into(),
            kind: owner.kind.as_str().into(),
            name: owner.name.as_str().into(),
            uid: Uid::new(&owner.uid).unwrap(),
            controller: owner.controller == Some(true),
            block_owner_deletion: false,
        };
        self.metadata.owner_references.iter().flatten().map(owner).collect()
    }
}

pub(crate) fn kind(name: &str) -> Kind {
    let plural = format!("{}s", name.to_lowercase());
    Kind::new("example.com/v1", name, &plural, Scope::Namespaced).unwrap()
}

fn served(name: &str) -> KindOf<Doc> {
    let kind = kind(name);
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    KindOf::defined(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.example.com", kind.plural())},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": kind.plural(), "kind": name},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    }))
}

pub(crate) type Locks = NameLocks<String, Doc>;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Server and tasks of a test, cancelled on drop.
pub(crate) struct LocksFixture {
    pub(crate) server: ApiServer,
    pub(crate) hosts: Handle<Doc>,
    pub(crate) names: Handle<Doc>,
    pub(crate) records: Handle<Doc>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

impl LocksFixture {
    pub(crate) async fn new() -> Self {
        let builder = ApiServer::builder(Memory::new(Options::default()));
        let builder = ["Host", "HostName", "Record"]
            .into_iter()
            .fold(builder, |builder, kind| builder.kind(served(kind)));
        let server = builder.start().await.unwrap();
        let handle = |name| server.handle_of::<Doc>(kind(name), Identity::admin());
        let (hosts, names, records) = (handle("Host"), handle("HostName"), handle("Record"));
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        Self { server, hosts, names, records, tasks, stopping }
    }

    /// Running locks with a working writer.
    pub(crate) fn locks(&self) -> Locks {
        self.locks_by(Arc::new(self.names.clone()))
    }

    pub(crate) fn locks_by(&self, writer: Arc<dyn Writer<Doc>>) -> Locks {
        let locks = locks(&self.names, writer, |builder| builder);
        self.tasks.spawn(locks.run(self.stopping.clone()));
        locks
    }

    pub(crate) fn informer(&self, of: &Handle<Doc>) -> Informer<Doc> {
        let source: Arc<dyn ListWatch<Arc<Doc>>> = Arc::new(of.clone());
        let informer = Informer::builder(source).build();
        self.tasks.spawn(informer.run(self.stopping.clone()));
        informer
    }

    pub(crate) async fn host(&self, name: &str) -> Doc {
        self.hosts.create(&doc(&key(name)), None).await.unwrap().object
    }

    /// Reads the lock of a name from the server.
    pub(crate) async fn lock(&self, name: &str) -> Option<Arc<Doc>> {
        self.names.get(&key(name), Freshness::Newest).await.unwrap()
    }
}

impl Drop for LocksFixture {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

/// Builds locks without running them.
pub(crate) fn locks(
    names: &Handle<Doc>,
    writer: Arc<dyn Writer<Doc>>,
    with: impl FnOnce(LocksBuilder<String, Doc>) -> LocksBuilder<String, Doc>,
) -> Locks {
    let source: Arc<dyn ListWatch<Arc<Doc>>> = Arc::new(names.clone());
    let locking = LockKinds { kind: kind("HostName"), owners: kind("Host"), writer };
    with(NameLocks::builder(locking, source, |_, lock, owner| doc(lock).owned_by(&owner))).build().unwrap()
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

pub(crate) fn held(claim: Claim<String>) -> HeldLock<String> {
    match claim {
        Claim::Held(held) => held,
        Claim::Taken(taken) => panic!("{taken} has it"),
    }
}

pub(crate) fn taken(claim: Claim<String>) -> LockHolder {
    match claim {
        Claim::Held(held) => panic!("it is held: {held:?}"),
        Claim::Taken(taken) => taken,
    }
}

/// Point of a fault relative to a write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FaultPoint {
    Before,
    After,
}

type FaultHook = dyn Fn(FaultPoint) -> BoxFuture<'static, Result<(), WriteError>> + Send + Sync;

/// A writer with a fault hook in creates, updates and deletes.
pub(crate) struct FaultyWriter {
    pub(crate) inner: Handle<Doc>,
    pub(crate) fences: bool,
    pub(crate) happens: Box<FaultHook>,
}

impl FaultyWriter {
    pub(crate) fn new(
        inner: &Handle<Doc>,
        happens: impl Fn(FaultPoint) -> BoxFuture<'static, Result<(), WriteError>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { inner: inner.clone(), fences: true, happens: Box::new(happens) })
    }
}

#[async_trait]
impl Writer<Doc> for FaultyWriter {
    fn capabilities(&self) -> WriterCapabilities {
        let mut capabilities = Writer::capabilities(&self.inner);
        capabilities.fences = self.fences;
        capabilities
    }

    async fn create(&self, object: &Doc, fence: Option<&Fence>) -> Result<Written<Doc>, WriteError> {
        (self.happens)(FaultPoint::Before).await?;
        let written = self.inner.create(object, fence).await;
        (self.happens)(FaultPoint::After).await?;
        written
    }

    async fn update(&self, object: &Doc, only_if: &Preconditions) -> Result<Written<Doc>, WriteError> {
        (self.happens)(FaultPoint::Before).await?;
        let written = self.inner.update(object, only_if).await;
        (self.happens)(FaultPoint::After).await?;
        written
    }

    async fn update_status(&self, object: &Doc, only_if: &Preconditions) -> Result<Written<Doc>, WriteError> {
        self.inner.update_status(object, only_if).await
    }

    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<Doc>, WriteError> {
        (self.happens)(FaultPoint::Before).await?;
        let deleted = self.inner.delete(key, deletion).await;
        (self.happens)(FaultPoint::After).await?;
        deleted
    }
}
