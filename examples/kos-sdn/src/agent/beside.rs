//! The programs of attachments: which runs when, and what is kept of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery::objects::ObjectKey;
use machinery::sync::Mutex;
use machinery::tokio::sync::mpsc;
use machinery::tokio_util::sync::CancellationToken;

use super::programs::{ProgramSettings, Programs};
use crate::metrics::AgentNode;
use crate::model::{ExecReport, NetworkAttachment};
use crate::plan::{ExecValues, Local, expand};

/// What runs beside the interfaces of a node. Cheap to clone.
#[derive(Clone)]
pub(super) struct Beside(Arc<Inner>);

struct Inner {
    programs: Programs,
    metrics: AgentNode,
    kept: Mutex<BTreeMap<ObjectKey, Kept>>,
    reported: mpsc::Sender<ObjectKey>,
}

/// What is kept of an interface.
struct Kept {
    local: Local,
    /// What became of the program that ran when it was made; or, of one that was found, what was said of that.
    report: Option<ExecReport>,
    /// What runs when it is gone: as the attachment said last.
    at_end: Vec<String>,
}

impl Beside {
    /// And where it tells whose program has been reported of.
    pub(super) fn new(
        settings: ProgramSettings,
        metrics: AgentNode,
        stopping: CancellationToken,
    ) -> (Self, mpsc::Receiver<ObjectKey>) {
        let (reported, news) = mpsc::channel(settings.at_once.max(1));
        let programs = Programs::new(settings, stopping);
        (Self(Arc::new(Inner { programs, metrics, kept: Mutex::default(), reported })), news)
    }

    /// An interface was there already: what was said of its program stays, and that does not run again.
    pub(super) fn found(&self, key: &ObjectKey, local: &Local, of: &NetworkAttachment) {
        self.keep(key, local, of, of.status.post_create_exec_report.clone());
    }

    /// An interface was made: its program runs, if it has one that may.
    pub(super) fn made(&self, key: &ObjectKey, local: &Local, of: &NetworkAttachment) {
        self.keep(key, local, of, None);
        let Some(command) = self.may_run("postCreate", &of.spec.post_create_exec, local) else { return };
        let (beside, key, local) = (self.clone(), key.clone(), local.clone());
        self.0.programs.start(command, async move |report| {
            beside.0.metrics.ran("postCreate", &report);
            let is_kept = match beside.0.kept.lock().get_mut(&key) {
                // Not of one that was made for the same attachment since.
                Some(kept) if kept.local == local => kept.report.replace(report).is_none(),
                _ => false,
            };
            if is_kept {
                // Nobody listens any more when the agent ends.
                let _ = beside.0.reported.send(key).await;
            }
        });
    }

    /// An interface is gone: the program for that runs, if it has one that may.
    pub(super) fn gone(&self, key: &ObjectKey) {
        let Some(Kept { local, at_end, .. }) = self.0.kept.lock().remove(key) else { return };
        let Some(command) = self.may_run("postDelete", &at_end, &local) else { return };
        let (key, metrics) = (key.clone(), self.0.metrics.clone());
        self.0.programs.start(command, async move |report| {
            metrics.ran("postDelete", &report);
            let ExecReport { exit_status, std_out, std_err, .. } = report;
            tracing::info!(%key, exit_status, std_out, std_err, "the program for a deleted interface has run");
        });
    }

    /// What is to be said of an attachment of this node: what became of its program, and which of its programs may not run.
    pub(super) fn says(&self, key: &ObjectKey, of: &NetworkAttachment) -> (Option<ExecReport>, Vec<String>) {
        let execs = [("postCreate", &of.spec.post_create_exec), ("postDelete", &of.spec.post_delete_exec)];
        let wrong =
            execs.into_iter().filter_map(|(what, exec)| self.0.programs.not_allowed(what, exec)).collect();
        let mut kept = self.0.kept.lock();
        let Some(kept) = kept.get_mut(key) else { return (None, wrong) };
        kept.at_end.clone_from(&of.spec.post_delete_exec);
        (kept.report.clone(), wrong)
    }

    /// When nothing runs any more: what did was killed, if this was told to stop.
    pub(super) async fn ended(&self) {
        self.0.programs.ended().await;
    }

    fn keep(&self, key: &ObjectKey, local: &Local, of: &NetworkAttachment, report: Option<ExecReport>) {
        let kept = Kept { local: local.clone(), report, at_end: of.spec.post_delete_exec.clone() };
        self.0.kept.lock().insert(key.clone(), kept);
    }

    fn may_run(&self, what: &str, exec: &[String], local: &Local) -> Option<Vec<String>> {
        if exec.is_empty() || self.0.programs.not_allowed(what, exec).is_some() {
            return None;
        }
        let (ipv4, mac) = (local.address.to_string(), local.mac.to_string());
        Some(expand(exec, &ExecValues { ifname: &local.name, ipv4: &ipv4, mac: &mac }))
    }
}
