//! The numbers of nodes.

use std::sync::Arc;

use jiff::Timestamp;
use machinery::objects::WriteError;
use machinery::tokio::time::Instant;

use super::series::{CALL, Counts, END_TO_END, Levels, Listed, Times};
use super::{ok, outcome, truth};
use crate::drive::FabricError;
use crate::model::{ExecReport, NetworkAttachment, Peer, Section};
use crate::plan::{Interface, LastWrite, complaints, complaints_label, seconds};

/// What is seen on nodes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AgentMetrics(Arc<All>);

#[derive(Debug)]
struct All {
    local: Times<2>,
    remote: Times<2>,
    implemented_to_remote: Times<2>,
    said: Times<2>,
    fabric: Times<3>,
    update: Times<3>,
    locals: Levels<1>,
    remotes: Levels<1>,
    fabrics: Levels<2>,
    exec: Times<4>,
    execs: Counts<4>,
}

impl Default for AgentMetrics {
    fn default() -> Self {
        const EXEC: &[&str; 4] = &["node", "what", "exitStatus", "lgComplaints"];
        Self(Arc::new(All {
            local: Times::seconds(
                "agent_last_client_write_to_local_ifc_latency_seconds",
                "From what a client wrote last until the interface is made, the first time; to the clock of the node",
                END_TO_END,
                &["node", "last_client_wr"],
            ),
            remote: Times::seconds(
                "agent_last_client_write_to_remote_ifc_latency_seconds",
                "From what a client wrote last until the way to an interface on another node is made; to the clock of this one",
                END_TO_END,
                &["node", "last_client_wr"],
            ),
            implemented_to_remote: Times::seconds(
                "agent_attachment_impl_to_remote_ifc_latency_seconds",
                "From when another node says that it has an interface until the way to it is made, where its network mattered before",
                END_TO_END,
                &["node", "last_client_wr"],
            ),
            said: Times::seconds(
                "agent_last_client_write_to_status_update_latency_seconds",
                "From what a client wrote last until the status tells of the interface, the first time, by the server's clock",
                END_TO_END,
                &["node", "last_client_wr"],
            ),
            fabric: Times::seconds(
                "agent_fabric_latency_seconds",
                "How long the fabric takes",
                CALL,
                &["node", "op", "err"],
            ),
            update: Times::seconds(
                "agent_attachment_status_latency_seconds",
                "How long writes of the status of an attachment take",
                END_TO_END,
                &["node", "statusErr", "err"],
            ),
            locals: Levels::gauge("agent_local_attachments", "Interfaces that are here", &["node"]),
            remotes: Levels::gauge("agent_remote_attachments", "Ways to interfaces elsewhere", &["node"]),
            fabrics: Levels::gauge("agent_fabric_count", "Which fabric it is", &["node", "fabric"]),
            exec: Times::seconds(
                "agent_attachment_exec_duration_secs",
                "How long programs of attachments ran",
                END_TO_END,
                EXEC,
            ),
            execs: Counts::counter(
                "agent_attachment_exec_status_count",
                "How programs of attachments ended",
                EXEC,
            ),
        }))
    }
}

impl AgentMetrics {
    pub(super) fn list(&self) -> Vec<Listed> {
        let All {
            local,
            remote,
            implemented_to_remote,
            said,
            fabric,
            update,
            locals,
            remotes,
            fabrics,
            exec,
            execs,
        } = &*self.0;
        let ends = [local, remote, implemented_to_remote, said].map(Times::listed);
        let calls = [fabric.listed(), update.listed(), locals.listed(), remotes.listed(), fabrics.listed()];
        ends.into_iter().chain(calls).chain([exec.listed(), execs.listed()]).collect()
    }

    /// Those of one node.
    #[must_use]
    pub fn of(&self, node: &str, fabric: &str) -> AgentNode {
        self.0.fabrics.add([node, fabric], 1);
        AgentNode { all: self.0.clone(), node: node.into() }
    }
}

/// What is seen on one node. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AgentNode {
    all: Arc<All>,
    node: Arc<str>,
}

impl AgentNode {
    /// The fabric was called.
    pub(crate) fn called(&self, since: Instant, op: &str, result: &Result<(), FabricError>) {
        self.all.fabric.saw([&self.node, op, ok(result)], since.elapsed().as_secs_f64());
    }

    /// An interface is there, or is gone.
    pub(crate) fn has(&self, interface: &Interface, is_there: bool) {
        let level = match interface {
            Interface::Local(_) => &self.all.locals,
            Interface::Remote(_) => &self.all.remotes,
        };
        level.add([&self.node], if is_there { 1 } else { -1 });
    }

    /// An interface was made.
    pub(crate) fn made(&self, of: &NetworkAttachment) {
        if let (true, Some(last)) = (of.status.ifc_name.is_empty(), last_write(of)) {
            self.all.local.saw([&self.node, last.by.name()], last.until(Timestamp::now()));
        }
    }

    /// The way to another node's was made. `first` made its network matter here.
    pub(crate) fn knows(&self, peer: &Peer, first: Option<LastWrite>) {
        let (spec, subnet) = (peer.extended_metadata.spec.time(), peer.status.subnet_creation_time.time());
        let Some(last) = LastWrite::of(spec, subnet).map(|last| last.or_first_here(first)) else { return };
        let now = Timestamp::now();
        self.all.remote.saw([&self.node, last.by.name()], last.until(now));
        if let (true, Some(implemented)) = (last.by.is_own(), peer.extended_metadata.implementation.time()) {
            self.all.implemented_to_remote.saw([&self.node, last.by.name()], seconds(implemented, now));
        }
    }

    /// A status was written; what is there now, if it went well.
    pub(crate) fn said(
        &self,
        since: Instant,
        before: &NetworkAttachment,
        written: Result<&NetworkAttachment, &WriteError>,
        has_errors: bool,
    ) {
        let took = since.elapsed().as_secs_f64();
        self.all.update.saw([&self.node, truth(has_errors), outcome(written)], took);
        let Ok(after) = written else { return };
        let is_first = before.status.ifc_name.is_empty() && !after.status.ifc_name.is_empty();
        let then = after.extended_metadata.written(Section::Implementation);
        if let (true, Some(last), Some(then)) = (is_first, last_write(after), then) {
            self.all.said.saw([&self.node, last.by.name()], last.until(then));
        }
    }

    /// A program has run.
    pub(crate) fn ran(&self, what: &str, report: &ExecReport) {
        let complained = complaints_label(complaints(&report.std_out, &report.std_err)).to_string();
        let labels = [&*self.node, what, &report.exit_status.to_string(), &complained];
        self.all.exec.saw(labels, seconds(report.start_time.0, report.stop_time.0));
        self.all.execs.count(labels);
    }
}

/// What a client wrote last for an attachment to have an interface.
pub(crate) fn last_write(of: &NetworkAttachment) -> Option<LastWrite> {
    let subnet = of.status.subnet_creation_time.as_ref().map(|time| time.0);
    LastWrite::of(of.extended_metadata.written(Section::Spec), subnet)
}
