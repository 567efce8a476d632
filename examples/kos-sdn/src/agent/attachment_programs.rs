//! Programs of attachments: post-create and post-delete, and their reports.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery::objects::ObjectKey;
use machinery::sync::Mutex;
use machinery::tokio::sync::mpsc;
use machinery::tokio_util::sync::CancellationToken;

use super::programs::{ProgramRunner, ProgramSettings};
use crate::metrics::AgentNode;
use crate::model::{ExecReport, NetworkAttachment};
use crate::plan::{ExecValues, LocalInterface, expand};

/// Runs the programs of attachments. Cheap to clone.
#[derive(Clone)]
pub(super) struct AttachmentPrograms(Arc<Inner>);

struct Inner {
    programs: ProgramRunner,
    metrics: AgentNode,
    records: Mutex<BTreeMap<ObjectKey, InterfaceRecord>>,
    reported: mpsc::Sender<ObjectKey>,
}

/// The state kept for an interface.
struct InterfaceRecord {
    local: LocalInterface,
    /// Report of the post-create program; for an adopted interface, the report in the status.
    report: Option<ExecReport>,
    /// Post-delete program, as of the latest spec.
    post_delete: Vec<String>,
}

impl AttachmentPrograms {
    /// Returns the runner, and a receiver of attachments with a new report.
    pub(super) fn new(
        settings: ProgramSettings,
        metrics: AgentNode,
        stopping: CancellationToken,
    ) -> (Self, mpsc::Receiver<ObjectKey>) {
        // Bounded: programs that end while it is full wait with their reports.
        let (reported, receiver) = mpsc::channel(settings.at_once.max(1));
        let programs = ProgramRunner::new(settings, stopping);
        (Self(Arc::new(Inner { programs, metrics, records: Mutex::default(), reported })), receiver)
    }

    /// Registers an adopted interface: the report in its status stays, and the program does not run
    /// again.
    pub(super) fn interface_adopted(&self, key: &ObjectKey, local: &LocalInterface, of: &NetworkAttachment) {
        self.keep(key, local, of, of.status.post_create_exec_report.clone());
    }

    /// Registers a new interface, and starts its post-create program if allowed.
    pub(super) fn interface_created(&self, key: &ObjectKey, local: &LocalInterface, of: &NetworkAttachment) {
        self.keep(key, local, of, None);
        let Some(command) = self.may_run("postCreate", &of.spec.post_create_exec, local) else { return };
        let (programs, key, local) = (self.clone(), key.clone(), local.clone());
        self.0.programs.start(command, async move |report| {
            programs.0.metrics.ran("postCreate", &report);
            let is_kept = match programs.0.records.lock().get_mut(&key) {
                // The attachment may have another interface by now.
                Some(kept) if kept.local == local => kept.report.replace(report).is_none(),
                _ => false,
            };
            if is_kept {
                // The receiver is dropped when the agent stops.
                let _ = programs.0.reported.send(key).await;
            }
        });
    }

    /// Removes an interface, and starts its post-delete program if allowed.
    pub(super) fn interface_deleted(&self, key: &ObjectKey) {
        let Some(InterfaceRecord { local, post_delete, .. }) = self.0.records.lock().remove(key) else {
            return;
        };
        let Some(command) = self.may_run("postDelete", &post_delete, &local) else { return };
        let (key, metrics) = (key.clone(), self.0.metrics.clone());
        self.0.programs.start(command, async move |report| {
            metrics.ran("postDelete", &report);
            let ExecReport { exit_status, std_out, std_err, .. } = report;
            tracing::info!(%key, exit_status, std_out, std_err, "the program for a deleted interface has run");
        });
    }

    /// Returns the report of an attachment on this node, and the errors of programs not allowed.
    pub(super) fn report_of(
        &self,
        key: &ObjectKey,
        of: &NetworkAttachment,
    ) -> (Option<ExecReport>, Vec<String>) {
        let execs = [("postCreate", &of.spec.post_create_exec), ("postDelete", &of.spec.post_delete_exec)];
        let wrong =
            execs.into_iter().filter_map(|(hook, exec)| self.0.programs.not_allowed(hook, exec)).collect();
        let mut records = self.0.records.lock();
        let Some(kept) = records.get_mut(key) else { return (None, wrong) };
        // When the interface is deleted, the attachment may be gone: the latest spec counts.
        kept.post_delete.clone_from(&of.spec.post_delete_exec);
        (kept.report.clone(), wrong)
    }

    /// Waits until no program runs; after cancellation, running programs are killed.
    pub(super) async fn drained(&self) {
        self.0.programs.drained().await;
    }

    fn keep(
        &self,
        key: &ObjectKey,
        local: &LocalInterface,
        of: &NetworkAttachment,
        report: Option<ExecReport>,
    ) {
        let kept =
            InterfaceRecord { local: local.clone(), report, post_delete: of.spec.post_delete_exec.clone() };
        self.0.records.lock().insert(key.clone(), kept);
    }

    fn may_run(&self, hook: &str, exec: &[String], local: &LocalInterface) -> Option<Vec<String>> {
        if exec.is_empty() || self.0.programs.not_allowed(hook, exec).is_some() {
            return None;
        }
        let (ipv4, mac) = (local.address.to_string(), local.mac.to_string());
        Some(expand(exec, &ExecValues { ifname: &local.name, ipv4: &ipv4, mac: &mac }))
    }
}
