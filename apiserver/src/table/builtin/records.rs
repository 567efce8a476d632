//! Columns of disruption budgets, classes of pods, signing requests and APIServices.

use serde_json::Value;

use super::{BuiltIn, Head, count, each, nothing_more, or};
use crate::table::age::elapsed_seconds;
use crate::table::column::name_and_age;

pub(super) static DISRUPTION_BUDGET: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Min Available", "How many pods must stay."),
        Head::text("Max Unavailable", "How many pods may be missing."),
        Head::of("Allowed Disruptions", "integer", "How many pods may be evicted now."),
        Head::AGE,
    ],
    cells: |budget, now| {
        let ((name, age), spec) = (name_and_age(budget, now), &budget["spec"]);
        let shown = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => "N/A".to_owned(),
        };
        let allowed = count(&budget["status"]["disruptionsAllowed"]);
        vec![
            name,
            shown(&spec["minAvailable"]).into(),
            shown(&spec["maxUnavailable"]).into(),
            allowed.into(),
            age,
        ]
    },
    conditions: nothing_more,
};

pub(super) static PRIORITY_CLASS: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::of("Value", "integer", "The priority of its pods."),
        Head::of("Global-Default", "boolean", "Whether it is that of pods without a class."),
        Head::AGE,
        Head::text("PreemptionPolicy", "Whether its pods displace others."),
    ],
    cells: |class, now| {
        let (name, age) = name_and_age(class, now);
        let policy = or(&class["preemptionPolicy"], "");
        vec![name, count(&class["value"]).into(), (class["globalDefault"] == true).into(), age, policy]
    },
    conditions: nothing_more,
};

pub(super) static RUNTIME_CLASS: BuiltIn = BuiltIn {
    heads: &[Head::NAME, Head::text("Handler", "The configuration of the container runtime."), Head::AGE],
    cells: |class, now| {
        let (name, age) = name_and_age(class, now);
        vec![name, or(&class["handler"], ""), age]
    },
    conditions: nothing_more,
};

pub(super) static SIGNING_REQUEST: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::AGE,
        Head::text("SignerName", "The signer that it is for."),
        Head::text("Requestor", "The user who created it."),
        Head::text("RequestedDuration", "How long the certificate shall be valid."),
        Head::text("Condition", "Whether it is approved, and a certificate issued."),
    ],
    cells: |request, now| {
        let ((name, age), spec) = (name_and_age(request, now), &request["spec"]);
        let duration =
            spec["expirationSeconds"].as_i64().map_or_else(|| "<none>".to_owned(), elapsed_seconds);
        let signer = or(&spec["signerName"], "<none>");
        vec![
            name,
            age,
            signer,
            or(&spec["username"], ""),
            duration.into(),
            decision(&request["status"]).into(),
        ]
    },
    conditions: nothing_more,
};

pub(super) static API_SERVICE: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Service", "The service that serves the group version, or Local."),
        Head::text("Available", "Whether it is available."),
        Head::AGE,
    ],
    cells: |service, now| {
        let (name, age) = name_and_age(service, now);
        let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let reference = &service["spec"]["service"];
        let of = match reference.is_null() {
            true => "Local".to_owned(),
            false => format!("{}/{}", text(reference, "namespace"), text(reference, "name")),
        };
        let condition = each(&service["status"]["conditions"]).find(|one| one["type"] == "Available");
        let available = match condition.map(|one| (text(one, "status"), text(one, "reason"))) {
            None => "Unknown".to_owned(),
            Some((status, reason)) if status == "True" || reason.is_empty() => status,
            Some((status, reason)) => format!("{status} ({reason})"),
        };
        vec![name, of.into(), available.into(), age]
    },
    conditions: nothing_more,
};

/// `Approved,Issued`
fn decision(status: &Value) -> String {
    let has = |kind: &str| each(&status["conditions"]).any(|condition| condition["type"] == kind);
    let mut decision = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied".to_owned(),
        (false, true) => "Approved".to_owned(),
        (false, false) => "Pending".to_owned(),
    };
    if has("Failed") {
        decision.push_str(",Failed");
    }
    if !status["certificate"].as_str().unwrap_or_default().is_empty() {
        decision.push_str(",Issued");
    }
    decision
}
