//! Scopes of a quota: it is only about the objects that all its scopes select.

use serde_json::Value;

use super::usage::{MeasuredKind, ObjectUsage, ScopeFacts};

/// The scopes of a quota, from `spec.scopes` and `spec.scopeSelector`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct QuotaScopes<'q>(Vec<ScopeSelector<'q>>);

#[derive(Debug, PartialEq, Eq)]
struct ScopeSelector<'q> {
    scope: &'q str,
    operator: &'q str,
    values: Vec<&'q str>,
}

impl<'q> QuotaScopes<'q> {
    /// Reads the scopes of a quota.
    pub(crate) fn of(quota: &'q Value) -> Self {
        let spec = &quota["spec"];
        let named = texts(&spec["scopes"]).map(|scope| ScopeSelector {
            scope,
            operator: "Exists",
            values: Vec::new(),
        });
        let expressions = spec["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten();
        let selected = expressions.map(|one| ScopeSelector {
            scope: one["scopeName"].as_str().unwrap_or_default(),
            operator: one["operator"].as_str().unwrap_or_default(),
            values: texts(&one["values"]).collect(),
        });
        Self(named.chain(selected).collect())
    }

    /// Returns whether the quota is about all objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the scopes can select objects of a kind.
    pub(crate) fn fit(&self, kind: Option<MeasuredKind>) -> bool {
        self.is_empty() || matches!(kind, Some(MeasuredKind::Pod | MeasuredKind::Claim))
    }

    /// Returns whether every scope selects an object.
    pub(crate) fn select(&self, usage: &ObjectUsage) -> bool {
        self.0.iter().all(|selector| selector.selects(&usage.facts))
    }
}

impl ScopeSelector<'_> {
    fn selects(&self, facts: &ScopeFacts) -> bool {
        match facts {
            ScopeFacts::None => false,
            ScopeFacts::Pod { best_effort, terminating, priority_class, cross_namespace } => match self.scope
            {
                "BestEffort" => *best_effort,
                "NotBestEffort" => !best_effort,
                "Terminating" => *terminating,
                "NotTerminating" => !terminating,
                "CrossNamespacePodAffinity" => *cross_namespace,
                "PriorityClass" => self.accepts(Some(&**priority_class).filter(|class| !class.is_empty())),
                _ => false,
            },
            ScopeFacts::Claim(classes) if self.scope == "VolumeAttributesClass" => match &**classes {
                [] => self.accepts(None),
                classes => classes.iter().any(|class| self.accepts(Some(&**class))),
            },
            ScopeFacts::Claim(_) => false,
        }
    }

    /// Returns whether the operator accepts the value of an object, as a label selector would.
    fn accepts(&self, value: Option<&str>) -> bool {
        let is_listed = || value.is_some_and(|value| self.values.contains(&value));
        match self.operator {
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "In" => is_listed(),
            "NotIn" => !is_listed(),
            _ => false,
        }
    }
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(spec: &Value, kind: MeasuredKind, object: &Value) -> bool {
        let quota = json!({"spec": spec});
        QuotaScopes::of(&quota).select(&ObjectUsage::of(kind, object))
    }

    #[test]
    fn all_scopes_of_a_quota_select_together() {
        let check = |scopes: Value, pod: Value, expected: bool| {
            let selected = selects(&json!({"scopes": scopes}), MeasuredKind::Pod, &json!({"spec": pod}));
            assert_eq!(selected, expected, "{scopes} {pod}");
        };
        check(json!([]), json!({}), true);
        check(json!(["BestEffort"]), json!({}), true);
        check(json!(["NotBestEffort"]), json!({}), false);
        check(json!(["BestEffort", "Terminating"]), json!({}), false);
        check(json!(["BestEffort", "Terminating"]), json!({"activeDeadlineSeconds": 5}), true);
        check(json!(["NotTerminating"]), json!({}), true);
        check(json!(["CrossNamespacePodAffinity"]), json!({}), false);
        check(json!(["VolumeAttributesClass"]), json!({}), false);
    }

    #[test]
    fn priority_classes_are_selected_by_operators() {
        let check = |operator: &str, values: Value, class: Option<&str>, expected: bool| {
            let one = json!({"scopeName": "PriorityClass", "operator": operator, "values": values});
            let spec = json!({"scopeSelector": {"matchExpressions": [one]}});
            let pod = json!({"spec": {"priorityClassName": class}});
            assert_eq!(selects(&spec, MeasuredKind::Pod, &pod), expected, "{one} {class:?}");
        };
        check("In", json!(["a", "b"]), Some("b"), true);
        check("In", json!(["a", "b"]), Some("c"), false);
        check("In", json!(["a"]), None, false);
        check("NotIn", json!(["a"]), Some("a"), false);
        check("NotIn", json!(["a"]), Some("b"), true);
        check("NotIn", json!(["a"]), None, true);
        check("Exists", json!(null), Some("a"), true);
        check("Exists", json!(null), None, false);
        check("DoesNotExist", json!(null), None, true);
        check("DoesNotExist", json!(null), Some("a"), false);
    }

    #[test]
    fn a_claim_is_selected_by_any_of_its_classes() {
        let one = json!({"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]});
        let spec = json!({"scopeSelector": {"matchExpressions": [one]}});
        let status = json!({"currentVolumeAttributesClassName": "gold"});
        let claim = json!({"spec": {"volumeAttributesClassName": "silver"}, "status": status});
        assert!(selects(&spec, MeasuredKind::Claim, &claim));
        assert!(!selects(
            &spec,
            MeasuredKind::Claim,
            &json!({"spec": {"volumeAttributesClassName": "silver"}})
        ));
        assert!(!selects(&spec, MeasuredKind::Claim, &json!({"spec": {}})));
        assert!(!selects(&json!({"scopes": ["BestEffort"]}), MeasuredKind::Claim, &claim));
        assert!(!selects(&json!({"scopes": ["BestEffort"]}), MeasuredKind::Service, &json!({})));
    }
}
