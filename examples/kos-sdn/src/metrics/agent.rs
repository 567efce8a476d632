//! Metrics of node agents.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinery::objects::WriteError;
use machinery::tokio::time::Instant;

use super::series::{CALL, CounterSeries, END_TO_END, GaugeSeries, HistogramSeries, MetricEntry};
use super::{ok, outcome, truth};
use crate::drive::FabricStatus;
use crate::model::{ExecReport, NetworkAttachment, Peer, Section};
use crate::plan::{Interface, LastWrite, complaints, complaints_label, seconds};

/// The metrics of all nodes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AgentMetrics(Arc<AgentSeries>);

#[derive(Debug)]
struct AgentSeries {
    local: HistogramSeries<2>,
    remote: HistogramSeries<2>,
    implemented_to_remote: HistogramSeries<2>,
    status: HistogramSeries<2>,
    fabric: HistogramSeries<3>,
    update: HistogramSeries<3>,
    locals: GaugeSeries<1>,
    remotes: GaugeSeries<1>,
    fabrics: GaugeSeries<2>,
    repairs: CounterSeries<2>,
    reachable: GaugeSeries<1>,
    ports: GaugeSeries<1>,
    flows: GaugeSeries<1>,
    broken: GaugeSeries<1>,
    orphans: GaugeSeries<1>,
    exec: HistogramSeries<4>,
    execs: CounterSeries<4>,
}

impl Default for AgentMetrics {
    fn default() -> Self {
        const EXEC: &[&str; 4] = &["node", "what", "exitStatus", "lgComplaints"];
        Self(Arc::new(AgentSeries {
            local: HistogramSeries::seconds(
                "agent_last_client_write_to_local_ifc_latency_seconds",
                "Time from the last client write until the interface is created, first time only; by the clock of the node",
                END_TO_END,
                &["node", "last_client_wr"],
            ),
            remote: HistogramSeries::seconds(
                "agent_last_client_write_to_remote_ifc_latency_seconds",
                "Time from the last client write until a remote interface is created; by the clock of this node",
                END_TO_END,
                &["node", "last_client_wr"],
            ),
            implemented_to_remote: HistogramSeries::seconds(
                "agent_attachment_impl_to_remote_ifc_latency_seconds",
                "Time from the report of an interface by its node until the remote interface is created, in networks watched before",
                END_TO_END,
                &["node", "last_client_wr"],
            ),
            status: HistogramSeries::seconds(
                "agent_last_client_write_to_status_update_latency_seconds",
                "Time from the last client write until the status has the interface, first time only; by the server's clock",
                END_TO_END,
                &["node", "last_client_wr"],
            ),
            fabric: HistogramSeries::seconds(
                "agent_fabric_latency_seconds",
                "Duration of fabric calls",
                CALL,
                &["node", "op", "err"],
            ),
            update: HistogramSeries::seconds(
                "agent_attachment_status_latency_seconds",
                "Duration of status writes of attachments",
                END_TO_END,
                &["node", "statusErr", "err"],
            ),
            locals: GaugeSeries::gauge("agent_local_attachments", "Number of local interfaces", &["node"]),
            remotes: GaugeSeries::gauge("agent_remote_attachments", "Number of remote interfaces", &["node"]),
            fabrics: GaugeSeries::gauge("agent_fabric_count", "The fabric of the node", &["node", "fabric"]),
            repairs: CounterSeries::counter(
                "agent_fabric_repairs",
                "Repairs of the node's switch, by kind",
                &["node", "kind"],
            ),
            reachable: GaugeSeries::gauge("agent_switch_reachable", "Whether the switch answers", &["node"]),
            ports: GaugeSeries::gauge("agent_switch_ports", "Number of ports of interfaces", &["node"]),
            flows: GaugeSeries::gauge("agent_switch_flows", "Number of flows of the switch", &["node"]),
            broken: GaugeSeries::gauge(
                "agent_broken_interfaces",
                "Number of interfaces that do not work",
                &["node"],
            ),
            orphans: GaugeSeries::gauge(
                "agent_orphaned_interfaces",
                "Number of interfaces without owner that could not be deleted yet",
                &["node"],
            ),
            exec: HistogramSeries::seconds(
                "agent_attachment_exec_duration_secs",
                "Run time of attachment programs",
                END_TO_END,
                EXEC,
            ),
            execs: CounterSeries::counter(
                "agent_attachment_exec_status_count",
                "Exit statuses of attachment programs",
                EXEC,
            ),
        }))
    }
}

impl AgentMetrics {
    pub(super) fn list(&self) -> Vec<MetricEntry> {
        let AgentSeries {
            local,
            remote,
            implemented_to_remote,
            status,
            fabric,
            update,
            locals,
            remotes,
            fabrics,
            repairs,
            reachable,
            ports,
            flows,
            broken,
            orphans,
            exec,
            execs,
        } = &*self.0;
        let ends = [local, remote, implemented_to_remote, status].map(HistogramSeries::listed);
        let calls = [fabric.listed(), update.listed(), locals.listed(), remotes.listed(), fabrics.listed()];
        let switch = [reachable, ports, flows, broken, orphans].map(GaugeSeries::listed);
        ends.into_iter()
            .chain(calls)
            .chain([repairs.listed()])
            .chain(switch)
            .chain([exec.listed(), execs.listed()])
            .collect()
    }

    /// Returns the metrics of one node.
    #[must_use]
    pub fn of(&self, node: &str, fabric: &str) -> AgentNode {
        self.0.fabrics.add([node, fabric], 1);
        AgentNode { all: self.0.clone(), node: node.into() }
    }
}

/// The metrics of one node. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AgentNode {
    all: Arc<AgentSeries>,
    node: Arc<str>,
}

impl AgentNode {
    /// Records a fabric call.
    pub(crate) fn called<T, E>(&self, since: Instant, op: &str, result: &Result<T, E>) {
        self.all.fabric.observe([&self.node, op, ok(result)], since.elapsed().as_secs_f64());
    }

    /// Records the repairs of the fabric since the last call.
    pub(crate) fn fabric_repaired(
        &self,
        before: &BTreeMap<&'static str, u64>,
        now: &BTreeMap<&'static str, u64>,
    ) {
        for (kind, number) in now {
            let more = number - before.get(kind).copied().unwrap_or_default();
            if more > 0 {
                self.all.repairs.add([&self.node, *kind], more);
            }
        }
    }

    /// Records the state of the switch.
    pub(crate) fn fabric_status(&self, status: &FabricStatus, broken: usize) {
        let node = [&*self.node];
        self.all.reachable.set(node, usize::from(status.is_reachable));
        self.all.ports.set(node, status.ports);
        self.all.flows.set(node, status.flows);
        self.all.broken.set(node, broken);
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
