//! Validation of ResourceQuotas, in the words of Kubernetes.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::names::{SCOPES, fits, is_standard, is_whole};
use crate::bounded::{FieldErrors, short};
use crate::builtin::quantity::{self, IntegerQuantity};
use crate::invalid::{FieldError, Problem};
use crate::json::go_json;
use crate::kind::KindHooks;
use crate::meta::names::label_key;

/// The validation of the kind ResourceQuota.
pub(crate) struct ResourceQuotas;

impl KindHooks for ResourceQuotas {
    fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let spec = &new["spec"];
        let mut errors: FieldErrors = amounts(&spec["hard"], "spec.hard").into_iter().collect();
        errors.extend(scopes(spec));
        errors.extend(selector(spec));
        if old.is_some_and(|old| set(&old["spec"]["scopes"]) != set(&spec["scopes"])) {
            errors.push(of_scopes("spec.scopes", spec, "field is immutable"));
        }
        errors.extend(amounts(&new["status"]["hard"], "status.hard"));
        errors.extend(amounts(&new["status"]["used"], "status.used"));
        errors.into_list()
    }
}

fn amounts(amounts: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    for (key, amount) in amounts.as_object().into_iter().flatten() {
        let mut wrong = |problem, detail: &str| {
            errors.push(FieldError::new(format!("{at}[{}]", short(key)), problem, detail));
        };
        let invalid = || Problem::Invalid(key.as_str().into());
        let unnamed = label_key(key);
        unnamed.iter().for_each(|why| wrong(invalid(), why));
        if !key.contains('/') && !is_standard(key) {
            // Compute resources and storage requests are not object counts.
            if unnamed.is_empty() && key != "storage" {
                wrong(invalid(), "must be a standard resource type or fully qualified");
            }
            wrong(invalid(), "must be a standard resource for quota");
        }
        let text = quantity::text(amount);
        match quantity::whole(&text) {
            IntegerQuantity::Negative => {
                let canonical = quantity::canonical(&text).unwrap_or_else(|_| text.to_string());
                wrong(Problem::Invalid(canonical.into()), "must be greater than or equal to 0");
            }
            IntegerQuantity::Broken if is_whole(key, |name| label_key(name).is_empty()) => {
                wrong(Problem::Invalid(amount.clone()), "must be an integer");
            }
            IntegerQuantity::Broken | IntegerQuantity::Number(_) => {}
        }
    }
    errors.into_list()
}

fn scopes(spec: &Value) -> Vec<FieldError> {
    let at = "spec.scopes";
    let mut errors = FieldErrors::default();
    for scope in texts(&spec["scopes"]) {
        if !SCOPES.contains(&scope) {
            errors.add(|| of_scopes(at, spec, "unsupported scope"));
        }
        for _ in keys(spec).filter(|key| is_standard(key) && !fits(scope, key)) {
            errors.add(|| of_scopes(at, spec, "unsupported scope applied to resource"));
        }
    }
    for _ in 0..conflicts(&set(&spec["scopes"])) {
        errors.add(|| of_scopes(at, spec, "conflicting scopes"));
    }
    errors.into_list()
}

