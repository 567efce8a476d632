//! Counters of the audit log's events.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// Counters of audit events: in total, lost by plugin, and by level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audited {
    events: Counter,
    lost: Family<Plugin, Counter>,
    levels: Family<LevelLabel, Counter>,
    /// Requests that were refused because they could not be logged.
    pub(crate) rejected: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Plugin {
    plugin: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LevelLabel {
    level: &'static str,
}

impl Audited {
    pub(crate) fn written(&self, events: usize) {
        self.events.inc_by(events as u64);
    }

    pub(crate) fn lost(&self, events: usize) {
        self.written(events);
        self.lost.get_or_create(&Plugin { plugin: "log" }).inc_by(events as u64);
    }

    pub(crate) fn level(&self, level: &'static str) {
        self.levels.get_or_create(&LevelLabel { level }).inc();
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("apiserver_audit_event", "Events of the audit log", self.events.clone());
        registry.register("apiserver_audit_error", "Events that could not be written", self.lost.clone());
        registry.register(
            "apiserver_audit_level",
            "Requests, by how much the policy says of them",
            self.levels.clone(),
        );
        let help = "Requests that were refused because they could not be logged";
        registry.register("apiserver_audit_requests_rejected", help, self.rejected.clone());
    }
}
