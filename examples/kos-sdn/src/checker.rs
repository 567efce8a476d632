//! The invariant checker: verifies every committed change of attachments and subnets, and the
//! interfaces of nodes after it, against the invariants in [`crate::plan`].

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join3;
use machinery::apiserver::{ApiServer, Handle, Identity};
use machinery::objects::{
    Filter, Freshness, ListRequest, ListWatch, Object, ObjectKey, WatchEvent, WatchFrom, WatchRequest,
};
use machinery::sync::Mutex;
use machinery::tokio::sync::Notify;
use machinery::tokio::time::{Instant, sleep};
use machinery::tokio_util::sync::CancellationToken;
use machinery::{ObjectType, Plane};

use crate::drive::Fabric;
use crate::model::{IPLock, NetworkAttachment, Subnet};
use crate::plan::{Invariants, NodeInterfaces, Violation, converged_violations};

/// Interval of checks for convergence.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Checks the changes of a server's attachments and subnets, each as its watch event arrives, and
/// then the interfaces of the nodes. Locks are checked by [`Self::not_converged`] only. Memory
/// grows with history: for tests. Cheap to clone.
#[derive(Clone)]
pub struct InvariantChecker(Arc<Inner>);

struct Inner {
    attachments: Handle<NetworkAttachment>,
    subnets: Handle<Subnet>,
    locks: Handle<IPLock>,
    state: Mutex<State>,
    /// Wakes the sampler.
    changed: Notify,
}

#[derive(Default)]
struct State {
    invariants: Invariants,
    nodes: Vec<CheckedNode>,
    /// Interfaces not justified by changes observed so far: an agent may receive a change before
    /// the checker.
    suspects: Vec<NodeInterfaces>,
    found: Vec<Violation>,
}

#[derive(Clone)]
struct CheckedNode {
    node: String,
    host: Ipv4Addr,
    fabric: Arc<dyn Fabric>,
    /// Whether the node is listed beside the changes: its switch is slower than they are.
    is_sampled: bool,
}

impl State {
    fn add_suspects(&mut self, seen: Vec<NodeInterfaces>) {
        self.suspects.extend(seen);
        let Self { invariants, suspects, .. } = self;
        suspects.retain(|seen| !invariants.node(seen).is_empty());
    }
}

impl InvariantChecker {
    /// Checks the server of a plane until the plane stops.
    ///
    /// # Errors
    /// The server is in another process.
    pub fn run(plane: &Plane) -> machinery::Result<Self> {
        let server = plane.server().ok_or("the invariant checker needs a server in this process")?;
        let (auditor, watching) = Self::on(server, plane.stopping().clone());
        plane.spawn(async move {
            watching.await;
            Ok(())
        });
        Ok(auditor)
    }

    /// Returns a checker of a server, and the future that runs it until cancelled.
    pub fn on(
        server: &ApiServer,
        stopping: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let auditor = Self(Arc::new(Inner {
            attachments: server.handle(Identity::admin()),
            subnets: server.handle(Identity::admin()),
            locks: server.handle(Identity::admin()),
            state: Mutex::default(),
            changed: Notify::new(),
        }));
        let watches = auditor.clone();
        let watching = async move {
            let Inner { attachments, subnets, .. } = &*watches.0;
            let attached =
                watches.watch(attachments, |state, key, now| state.invariants.attachment(key, now));
            let subnetted = watches.watch(subnets, |state, key, now| state.invariants.subnet(key, now));
            stopping.run_until_cancelled(join3(attached, subnetted, watches.sample())).await;
        };
        (auditor, watching)
    }

    /// Adds a node to be checked. Its fabric is only listed, and `list` must have no side effects.
    pub fn watch_node(&self, node: &str, host: Ipv4Addr, fabric: Arc<dyn Fabric>) {
        self.add_node(CheckedNode { node: node.into(), host, fabric, is_sampled: false });
    }

    /// Adds a node whose switch is in another process: several changes may share one list of its
    /// interfaces.
    pub fn sample_node(&self, node: &str, host: Ipv4Addr, fabric: Arc<dyn Fabric>) {
        self.add_node(CheckedNode { node: node.into(), host, fabric, is_sampled: true });
    }

