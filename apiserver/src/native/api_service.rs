//! APIServices: one for each served group and version. Requests are not proxied to services.

use serde_json::{Value, json};

use crate::invalid::{FieldError, Problem};
use crate::kind::KindHooks;
use crate::meta::names::{dns_1035_label, dns_subdomain};
use crate::strategy::meta_text;

pub(crate) const GROUP: &str = "apiregistration.k8s.io";

/// The highest priorities of a group and of a version.
const MOST_OF_GROUP: i64 = 20_000;
const MOST_OF_VERSION: i64 = 1000;

pub(super) struct ApiServices;

impl KindHooks for ApiServices {
    fn default(&self, service: &mut Value) {
        if let Some(reference) = service["spec"].get_mut("service").and_then(Value::as_object_mut) {
            reference.entry("port").or_insert_with(|| 443.into());
        }
    }

    fn creating(&self, service: &mut Value) {
        if is_local(service) {
            // The time is set with the other server-managed fields.
            service["status"] = json!({"conditions": [available()]});
        }
    }

    fn stamp(&self, new: &mut Value, old: Option<&Value>, now: jiff::Timestamp) {
        if old.is_none()
            && let Some(condition) = new.pointer_mut("/status/conditions/0")
        {
            condition["lastTransitionTime"] = crate::meta::time::shown(now).into();
        }
    }

    fn validate(&self, new: &Value, _old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = names(new);
        errors.extend(priorities(&new["spec"]));
        errors.extend(reference(&new["spec"]));
        errors
    }
}

/// Returns whether this server serves the group and version itself.
pub(crate) fn is_local(service: &Value) -> bool {
    service["spec"]["service"].is_null()
}

/// Returns the condition of a local service, without a time.
pub(crate) fn available() -> Value {
    json!({
        "type": "Available", "status": "True", "reason": "Local",
        "message": "Local APIServices are always available",
    })
}

fn names(new: &Value) -> Vec<FieldError> {
    let spec = |field: &str| new["spec"][field].as_str().unwrap_or_default();
    let (group, version, name) = (spec("group"), spec("version"), meta_text(new, "name"));
    let mut errors = Vec::new();
    let required = format!("{version}.{group}");
    if !name.is_empty() && name != required {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {required:?}");
        errors.push(FieldError::new("metadata.name", Problem::Invalid(name.into()), detail));
    }
    if group.is_empty() && version != "v1" {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        errors.push(FieldError::new("spec.group", Problem::Required, detail));
    }
    if !group.is_empty() {
        let invalid = |detail| FieldError::new("spec.group", Problem::Invalid(group.into()), detail);
        errors.extend(dns_subdomain(group).into_iter().map(invalid));
    }
    let invalid = |detail| FieldError::new("spec.version", Problem::Invalid(version.into()), detail);
    errors.extend(dns_1035_label(version).into_iter().map(invalid));
    errors
}

fn priorities(spec: &Value) -> Vec<FieldError> {
    let limits = [("groupPriorityMinimum", MOST_OF_GROUP), ("versionPriority", MOST_OF_VERSION)];
    let wrong = limits.into_iter().filter_map(|(field, most)| {
        let number = spec[field].as_i64().unwrap_or(0);
        let detail = format!("must be positive and less than {most}");
        let error = || FieldError::new(format!("spec.{field}"), Problem::Invalid(number.into()), detail);
        (number <= 0 || number > most).then(error)
    });
    wrong.collect()
}

fn reference(spec: &Value) -> Vec<FieldError> {
    let (bundle, skips) =
        (spec["caBundle"].as_str().unwrap_or_default(), spec["insecureSkipTLSVerify"] == true);
    let at = |field: &str| format!("spec.{field}");
    let mut errors = Vec::new();
    let service = &spec["service"];
    if service.is_null() {
        if !bundle.is_empty() {
            let shown =
                format!("{} bytes", crate::builtin::decode_base64(bundle).map_or(0, |bytes| bytes.len()));
            let detail = "local APIServices may not have a caBundle";
            errors.push(FieldError::new(at("caBundle"), Problem::Invalid(shown.into()), detail));
        }
        if skips {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            errors.push(FieldError::new(at("insecureSkipTLSVerify"), Problem::Invalid(true.into()), detail));
        }
        return errors;
    }
    for field in ["namespace", "name"] {
        if service[field].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::new(at(&format!("service.{field}")), Problem::Required, ""));
        }
    }
    let port = service["port"].as_i64().unwrap_or(0);
    if !(1..=65_535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::new(at("service.port"), Problem::Invalid(port.into()), detail));
    }
    if skips && !bundle.is_empty() {
        let detail = "may not be true if caBundle is present";
        errors.push(FieldError::new(at("insecureSkipTLSVerify"), Problem::Invalid(true.into()), detail));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, spec: Value, expected: &[&str]) {
        let errors = ApiServices.validate(&json!({"metadata": {"name": name}, "spec": spec}), None);
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_api_service_has_the_name_of_its_version_and_group() {
        let spec = |extra: Value| {
            let mut spec = json!({"group": "example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15});
            spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            spec
        };
        check("v1.example.com", spec(json!({})), &[]);
        check(
            "v2.example.com",
            spec(json!({"versionPriority": 0})),
            &[
                "metadata.name: Invalid value: \"v2.example.com\": must be `spec.version+\".\"+spec.group`: \"v1.example.com\"",
                "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
            ],
        );
        check(
            "v1.example.com",
            spec(json!({"caBundle": "AAAA"})),
            &["spec.caBundle: Invalid value: \"3 bytes\": local APIServices may not have a caBundle"],
        );
        let service = json!({"service": {"name": "a", "port": 0}, "insecureSkipTLSVerify": true});
        check(
            "v1.example.com",
            spec(service),
            &[
                "spec.service.namespace: Required value",
                "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
            ],
        );
    }

    #[test]
    fn a_local_api_service_is_available_at_once() {
        let mut service = json!({"spec": {"group": "", "version": "v1"}});
        ApiServices.creating(&mut service);
        ApiServices.stamp(&mut service, None, jiff::Timestamp::UNIX_EPOCH);
        let condition = &service["status"]["conditions"][0];
        assert_eq!((&condition["type"], &condition["reason"]), (&json!("Available"), &json!("Local")));
        assert_eq!(condition["lastTransitionTime"], "1970-01-01T00:00:00Z");
        let mut remote = json!({"spec": {"service": {"name": "a"}}});
        ApiServices.creating(&mut remote);
        assert!(remote.get("status").is_none());
        ApiServices.default(&mut remote);
        assert_eq!(remote["spec"]["service"]["port"], 443);
    }
}
