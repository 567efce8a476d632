//! Metrics of node agents.

use std::sync::Arc;

use jiff::Timestamp;
use machinery::metrics::{CALLS, END_TO_END};
use machinery::objects::WriteError;
use machinery::tokio::time::Instant;

use super::{ok, outcome, truth};
use crate::drive::{FabricError, FabricRepairs, FabricStatus};
use crate::model::{ExecReport, NetworkAttachment, Peer, Section};
use crate::plan::{Interface, LastWrite, complaints, complaints_label, seconds};

machinery::metrics! {
    /// The metrics of all nodes. Cheap to clone.
    pub struct AgentMetrics("kos", "Nodes") {
        /// Time from the last client write until the interface is created, first time only; by the
        /// clock of the node
        local: seconds(
            "agent_last_client_write_to_local_ifc_latency_seconds", ["node", "last_client_wr"], END_TO_END
        );
        /// Time from the last client write until a remote interface is created; by the clock of
        /// this node
        remote: seconds(
            "agent_last_client_write_to_remote_ifc_latency_seconds", ["node", "last_client_wr"], END_TO_END
        );
        /// Time from the report of an interface by its node until the remote interface is created,
        /// in networks watched before
        implemented_to_remote: seconds(
            "agent_attachment_impl_to_remote_ifc_latency_seconds", ["node", "last_client_wr"], END_TO_END
        );
        /// Time from the last client write until the status has the interface, first time only; by
        /// the server's clock
        status: seconds(
            "agent_last_client_write_to_status_update_latency_seconds", ["node", "last_client_wr"], END_TO_END
        );
        /// Duration of fabric calls
        fabric: seconds("agent_fabric_latency_seconds", ["node", "op", "err"], CALLS);
        /// Duration of status writes of attachments
        update: seconds("agent_attachment_status_latency_seconds", ["node", "statusErr", "err"], CALLS);
        /// Number of local interfaces
        locals: gauge("agent_local_attachments", ["node"]) in "Interfaces";
        /// Number of remote interfaces
        remotes: gauge("agent_remote_attachments", ["node"]) in "Interfaces";
        /// Number of interfaces that do not work
        broken: gauge("agent_broken_interfaces", ["node"]) in "Interfaces";
        /// Number of interfaces without owner that could not be deleted yet
        orphans: gauge("agent_orphaned_interfaces", ["node"]) in "Interfaces";
        /// The fabric of the node
        fabrics: gauge("agent_fabric_count", ["node", "fabric"]);
        /// Repairs of the node's switch, by kind
        repairs: counter("agent_fabric_repairs", ["node", "kind"]);
        /// Whether the switch answers
        reachable: flag("agent_switch_reachable", ["node"]);
        /// Number of ports of interfaces
        ports: gauge("agent_switch_ports", ["node"]) in "Switch";
        /// Number of flows of the switch
        flows: gauge("agent_switch_flows", ["node"]) in "Switch";
        /// Run time of attachment programs
        exec: seconds(
            "agent_attachment_exec_duration_secs", ["node", "what", "exitStatus", "lgComplaints"], END_TO_END
        );
        /// Exit statuses of attachment programs
        execs: counter("agent_attachment_exec_status_count", ["node", "what", "exitStatus", "lgComplaints"]);
    }
}

impl AgentMetrics {
    /// Returns the metrics of one node.
    #[must_use]
    pub fn of(&self, node: &str, fabric: &str) -> AgentNode {
        self.fabrics.add([node, fabric], 1);
        AgentNode { all: self.clone(), node: node.into() }
    }
}

/// The metrics of one node. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AgentNode {
    all: AgentMetrics,
    node: Arc<str>,
}

impl AgentNode {
    /// Records a fabric call.
    pub(crate) fn called(&self, since: Instant, op: &str, result: &Result<(), FabricError>) {
        self.all.fabric.observe([&self.node, op, ok(result)], since.elapsed().as_secs_f64());
    }

    /// Records the repairs of a reconciliation of the fabric.
    pub(crate) fn fabric_repaired(&self, repairs: &FabricRepairs) {
        for (kind, number) in repairs.by_kind().into_iter().filter(|(_, number)| *number > 0) {
            self.all.repairs.add([&self.node, kind], number as u64);
        }
    }

    /// Records the state of the switch.
    pub(crate) fn fabric_status(&self, status: &FabricStatus) {
        let node = [&*self.node];
        self.all.reachable.set(node, usize::from(status.is_reachable));
        self.all.ports.set(node, status.ports);
        self.all.flows.set(node, status.flows);
        self.all.broken.set(node, status.broken.len());
    }

    /// Records the number of interfaces without owner.
    pub(crate) fn orphans(&self, number: usize) {
        self.all.orphans.set([&self.node], number);
    }

    /// Records the creation or deletion of an interface.
    pub(crate) fn interface_count(&self, interface: &Interface, exists: bool) {
        let level = match interface {
            Interface::Local(_) => &self.all.locals,
            Interface::Remote(_) => &self.all.remotes,
        };
        level.add([&self.node], if exists { 1 } else { -1 });
    }

    /// Records the latency of a new local interface.
    pub(crate) fn local_created(&self, of: &NetworkAttachment) {
        if let (true, Some(last)) = (of.status.ifc_name.is_empty(), last_write(of)) {
            self.all.local.observe([&self.node, last.by.name()], last.until(Timestamp::now()));
        }
    }

    /// Records the latency of a new remote interface. `first` is the write that made the node watch
    /// its network.
    pub(crate) fn remote_created(&self, peer: &Peer, first: Option<LastWrite>) {
        let (spec, subnet) = (peer.extended_metadata.spec.time(), peer.status.subnet_creation_time.time());
        let Some(last) = LastWrite::of(spec, subnet).map(|last| last.or_first_local(first)) else { return };
        let now = Timestamp::now();
        self.all.remote.observe([&self.node, last.by.name()], last.until(now));
        if let (true, Some(implemented)) = (last.by.is_own(), peer.extended_metadata.implementation.time()) {
            self.all.implemented_to_remote.observe([&self.node, last.by.name()], seconds(implemented, now));
        }
    }

    /// Records a status write, and its latency if it is the first with an interface.
    pub(crate) fn status_written(
        &self,
        since: Instant,
        before: &NetworkAttachment,
        written: Result<&NetworkAttachment, &WriteError>,
        has_errors: bool,
    ) {
        let took = since.elapsed().as_secs_f64();
        self.all.update.observe([&self.node, truth(has_errors), outcome(written)], took);
        let Ok(after) = written else { return };
        let is_first = before.status.ifc_name.is_empty() && !after.status.ifc_name.is_empty();
        let then = after.extended_metadata.written(Section::Implementation);
        if let (true, Some(last), Some(then)) = (is_first, last_write(after), then) {
            self.all.status.observe([&self.node, last.by.name()], last.until(then));
        }
    }

    /// Records a program run.
    pub(crate) fn ran(&self, hook: &str, report: &ExecReport) {
        let complained = complaints_label(complaints(&report.std_out, &report.std_err)).to_string();
        let labels = [&*self.node, hook, &report.exit_status.to_string(), &complained];
        self.all.exec.observe(labels, seconds(report.start_time.0, report.stop_time.0));
        self.all.execs.count(labels);
    }
}

/// Returns the last client write that the interface of an attachment depends on.
pub(crate) fn last_write(of: &NetworkAttachment) -> Option<LastWrite> {
    let subnet = of.status.subnet_creation_time.as_ref().map(|time| time.0);
    LastWrite::of(of.extended_metadata.written(Section::Spec), subnet)
}
