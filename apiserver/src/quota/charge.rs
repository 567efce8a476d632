//! The amounts that a write adds to quotas.

use serde_json::Value;

use super::usage::unspecified;
use super::{Limit, Measure, MeasuredKind, ObjectUsage, QuotaAmount, QuotaScopes};
use crate::kind::Kind;

/// The usage of an object before and after a write.
pub(super) struct QuotaCharge {
    /// Nothing for a kind of which only the number counts.
    kind: Option<MeasuredKind>,
    old: Option<ObjectUsage>,
    new: ObjectUsage,
    object: Value,
}

impl QuotaCharge {
    /// Returns the charge of a creation.
    pub(super) fn of_creation(kind: &Kind, object: Value) -> Self {
        let kind = MeasuredKind::of(kind);
        let new = kind.map(|kind| ObjectUsage::of(kind, &object)).unwrap_or_default();
        Self { kind, old: None, new, object }
    }

    /// Returns the charge of an update of a measured kind. A status is never charged: it reports
    /// facts.
    pub(super) fn of_update(kind: MeasuredKind, old: &Value, new: Value) -> Option<Self> {
        (old["spec"] != new["spec"]).then(|| Self {
            kind: Some(kind),
            old: Some(ObjectUsage::of(kind, old)),
            new: ObjectUsage::of(kind, &new),
            object: new,
        })
    }

    /// Returns whether the scopes of a quota select the new object.
    pub(super) fn is_selected_by(&self, scopes: &QuotaScopes<'_>) -> bool {
        scopes.is_empty() || (self.kind.is_some() && scopes.select(&self.new))
    }

    /// Returns the amount that the write adds to a limit of a quota with these scopes.
    pub(super) fn requested(&self, limit: &Limit<'_>, scopes: &QuotaScopes<'_>) -> QuotaAmount {
        let amount = |usage: &ObjectUsage| match (limit.what.measure, self.kind) {
            (Measure::Object, _) | (_, None) => QuotaAmount::ONE,
            (Measure::Unended | Measure::Usage, Some(_)) => usage.amount(limit.key),
        };
        let before = self.old.as_ref().filter(|old| scopes.select(old)).map_or(QuotaAmount::ZERO, amount);
        match self.is_selected_by(scopes) {
            true => amount(&self.new).minus(before),
            false => QuotaAmount::ZERO,
        }
    }

    /// Returns the keys of a quota that containers of a new pod do not specify. The quota refuses
    /// such a pod however much is left.
    pub(super) fn unspecified<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Option<String> {
        let is_new_pod = self.kind == Some(MeasuredKind::Pod) && self.old.is_none();
        is_new_pod.then(|| unspecified(&self.object, keys)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::native;
    use crate::quota::limits;

    fn service(kind: &str) -> Value {
        json!({"spec": {"type": kind, "ports": [{"port": 80}]}})
    }

    fn requested(charge: &QuotaCharge, quota: &Value) -> Vec<String> {
        let scopes = QuotaScopes::of(quota);
        limits(quota).iter().map(|limit| charge.requested(limit, &scopes).text()).collect()
    }

    #[test]
    fn an_update_is_charged_with_the_difference() {
        let quota = json!({"spec": {"hard": {"services": "5", "services.loadbalancers": "5", "services.nodeports": "5"}}});
        let check = |old: &str, new: &str, expected: [&str; 3]| {
            let charge = QuotaCharge::of_update(MeasuredKind::Service, &service(old), service(new)).unwrap();
            assert_eq!(requested(&charge, &quota), expected, "{old} {new}");
        };
        check("ClusterIP", "NodePort", ["0", "0", "1"]);
        check("NodePort", "LoadBalancer", ["0", "1", "0"]);
        check("LoadBalancer", "ClusterIP", ["0", "0", "0"]);
        let unchanged = service("NodePort");
        assert!(QuotaCharge::of_update(MeasuredKind::Service, &unchanged, unchanged.clone()).is_none());
    }

    #[test]
    fn an_update_into_the_scope_of_a_quota_is_charged_in_full() {
        let pod = |deadline: Value| {
            let requests = json!({"requests": {"cpu": "1"}});
            json!({"spec": {"containers": [{"name": "a", "resources": requests}], "activeDeadlineSeconds": deadline}})
        };
        let quota = json!({"spec": {"hard": {"cpu": "5", "pods": "5"}, "scopes": ["Terminating"]}});
        let charge = QuotaCharge::of_update(MeasuredKind::Pod, &pod(json!(null)), pod(json!(5))).unwrap();
        assert_eq!(requested(&charge, &quota), ["1", "1"]);
        let charge = QuotaCharge::of_update(MeasuredKind::Pod, &pod(json!(9)), pod(json!(5))).unwrap();
        assert_eq!(requested(&charge, &quota), ["0", "0"]);
        let charge = QuotaCharge::of_update(MeasuredKind::Pod, &pod(json!(9)), pod(json!(null))).unwrap();
        assert_eq!(requested(&charge, &quota), ["0", "0"]);
    }

    #[test]
    fn only_the_number_of_other_kinds_is_charged() {
        let charge = QuotaCharge::of_creation(&native::quota(), json!({"spec": {}}));
        let quota = json!({"spec": {"hard": {"resourcequotas": "1"}}});
        assert_eq!(requested(&charge, &quota), ["1"]);
        let scoped = json!({"spec": {"hard": {"count/resourcequotas": "1"}, "scopes": ["BestEffort"]}});
        assert_eq!(requested(&charge, &scoped), ["0"]);
    }
}