    /// Returns all violations so far; complete once the system is quiescent.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let state = self.0.state.lock();
        let unexpected = state.suspects.iter().flat_map(|seen| state.invariants.node(seen));
        state.found.iter().cloned().chain(unexpected).collect()
    }

    /// Returns the differences between the current state and a converged one.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn not_converged(&self) -> machinery::Result<Vec<Violation>> {
        let nodes = self.seen(|_| true).await?;
        let Inner { attachments, subnets, locks, state, .. } = &*self.0;
        let (attachments, subnets, locks) = (all(attachments).await?, all(subnets).await?, all(locks).await?);
        let mut wrong = converged_violations(&attachments, &locks, &nodes);
        if !state.lock().invariants.has_observed(&attachments, &subnets) {
            wrong.push(Violation::NotConverged("not all changes have been observed yet".into()));
        }
        Ok(wrong)
    }

    /// Waits until the state has converged, at most `time_limit`. Returns the remaining
    /// differences, and [`violations`](Self::violations), which never disappear once found.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn wait_converged(&self, time_limit: Duration) -> machinery::Result<Vec<Violation>> {
        let until = Instant::now() + time_limit;
        loop {
            let mut wrong = self.not_converged().await?;
            wrong.extend(self.violations());
            if wrong.is_empty() || Instant::now() >= until {
                return Ok(wrong);
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    async fn watch<K: ObjectType>(
        &self,
        of: &Handle<K>,
        judge: impl Fn(&mut State, &ObjectKey, Option<&K>) -> Option<Violation>,
    ) {
        // A watch, not an informer, which merges changes and so hides brief violations.
        let request = WatchRequest {
            filter: Filter::default(),
            from: WatchFrom::State(Freshness::Newest),
            bookmarks: false,
            timeout: None,
        };
        let mut changes = match of.watch(request).await {
            Ok(changes) => changes,
            Err(error) => return self.report(Violation::WatchLost(error.to_string())),
        };
        while let Some(change) = changes.next().await {
            let (object, exists) = match change {
                Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => (object, true),
                Ok(WatchEvent::Deleted(object) | WatchEvent::Left(object)) => (object, false),
                Ok(WatchEvent::Bookmark { .. }) => continue,
                Ok(_) => return self.report(Violation::WatchLost("an object cannot be decoded".into())),
                Err(error) => return self.report(Violation::WatchLost(error.to_string())),
            };
            let found = judge(&mut self.0.state.lock(), &object.key(), exists.then_some(&object));
            found.into_iter().for_each(|found| self.report(found));
            self.0.changed.notify_one();
            match self.seen(|node| !node.is_sampled).await {
                Ok(seen) => self.0.state.lock().add_suspects(seen),
                Err(error) => self.report(Violation::WatchLost(error.to_string())),
            }
        }
        self.report(Violation::WatchLost("the server ended the watch".into()));
    }

    /// Checks the sampled nodes after changes. A switch may be away for a while: that is no
    /// violation.
    async fn sample(&self) {
        loop {
            self.0.changed.notified().await;
            if let Ok(seen) = self.seen(|node| node.is_sampled).await {
                self.0.state.lock().add_suspects(seen);
            }
        }
    }

    fn add_node(&self, node: CheckedNode) {
        self.0.state.lock().nodes.push(node);
    }

    async fn seen(&self, which: impl Fn(&CheckedNode) -> bool) -> machinery::Result<Vec<NodeInterfaces>> {
        let nodes: Vec<_> = self.0.state.lock().nodes.iter().filter(|node| which(node)).cloned().collect();
        let mut seen = Vec::new();
        for CheckedNode { node, host, fabric, .. } in nodes {
            seen.push(NodeInterfaces { node, host, interfaces: fabric.list().await? });
        }
        Ok(seen)
    }

    fn report(&self, finding: Violation) {
        let found = &mut self.0.state.lock().found;
        if !found.contains(&finding) {
            tracing::error!(%finding, "invariant violated");
            found.push(finding);
        }
    }
}

async fn all<K: ObjectType>(of: &Handle<K>) -> machinery::Result<Vec<Arc<K>>> {
    Ok(of.list(ListRequest::default()).await?.items)
}
