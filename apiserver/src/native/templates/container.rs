//! Validation of containers: names, images, ports, variables, mounts and probes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{invalid, items, required, text, unsupported};
use crate::invalid::{FieldError, Problem};
use crate::meta::names::dns_label;

const PORTS: std::ops::RangeInclusive<i64> = 1..=65_535;
const PORT: &str = "must be between 1 and 65535, inclusive";

/// Validates the containers in a list of a spec, in which each name occurs once.
pub(super) fn containers(list: &Value, at: &str, volumes: &BTreeSet<&str>) -> Vec<FieldError> {
    let (mut errors, mut names) = (Vec::new(), BTreeSet::new());
    for (index, container) in items(list) {
        let at = format!("{at}[{index}]");
        errors.extend(container_errors(container, &at, volumes));
        if !names.insert(text(&container["name"])) {
            errors.push(FieldError::new(
                format!("{at}.name"),
                Problem::Duplicate(container["name"].clone()),
                "",
            ));
        }
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            errors.extend(probe_errors(&container[probe], &format!("{at}.{probe}")));
        }
    }
    errors
}

fn container_errors(container: &Value, at: &str, volumes: &BTreeSet<&str>) -> Vec<FieldError> {
    let field = |name: &str| format!("{at}.{name}");
    let mut errors = Vec::new();
    errors.extend(label(&container["name"], field("name")));
    if text(&container["image"]).is_empty() {
        errors.push(required(field("image")));
    }
    let policy = &container["terminationMessagePolicy"];
    errors.extend(unsupported(field("terminationMessagePolicy"), policy, &["FallbackToLogsOnError", "File"]));
    errors.extend(ports(&container["ports"], &field("ports")));
    for (index, variable) in items(&container["env"]) {
        if text(&variable["name"]).is_empty() {
            errors.push(required(format!("{at}.env[{index}].name")));
        }
        if !variable["valueFrom"].is_null() && !text(&variable["value"]).is_empty() {
            let detail = "may not be specified when `value` is not empty";
            let problem = Problem::Invalid("".into());
            errors.push(FieldError::new(format!("{at}.env[{index}].valueFrom"), problem, detail));
        }
    }
    errors.extend(mounts(&container["volumeMounts"], &field("volumeMounts"), volumes));
    errors.extend(unsupported(
        field("imagePullPolicy"),
        &container["imagePullPolicy"],
        &["Always", "IfNotPresent", "Never"],
    ));
    errors
}

/// A name that is a DNS label.
pub(super) fn label(name: &Value, field: String) -> Vec<FieldError> {
    match text(name) {
        "" => vec![required(field)],
        text => dns_label(text).into_iter().map(|detail| invalid(field.clone(), name, detail)).collect(),
    }
}

fn ports(list: &Value, at: &str) -> Vec<FieldError> {
    let (mut errors, mut names) = (Vec::new(), BTreeSet::new());
    for (index, port) in items(list) {
        let field = |name: &str| format!("{at}[{index}].{name}");
        let name = text(&port["name"]);
        if !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::new(field("name"), Problem::Duplicate(name.into()), ""));
        }
        match port["containerPort"].as_i64().unwrap_or(0) {
            0 => errors.push(required(field("containerPort"))),
            number if PORTS.contains(&number) => {}
            _ => errors.push(invalid(field("containerPort"), &port["containerPort"], PORT)),
        }
        let host = port["hostPort"].as_i64().unwrap_or(0);
        if host != 0 && !PORTS.contains(&host) {
            errors.push(invalid(field("hostPort"), &port["hostPort"], PORT));
        }
        errors.extend(unsupported(field("protocol"), &port["protocol"], &["SCTP", "TCP", "UDP"]));
    }
    errors
}

fn mounts(list: &Value, at: &str, volumes: &BTreeSet<&str>) -> Vec<FieldError> {
    let (mut errors, mut paths) = (Vec::new(), BTreeSet::new());
    for (index, mount) in items(list) {
        let field = |name: &str| format!("{at}[{index}].{name}");
        let (name, path) = (text(&mount["name"]), text(&mount["mountPath"]));
        if name.is_empty() {
            errors.push(required(field("name")));
        }
        if !volumes.contains(name) {
            errors.push(FieldError::new(field("name"), Problem::NotFound(name.into()), ""));
        }
        if path.is_empty() {
            errors.push(required(field("mountPath")));
        }
        if !paths.insert(path) {
            errors.push(invalid(field("mountPath"), &mount["mountPath"], "must be unique"));
        }
    }
    errors
}

/// A probe has one handler, and no negative time.
fn probe_errors(probe: &Value, at: &str) -> Vec<FieldError> {
    if !probe.is_object() {
        return Vec::new();
    }
    let handlers = ["exec", "httpGet", "tcpSocket", "grpc"].iter().filter(|name| probe[**name].is_object());
    let mut errors = match handlers.count() {
        0 => vec![FieldError::new(at, Problem::Required, "must specify a handler type")],
        _ => Vec::new(),
    };
    let times =
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
    for name in times.iter().filter(|name| probe[**name].as_i64().is_some_and(|seconds| seconds < 0)) {
        errors.push(invalid(format!("{at}.{name}"), &probe[*name], "must be greater than or equal to 0"));
    }
    errors
}