fn selector(spec: &Value) -> Vec<FieldError> {
    let at = "spec.scopeSelector.matchExpressions";
    let of = |field: &str, value: &Value, detail: &str| {
        FieldError::new(format!("{at}.{field}"), Problem::Invalid(value.clone()), detail)
    };
    let expressions = || spec["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten();
    let mut errors = FieldErrors::default();
    for one in expressions() {
        let scope = one["scopeName"].as_str().unwrap_or_default();
        let operator = one["operator"].as_str().unwrap_or_default();
        let has_values = texts(&one["values"]).next().is_some();
        if !SCOPES.contains(&scope) {
            errors.push(of("scopeName", &scope.into(), "unsupported scope"));
        }
        for _ in keys(spec).filter(|key| is_standard(key) && !fits(scope, key)) {
            errors.add(|| {
                let problem = Problem::InvalidAs(as_go_has_it(&spec["scopeSelector"]));
                FieldError::new(at, problem, "unsupported scope applied to resource")
            });
        }
        if EXIST.contains(&scope) && operator != "Exists" {
            errors.push(of("operator", &operator.into(), ONLY_EXISTS));
        }
        match operator {
            "In" | "NotIn" if !has_values => {
                let detail =
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.push(FieldError::new(format!("{at}.values"), Problem::Required, detail));
            }
            "Exists" | "DoesNotExist" if has_values => {
                let detail =
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                errors.add(|| of("values", &one["values"], detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(of("operator", &operator.into(), "not a valid selector operator")),
        }
    }
    let named = expressions().filter_map(|one| one["scopeName"].as_str()).collect();
    errors.extend((0..conflicts(&named)).map(|_| of_scopes(at, spec, "conflicting scopes")));
    errors.into_list()
}

const EXIST: [&str; 5] =
    ["BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "Terminating"];
const ONLY_EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, \
     ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

/// Counts the pairs of mutually exclusive scopes.
fn conflicts(scopes: &BTreeSet<&str>) -> usize {
    let pairs = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
    pairs.iter().filter(|pair| pair.iter().all(|scope| scopes.contains(scope))).count()
}

fn of_scopes(at: &str, spec: &Value, detail: &str) -> FieldError {
    FieldError::new(at, Problem::Invalid(spec["scopes"].clone()), detail)
}

/// A selector as Kubernetes prints it: by the names that the fields have in Go.
fn as_go_has_it(selector: &Value) -> String {
    let one = |one: &Value| {
        let text = |field: &str| go_json(&one[field].as_str().unwrap_or_default().into());
        let (scope, operator, values) = (text("scopeName"), text("operator"), go_json(&one["values"]));
        format!(r#"{{"ScopeName":{scope},"Operator":{operator},"Values":{values}}}"#)
    };
    let all: Vec<String> = selector["matchExpressions"].as_array().into_iter().flatten().map(one).collect();
    format!(r#"{{"MatchExpressions":[{}]}}"#, all.join(","))
}

fn keys(spec: &Value) -> impl Iterator<Item = &str> {
    spec["hard"].as_object().into_iter().flat_map(Map::keys).map(String::as_str)
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn set(list: &Value) -> BTreeSet<&str> {
    texts(list).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(spec: Value, expected: &[&str]) {
        let found = ResourceQuotas.validate(&json!({"spec": spec}), None);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn quotas_valid_in_kubernetes_are_accepted() {
        check(json!({}), &[]);
        let hard = json!({
            "count/widgets.example.com": "1k", "pods": "5", "cpu": "1500m", "requests.storage": "1Gi", "hugepages-2Mi": "4Mi",
            "requests.hugepages-1Gi": "1Gi", "requests.example.com/gpu": "500m", "services.nodeports": "0", "secrets": "1e3",
        });
        check(json!({"hard": hard}), &[]);
        let expression = json!({"scopeName": "PriorityClass", "operator": "In", "values": ["high"]});
        check(json!({"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [expression]}}), &[]);
        check(json!({"hard": {"pods": "1"}, "scopes": ["BestEffort", "Terminating"]}), &[]);
    }

    #[test]
    fn errors_name_keys_and_amounts() {
        let name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                    character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
        check(
            json!({"hard": {"count/": "1", "gadgets": "1", "storage": "1"}}),
            &[
                r#"spec.hard[count/]: Invalid value: "count/": name part must be non-empty"#,
                &format!(r#"spec.hard[count/]: Invalid value: "count/": {name}"#),
                r#"spec.hard[gadgets]: Invalid value: "gadgets": must be a standard resource type or fully qualified"#,
                r#"spec.hard[gadgets]: Invalid value: "gadgets": must be a standard resource for quota"#,
                r#"spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota"#,
            ],
        );
        check(
            json!({"hard": {"count/secrets": "1500m", "cpu": "-500m", "pods": "-1", "services": "1n"}}),
            &[
                r#"spec.hard[count/secrets]: Invalid value: "1500m": must be an integer"#,
                r#"spec.hard[cpu]: Invalid value: "-500m": must be greater than or equal to 0"#,
                r#"spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0"#,
                r#"spec.hard[services]: Invalid value: "1n": must be an integer"#,
            ],
        );
    }

    #[test]
    fn scopes_must_fit_their_keys() {
        let at = "spec.scopes: Invalid value";
        check(
            json!({"hard": {"secrets": "1"}, "scopes": ["Terminating", "NotTerminating", "Blue"]}),
            &[
                &format!(
                    r#"{at}: ["Terminating","NotTerminating","Blue"]: unsupported scope applied to resource"#
                ),
                &format!(
                    r#"{at}: ["Terminating","NotTerminating","Blue"]: unsupported scope applied to resource"#
                ),
                &format!(r#"{at}: ["Terminating","NotTerminating","Blue"]: unsupported scope"#),
                &format!(r#"{at}: ["Terminating","NotTerminating","Blue"]: conflicting scopes"#),
            ],
        );
        let selects =
            |one: Value| json!({"hard": {"cpu": "1"}, "scopeSelector": {"matchExpressions": [one]}});
        let at = "spec.scopeSelector.matchExpressions";
        check(
            selects(json!({"scopeName": "BestEffort", "operator": "In"})),
            &[
                &format!(
                    r#"{at}: Invalid value: {{"MatchExpressions":[{{"ScopeName":"BestEffort","Operator":"In","Values":null}}]}}: unsupported scope applied to resource"#
                ),
                &format!(r#"{at}.operator: Invalid value: "In": {ONLY_EXISTS}"#),
                &format!(
                    "{at}.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                ),
            ],
        );
        check(
            selects(json!({"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]})),
            &[&format!(
                r#"{at}.values: Invalid value: ["a"]: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"#
            )],
        );
        check(
            selects(json!({"scopeName": "Blue", "operator": "Like"})),
            &[
                &format!(r#"{at}.scopeName: Invalid value: "Blue": unsupported scope"#),
                &format!(r#"{at}.operator: Invalid value: "Like": not a valid selector operator"#),
            ],
        );
    }

    #[test]
    fn scopes_are_immutable_in_any_order() {
        let quota = |scopes: Value| json!({"spec": {"scopes": scopes}});
        let check = |new: Value, old: Value, expected: usize| {
            let found = ResourceQuotas.validate(&quota(new), Some(&quota(old)));
            assert_eq!(found.len(), expected, "{found:?}");
        };
        check(json!(["Terminating", "BestEffort"]), json!(["BestEffort", "Terminating"]), 0);
        check(json!(["Terminating"]), json!(["BestEffort", "Terminating"]), 1);
        check(json!(null), json!([]), 0);
    }
}
