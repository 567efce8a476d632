//! Validation of the spec of a pod, also in a template.

use std::collections::BTreeSet;

use serde_json::Value;

use super::container::{containers, label};
use super::{invalid, items, required, text, unsupported};
use crate::invalid::{FieldError, Problem};
use crate::meta::names::{dns_label, dns_subdomain};

/// The policies of all pods; workloads allow some of them only.
const RESTARTS: [&str; 3] = ["Always", "Never", "OnFailure"];

pub(super) fn spec(spec: &Value, at: &str) -> Vec<FieldError> {
    let field = |name: &str| format!("{at}.{name}");
    let (names, mut errors) = volumes(&spec["volumes"], &field("volumes"));
    if spec["containers"].as_array().is_none_or(Vec::is_empty) {
        errors.push(required(field("containers")));
    }
    errors.extend(containers(&spec["containers"], &field("containers"), &names));
    errors.extend(containers(&spec["initContainers"], &field("initContainers"), &names));
    let known: BTreeSet<&str> = items(&spec["containers"]).map(|(_, one)| text(&one["name"])).collect();
    for (index, container) in items(&spec["initContainers"]) {
        if known.contains(text(&container["name"])) {
            let at = format!("{at}.initContainers[{index}].name");
            errors.push(FieldError::new(at, Problem::Duplicate(container["name"].clone()), ""));
        }
    }
    errors.extend(unsupported(field("restartPolicy"), &spec["restartPolicy"], &RESTARTS));
    let policies = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"];
    errors.extend(unsupported(field("dnsPolicy"), &spec["dnsPolicy"], &policies));
    for (name, is_label) in
        [("serviceAccountName", false), ("nodeName", false), ("hostname", true), ("subdomain", true)]
    {
        let said = text(&spec[name]);
        let details = if is_label { dns_label(said) } else { dns_subdomain(said) };
        if !said.is_empty() {
            errors.extend(details.into_iter().map(|detail| invalid(field(name), &spec[name], detail)));
        }
    }
    let deadline = &spec["activeDeadlineSeconds"];
    if deadline.as_i64().is_some_and(|seconds| !(1..=i64::from(i32::MAX)).contains(&seconds)) {
        let detail = "must be between 1 and 2147483647, inclusive";
        errors.push(invalid(field("activeDeadlineSeconds"), deadline, detail));
    }
    errors
}

/// Returns the names of valid volumes, and the errors of the others.
fn volumes<'a>(list: &'a Value, at: &str) -> (BTreeSet<&'a str>, Vec<FieldError>) {
    let (mut names, mut errors) = (BTreeSet::new(), Vec::new());
    for (index, volume) in items(list) {
        let field = format!("{at}[{index}].name");
        let mut found = label(&volume["name"], field.clone());
        let sources = volume.as_object().into_iter().flatten();
        let sources: Vec<&str> = sources
            .filter(|(name, value)| *name != "name" && !value.is_null())
            .map(|(name, _)| name.as_str())
            .collect();
        for extra in sources.iter().skip(1) {
            let detail = "may not specify more than 1 volume type";
            found.push(FieldError::new(format!("{at}[{index}].{extra}"), Problem::Forbidden, detail));
        }
        if names.contains(text(&volume["name"])) {
            found.push(FieldError::new(field, Problem::Duplicate(volume["name"].clone()), ""));
        }
        if found.is_empty() {
            names.insert(text(&volume["name"]));
        }
        errors.extend(found);
    }
    (names, errors)
}
