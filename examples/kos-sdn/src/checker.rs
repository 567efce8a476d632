//! The invariant checker: verifies every commit of attachments and subnets, and the interfaces of
//! nodes after it, against the invariants in [`crate::plan`].

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use machinery::Plane;
use machinery::apiserver::ApiServer;
use machinery::sync::Mutex;
use machinery::testing::{self, CommittedState, InvariantCheckerBuilder, InvariantViolation, Violations};
use machinery::tokio_util::sync::CancellationToken;

use crate::drive::Fabric;
use crate::model::{IPLock, NetworkAttachment, Subnet};
use crate::plan::{Invariants, NodeInterfaces, Violation, converged_violations};

/// Checks the commits of a server's attachments and subnets, and after them the interfaces of the
/// nodes. Locks are checked by [`Self::not_converged`] only. Memory grows with history: for tests.
/// Cheap to clone.
#[derive(Clone)]
pub struct InvariantChecker {
    checker: testing::InvariantChecker,
    nodes: Nodes,
}

type Nodes = Arc<Mutex<Vec<CheckedNode>>>;

#[derive(Clone)]
struct CheckedNode {
    node: String,
    host: Ipv4Addr,
    fabric: Arc<dyn Fabric>,
    /// Whether the switch is in another process, and may be away for a while.
    is_remote: bool,
}

impl InvariantChecker {
    /// Checks the server of a plane until the plane stops.
    ///
    /// # Errors
    /// The server is in another process.
    pub fn run(plane: &Plane) -> machinery::Result<Self> {
        let nodes = Nodes::default();
        Ok(Self { checker: invariants(&nodes).run(plane)?, nodes })
    }

    /// Returns a checker of a server, and the future that runs it until cancelled.
    pub fn on(
        server: &ApiServer,
        stopping: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let nodes = Nodes::default();
        let (checker, running) = invariants(&nodes).on(server, stopping);
        (Self { checker, nodes }, running)
    }

    /// Adds a node to be checked. Its fabric is only listed, and `list` must have no side effects.
    pub fn watch_node(&self, node: &str, host: Ipv4Addr, fabric: Arc<dyn Fabric>) {
        self.nodes.lock().push(CheckedNode { node: node.into(), host, fabric, is_remote: false });
    }

    /// Adds a node whose switch is in another process: while it is away, nothing is checked.
    pub fn sample_node(&self, node: &str, host: Ipv4Addr, fabric: Arc<dyn Fabric>) {
        self.nodes.lock().push(CheckedNode { node: node.into(), host, fabric, is_remote: true });
    }

    /// Returns all violations so far; complete once the system is quiescent.
    #[must_use]
    pub fn violations(&self) -> Vec<InvariantViolation> {
        self.checker.violations()
    }

    /// Returns the differences between the current state and a converged one.
    ///
    /// # Errors
    /// The checker has ended.
    pub async fn not_converged(&self) -> machinery::Result<Vec<InvariantViolation>> {
        Ok(self.checker.differences().await?)
    }

    /// Waits until the state has converged, at most `time_limit`. Returns the violations, which
    /// never disappear once found, or the remaining differences.
    pub async fn wait_converged(&self, time_limit: Duration) -> Vec<InvariantViolation> {
        match self.checker.wait_for_rest(time_limit).await {
            Ok(()) => Vec::new(),
            Err(Violations(found)) => found,
        }
    }
}

fn invariants(nodes: &Nodes) -> InvariantCheckerBuilder {
    let invariants = Arc::new(Mutex::new(Invariants::default()));
    let (of_attachments, of_subnets, of_nodes) = (invariants.clone(), invariants.clone(), invariants);
    let (observed, at_rest) = (nodes.clone(), nodes.clone());
    testing::InvariantChecker::builder()
        .always("an address has one holder", move |commit| {
            let (changes, mut invariants) = (commit.changes::<NetworkAttachment>(), of_attachments.lock());
            let check = |change: testing::ObjectChange<_>| {
                invariants.attachment(&change.key, change.after.as_deref())
            };
            changes.into_iter().filter_map(check).collect::<Vec<_>>()
        })
        .always("validated subnets do not conflict", move |commit| {
            let (changes, mut invariants) = (commit.changes::<Subnet>(), of_subnets.lock());
            let check =
                |change: testing::ObjectChange<_>| invariants.subnet(&change.key, change.after.as_deref());
            changes.into_iter().filter_map(check).collect::<Vec<_>>()
        })
        .observe("interfaces were desired", move || {
            let (nodes, invariants) = (observed.clone(), of_nodes.clone());
            async move {
                let seen = interfaces(&nodes, false).await?;
                Ok::<_, machinery::Error>(move |_: &CommittedState| {
                    seen.iter().flat_map(|seen| invariants.lock().node(seen)).collect::<Vec<_>>()
                })
            }
        })
        .at_rest("nodes and locks are as desired", move |state| {
            let nodes = at_rest.clone();
            async move {
                match interfaces(&nodes, true).await {
                    Ok(nodes) => converged_violations(
                        &state.all::<NetworkAttachment>(),
                        &state.all::<IPLock>(),
                        &nodes,
                    ),
                    Err(error) => vec![Violation::NotConverged(error.to_string())],
                }
            }
        })
}

/// Lists the interfaces of the nodes; those of a switch that is away only on demand.
async fn interfaces(nodes: &Nodes, all: bool) -> machinery::Result<Vec<NodeInterfaces>> {
    let (nodes, mut seen) = (nodes.lock().clone(), Vec::new());
    for CheckedNode { node, host, fabric, is_remote } in nodes {
        match fabric.list().await {
            Ok(interfaces) => seen.push(NodeInterfaces { node, host, interfaces }),
            Err(_) if is_remote && !all => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(seen)
}
