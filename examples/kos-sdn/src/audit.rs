//! An auditor that never sleeps: each change that the server tells of is held against what must hold.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join;
use machinery::apiserver::{ApiServer, Handle, Identity};
use machinery::objects::{
    Filter, Freshness, ListRequest, ListWatch, Object, ObjectKey, WatchEvent, WatchFrom, WatchRequest,
};
use machinery::sync::Mutex;
use machinery::tokio::time::{Instant, sleep};
use machinery::tokio_util::sync::CancellationToken;
use machinery::{ObjectType, Plane};

use crate::drive::Fabric;
use crate::model::{IPLock, NetworkAttachment, Subnet};
use crate::plan::{Changes, Finding, Seen, at_rest};

/// Between two looks whether all is at rest.
const LOOK: Duration = Duration::from_millis(20);

/// Watches what a server commits, one change after the other, and what nodes have whenever something changes. It remembers all that ever was:
/// it is for tests. Cheap to clone.
#[derive(Clone)]
pub struct Auditor(Arc<Inner>);

struct Inner {
    attachments: Handle<NetworkAttachment>,
    subnets: Handle<Subnet>,
    locks: Handle<IPLock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    changes: Changes,
    nodes: Vec<(String, Ipv4Addr, Arc<dyn Fabric>)>,
    /// What nodes had without a reason that was told by then: an agent may hear of it sooner.
    suspects: Vec<Seen>,
    found: Vec<Finding>,
}

impl State {
    fn suspect(&mut self, seen: Vec<Seen>) {
        self.suspects.extend(seen);
        let Self { changes, suspects, .. } = self;
        suspects.retain(|seen| !changes.node(seen).is_empty());
    }
}

impl Auditor {
    /// Audits the server of a plane for as long as that runs.
    ///
    /// # Errors
    /// The server is elsewhere.
    pub fn run(plane: &Plane) -> machinery::Result<Self> {
        let server = plane.server().ok_or("what a server elsewhere commits is not audited")?;
        let (auditor, watching) = Self::on(server, plane.stopping().clone());
        plane.spawn(async move {
            watching.await;
            Ok(())
        });
        Ok(auditor)
    }

    /// An auditor of a server, and its work until the token is cancelled.
    pub fn on(
        server: &ApiServer,
        stopping: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let auditor = Self(Arc::new(Inner {
            attachments: server.handle(Identity::admin()),
            subnets: server.handle(Identity::admin()),
            locks: server.handle(Identity::admin()),
            state: Mutex::default(),
        }));
        let watches = auditor.clone();
        let watching = async move {
            let Inner { attachments, subnets, .. } = &*watches.0;
            let attached = watches.watch(attachments, |state, key, now| state.changes.attachment(key, now));
            let subnetted = watches.watch(subnets, |state, key, now| state.changes.subnet(key, now));
            stopping.run_until_cancelled(join(attached, subnetted)).await;
        };
        (auditor, watching)
    }

    /// Looks at a node, too, from now on. Its fabric must change nothing when it lists.
    pub fn looks_at(&self, node: &str, host: Ipv4Addr, fabric: Arc<dyn Fabric>) {
        self.0.state.lock().nodes.push((node.into(), host, fabric));
    }

    /// What was wrong at any time, as far as it has been told: when nothing happens any more that is all.
    #[must_use]
    pub fn found(&self) -> Vec<Finding> {
        let state = self.0.state.lock();
        let strays = state.suspects.iter().flat_map(|seen| state.changes.node(seen));
        state.found.iter().cloned().chain(strays).collect()
    }

    /// What is wrong now, if nothing is under way.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub async fn at_rest(&self) -> machinery::Result<Vec<Finding>> {
        let nodes = self.seen().await?;
        let Inner { attachments, subnets, locks, state } = &*self.0;
        let (attachments, subnets, locks) = (all(attachments).await?, all(subnets).await?, all(locks).await?);
        let mut wrong = at_rest(&attachments, &locks, &nodes);
        if !state.lock().changes.has_heard_of(&attachments, &subnets) {
            wrong.push(Finding::AtRest("not all changes have been heard of yet".into()));
        }
        Ok(wrong)
    }

    /// Waits until nothing is wrong any more; what is after so long, and all that ever was.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub async fn ends(&self, patience: Duration) -> machinery::Result<Vec<Finding>> {
        let until = Instant::now() + patience;
        loop {
            let mut wrong = self.at_rest().await?;
            wrong.extend(self.found());
            if wrong.is_empty() || Instant::now() >= until {
                return Ok(wrong);
            }
            sleep(LOOK).await;
        }
    }

    async fn watch<K: ObjectType>(
        &self,
        of: &Handle<K>,
        judge: impl Fn(&mut State, &ObjectKey, Option<&K>) -> Option<Finding>,
    ) {
        let request = WatchRequest {
            filter: Filter::default(),
            from: WatchFrom::State(Freshness::Newest),
            bookmarks: false,
            timeout: None,
        };
        let mut changes = match of.watch(request).await {
            Ok(changes) => changes,
            Err(error) => return self.find(Finding::Blind(error.to_string())),
        };
        while let Some(change) = changes.next().await {
            let (object, is_there) = match change {
                Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => (object, true),
                Ok(WatchEvent::Deleted(object) | WatchEvent::Left(object)) => (object, false),
                Ok(WatchEvent::Bookmark { .. }) => continue,
                Ok(_) => return self.find(Finding::Blind("something cannot be read".into())),
                Err(error) => return self.find(Finding::Blind(error.to_string())),
            };
            let found = judge(&mut self.0.state.lock(), &object.key(), is_there.then_some(&object));
            found.into_iter().for_each(|found| self.find(found));
            match self.seen().await {
                Ok(seen) => self.0.state.lock().suspect(seen),
                Err(error) => self.find(Finding::Blind(error.to_string())),
            }
        }
        self.find(Finding::Blind("the server ended the watch".into()));
    }

    async fn seen(&self) -> machinery::Result<Vec<Seen>> {
        let nodes = self.0.state.lock().nodes.clone();
        let mut seen = Vec::new();
        for (node, host, fabric) in nodes {
            seen.push(Seen { node, host, has: fabric.list().await? });
        }
        Ok(seen)
    }

    fn find(&self, finding: Finding) {
        let found = &mut self.0.state.lock().found;
        if !found.contains(&finding) {
            tracing::error!(%finding, "the auditor has found something");
            found.push(finding);
        }
    }
}

async fn all<K: ObjectType>(of: &Handle<K>) -> machinery::Result<Vec<Arc<K>>> {
    Ok(of.list(ListRequest::default()).await?.items)
}
