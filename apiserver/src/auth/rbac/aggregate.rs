//! Aggregated roles: ClusterRoles that combine those selected by their `aggregationRule`.

use std::collections::{BTreeMap, BTreeSet};

use machinery_objects::{LabelSelector, Requirement};
use serde_json::Value;

use super::rule::PolicyRule;

/// Returns the rules of each ClusterRole, by name.
///
/// The own rules of an aggregated role are ignored. It has the rules of the roles that it selects,
/// transitively, in the order of their names, without duplicates.
pub(super) fn rules_of(roles: &BTreeMap<&str, &Value>) -> BTreeMap<String, Vec<PolicyRule>> {
    let selectors: BTreeMap<_, _> = roles
        .iter()
        .filter_map(|(name, role)| {
            Some((*name, selectors(role.get("aggregationRule").filter(|it| !it.is_null())?)))
        })
        .collect();
    roles
        .iter()
        .map(|(name, role)| {
            let rules = match selectors.contains_key(name) {
                true => gathered(name, roles, &selectors),
                false => PolicyRule::read_all(role).collect(),
            };
            ((*name).to_owned(), rules)
        })
        .collect()
}

fn gathered(
    name: &str,
    roles: &BTreeMap<&str, &Value>,
    selectors: &BTreeMap<&str, Vec<LabelSelector>>,
) -> Vec<PolicyRule> {
    let (mut seen, mut open, mut plain) = (BTreeSet::from([name]), vec![name], BTreeSet::new());
    while let Some(name) = open.pop() {
        let Some(of) = selectors.get(name) else {
            plain.insert(name);
            continue;
        };
        for (other, role) in roles {
            if of.iter().any(|selector| selects(selector, role)) && seen.insert(other) {
                open.push(other);
            }
        }
    }
    let mut once = BTreeSet::new();
    let rules =
        plain.into_iter().filter_map(|name| roles.get(name)).flat_map(|role| PolicyRule::read_all(role));
    rules.filter(|rule| once.insert(rule.clone())).collect()
}

fn selects(selector: &LabelSelector, role: &Value) -> bool {
    let labels = role.pointer("/metadata/labels");
    selector.matches_by(|key| labels?.get(key)?.as_str())
}

/// An unreadable selector selects nothing: ignoring one of its conditions would select more.
fn selectors(aggregation: &Value) -> Vec<LabelSelector> {
    let selectors = aggregation.get("clusterRoleSelectors").and_then(Value::as_array);
    selectors.into_iter().flatten().filter_map(selector).collect()
}

pub(crate) fn selector(value: &Value) -> Option<LabelSelector> {
    let mut requirements = Vec::new();
    if let Some(labels) = present(value, "matchLabels") {
        for (key, value) in labels.as_object()? {
            requirements.push(Requirement::equals(key, value.as_str()?).ok()?);
        }
    }
    if let Some(expressions) = present(value, "matchExpressions") {
        for expression in expressions.as_array()? {
            let values = match present(expression, "values") {
                Some(values) => values.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?,
                None => Vec::new(),
            };
            let (key, operator) = (expression.get("key")?.as_str()?, expression.get("operator")?.as_str()?);
            requirements.push(Requirement::from_expression(key, operator, &values).ok()?);
        }
    }
    value.is_object().then(|| requirements.into_iter().collect())
}

fn present<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    value.get(field).filter(|it| !it.is_null())
}
