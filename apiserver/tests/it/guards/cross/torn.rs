//! Views of two kinds at different revisions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use kube_core::ResourceExt as _;
use machinery_apiserver::{CrossKindGuard, Operation};
use machinery_objects::{InvalidField, Revision};
use machinery_store::{
    Backend, Commit, CommitError, CompactError, KeySpan, Memory, Options, Page, Range, ReadError,
    Transaction, Watch, WatchError,
};
use machinery_sync::Mutex;
use serde_json::{Value, json};

use super::fixture::{DEPLOYMENTS, MAPS, create, deployment, map, references, refused, start};
use crate::audit::SECRETS;
use crate::client::Client;

type DelayedDeed = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// A store that runs a function before the n-th next read of its revision, or before its next
/// commit.
#[derive(Clone)]
struct Delayed {
    inner: Memory,
    left: Arc<AtomicUsize>,
    deed: Arc<Mutex<Option<DelayedDeed>>>,
    before_commit: Arc<Mutex<Option<DelayedDeed>>>,
}

impl Delayed {
    fn new(inner: &Memory) -> Self {
        let (left, deed, before_commit) = Default::default();
        Self { inner: inner.clone(), left, deed, before_commit }
    }

    fn arm(&self, reads: usize, deed: impl Future<Output = ()> + Send + 'static) {
        *self.deed.lock() = Some(Box::new(|| Box::pin(deed)));
        self.left.store(reads, Ordering::SeqCst);
    }
}

#[async_trait]
impl Backend for Delayed {
    async fn revision(&self) -> Result<Revision, ReadError> {
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) == Ok(1) {
            let deed = self.deed.lock().take().unwrap();
            deed().await;
        }
        self.inner.revision().await
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        self.inner.range(range).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        let deed = self.before_commit.lock().take();
        if let Some(deed) = deed {
            deed().await;
        }
        self.inner.commit(transaction).await
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        self.inner.watch(span, after).await
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        self.inner.compact(to).await
    }
}

/// A Deployment refers to a ConfigMap or a Secret.
fn either() -> CrossKindGuard {
    let name = |object: &Value| [object["metadata"]["name"].as_str().unwrap_or_default().to_owned()];
    CrossKindGuard::new("either")
        .member_of("", "configmaps", name)
        .member_of("", "secrets", name)
        .member(|deployment: &Deployment| deployment.annotations().get("example.com/config").cloned())
        .check(|write, others| {
            let is_user = write.object.is_of("apps", "deployments") && write.operation == Operation::Create;
            let missing = is_user && others.iter().all(|other| other.is_of("apps", "deployments"));
            let wrong = InvalidField { field: String::new(), reason: "it refers to nothing".into() };
            missing.then_some(wrong).into_iter().collect()
        })
}

/// The target moves from one kind to the other between the views of both: it exists at every
/// revision, and in neither view.
#[tokio::test]
async fn a_refusal_by_a_state_that_never_existed_is_repeated() {
    let memory = Memory::new(Options::default());
    let store = Delayed::new(&memory);
    let (server, other) = (start(&store, vec![either()]).await, start(&memory, vec![either()]).await);
    let client = Client::of(&server);
    create(&client, SECRETS, &json!({"metadata": {"name": "t"}})).await;
    create(&client, DEPLOYMENTS, &deployment("warm", "x", Some("t"))).await;
    let mut moved = 0;
    // The reads of the revision before those of the views are not counted here.
    for reads in 1..8 {
        let rival = Client::of(&other);
        store.arm(reads, async move {
            create(&rival, MAPS, &map("t")).await;
            drop(rival.delete(&format!("{SECRETS}/t")).await.fine());
        });
        let name = format!("d{reads}");
        create(&client, DEPLOYMENTS, &deployment(&name, "x", Some("t"))).await;
        if store.deed.lock().take().is_none() {
            moved += 1;
            create(&client, SECRETS, &json!({"metadata": {"name": "t"}})).await;
            client.delete(&format!("{MAPS}/t")).await.fine();
        }
        store.left.store(0, Ordering::SeqCst);
    }
    assert!(moved >= 3, "each view was overtaken: {moved}");
    for server in [server, other] {
        server.stop().await;
    }
}

/// ConfigMaps and Secrets of all namespaces have one name space.
fn one_name() -> CrossKindGuard {
    let name = |object: &Value| [object["metadata"]["name"].as_str().unwrap_or_default().to_owned()];
    let taken = InvalidField { field: "metadata.name".into(), reason: "it is taken".into() };
    CrossKindGuard::new("one-name").member_of("", "configmaps", name).member_of("", "secrets", name).check(
        move |write, others| match write.object.name().starts_with('x') && !others.is_empty() {
            true => vec![taken.clone()],
            false => Vec::new(),
        },
    )
}

/// The conflicting object is newer than the first view, and older than the second.
#[tokio::test]
async fn a_write_between_two_views_is_detected() {
    let memory = Memory::new(Options::default());
    let store = Delayed::new(&memory);
    let (server, other) = (start(&store, vec![one_name()]).await, start(&memory, vec![one_name()]).await);
    let client = Client::of(&server);
    create(&client, "/api/v1/namespaces", &json!({"metadata": {"name": "n"}})).await;
    create(&client, MAPS, &map("warm")).await;
    let mut overtaken = 0;
    for reads in 1..8 {
        let (rival, name) = (Client::of(&other), format!("x{reads}"));
        let object = map(&name);
        store.arm(reads, async move {
            create(&rival, "/api/v1/namespaces/n/configmaps", &object).await;
        });
        let answer = client.post(MAPS, &map(&name)).await;
        match store.deed.lock().take() {
            None => {
                refused(&answer, "one-name", "it is taken");
                overtaken += 1;
            }
            Some(_) => drop(answer.fine()),
        }
        store.left.store(0, Ordering::SeqCst);
    }
    assert!(overtaken >= 2, "each view was overtaken: {overtaken}");
    for server in [server, other] {
        server.stop().await;
    }
}

/// Regression test: the target is newer than the first view and in the second one, and is deleted
/// before the commit. Its record is absent at the first view and at the commit.
#[tokio::test]
async fn a_target_that_only_the_second_view_shows_and_that_goes_is_detected() {
    let memory = Memory::new(Options::default());
    let store = Delayed::new(&memory);
    let (server, other) = (start(&store, vec![references()]).await, start(&memory, vec![references()]).await);
    let client = Client::of(&server);
    create(&client, MAPS, &map("warm")).await;
    create(&client, DEPLOYMENTS, &deployment("warm", "x", Some("warm"))).await;
    let mut shown = 0;
    for reads in 1..8 {
        let (rival, later, before_commit) =
            (Client::of(&other), Client::of(&other), store.before_commit.clone());
        store.arm(reads, async move {
            create(&rival, MAPS, &map("t")).await;
            let goes = async move { drop(later.delete(&format!("{MAPS}/t")).await.fine()) };
            *before_commit.lock() = Some(Box::new(|| Box::pin(goes)));
        });
        let answer = client.post(DEPLOYMENTS, &deployment(&format!("d{reads}"), "x", Some("t"))).await;
        refused(&answer, "references", "its ConfigMap does not exist");
        let (created, deleted) = (store.deed.lock().take().is_none(), store.before_commit.lock().take());
        match deleted {
            None => shown += usize::from(created),
            Some(_) => drop(client.delete(&format!("{MAPS}/t")).await.fine()),
        }
        store.left.store(0, Ordering::SeqCst);
    }
    assert!(shown >= 1, "the target was in a view: {shown}");
    for server in [server, other] {
        server.stop().await;
    }
}
