//! CertificateSigningRequests: the requestor, immutability, and the conditions of an approval.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::auth::Identity;
use crate::invalid::{FieldError, Problem};
use crate::kind::{KindHooks, Subresource};
use crate::meta::names::{dns_subdomain, path_segment};
use crate::meta::time::shown;

/// The shortest lifetime that a requestor may wish for.
const LEAST_SECONDS: i64 = 600;
/// The conditions that only the subresource `approval` changes.
const DECISIONS: [&str; 2] = ["Approved", "Denied"];
const PEM_BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const PEM_END: &str = "-----END CERTIFICATE REQUEST-----";

pub(super) struct SigningRequests;

impl KindHooks for SigningRequests {
    /// The fields of the requestor are those of its creator.
    fn author(&self, request: &mut Value, identity: &Identity) {
        let Some(spec) = request.get_mut("spec").and_then(Value::as_object_mut) else { return };
        for field in ["username", "uid", "groups", "extra"] {
            spec.remove(field);
        }
        spec.insert("username".into(), identity.user.as_str().into());
        if !identity.uid.is_empty() {
            spec.insert("uid".into(), identity.uid.as_str().into());
        }
        if !identity.groups.is_empty() {
            spec.insert("groups".into(), json!(identity.groups));
        }
        if !identity.extra.is_empty() {
            spec.insert("extra".into(), json!(identity.extra));
        }
    }

    fn updating(&self, new: &mut Value, old: &Value, part: Subresource) {
        new["spec"] = old["spec"].clone();
        if part == Subresource::Status {
            keep_decisions(new, old);
        }
    }

    /// Conditions without times get those of the write, or of an equal condition before it.
    fn stamp(&self, new: &mut Value, old: Option<&Value>, now: Timestamp) {
        let before = old.map(|old| old["status"]["conditions"].clone()).unwrap_or_default();
        let conditions = new.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten() {
            if condition["lastUpdateTime"].is_null() {
                condition["lastUpdateTime"] = shown(now).into();
            }
            if condition["lastTransitionTime"].is_null() {
                let same = |was: &&Value| {
                    was["type"] == condition["type"]
                        && was["status"] == condition["status"]
                        && !was["lastTransitionTime"].is_null()
                };
                let was = before.as_array().into_iter().flatten().find(same);
                let time = was.map_or_else(|| shown(now).into(), |was| was["lastTransitionTime"].clone());
                condition["lastTransitionTime"] = time;
            }
        }
    }

    fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = if old.is_none() { spec(&new["spec"]) } else { Vec::new() };
        errors.extend(conditions(new, old));
        errors
    }
}

/// Restores the decisions of an approval, which an update of `status` leaves unchanged.
fn keep_decisions(new: &mut Value, old: &Value) {
    let is_decision = |condition: &Value| DECISIONS.iter().any(|decision| condition["type"] == *decision);
    let all = |object: &Value| object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let mut kept = all(new);
    let mut left = all(old).into_iter().filter(is_decision);
    kept.retain_mut(|condition| {
        if !is_decision(condition) {
            return true;
        }
        left.next().map(|decision| *condition = decision).is_some()
    });
    kept.extend(left);
    if !kept.is_empty() {
        new["status"]["conditions"] = Value::Array(kept);
    } else if let Some(status) = new.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("conditions");
    }
}

fn conditions(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let all = |object: &Value| object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let is = |condition: &Value, of: &str| condition["type"] == of;
    let has = |conditions: &[Value], of: &str| conditions.iter().any(|condition| is(condition, of));
    let (conditions, before) = (all(new), old.map(all).unwrap_or_default());
    let mut errors = Vec::new();
    for (at, condition) in conditions.iter().enumerate() {
        let field = |field: &str| format!("status.conditions[{at}].{field}");
        let kind = condition["type"].as_str().unwrap_or_default();
        if kind.is_empty() {
            errors.push(FieldError::new(field("type"), Problem::Required, ""));
        }
        let status = condition["status"].as_str().unwrap_or_default();
        let decided = DECISIONS.contains(&kind) || kind == "Failed";
        match status {
            "" => errors.push(FieldError::new(field("status"), Problem::Required, "")),
            "True" => {}
            "False" | "Unknown" if !decided => {}
            _ if decided => {
                let problem = Problem::NotSupported(status.into());
                errors.push(FieldError::new(field("status"), problem, r#"supported values: "True""#));
            }
            _ => {
                let problem = Problem::NotSupported(status.into());
                let detail = r#"supported values: "False", "True", "Unknown""#;
                errors.push(FieldError::new(field("status"), problem, detail));
            }
        }
    }
    for decision in ["Approved", "Denied", "Failed"] {
        if has(&before, decision) && !has(&conditions, decision) {
            let detail = format!("updates may not remove a condition of type {decision:?}");
            errors.push(FieldError::new("status.conditions", Problem::Forbidden, detail));
        }
    }
    if has(&conditions, "Approved") && has(&conditions, "Denied") {
        let detail = "Approved and Denied conditions are mutually exclusive";
        errors.push(FieldError::new("status.conditions", Problem::InvalidAs("\"Denied\"".into()), detail));
    }
    errors
}

fn spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let text = spec["request"].as_str().unwrap_or_default();
    if !is_request(text) {
        let detail = "PEM block type must be CERTIFICATE REQUEST";
        errors.push(FieldError::new("spec.request", Problem::InvalidAs(bytes_of(text)), detail));
    }
    if spec["usages"].as_array().is_none_or(Vec::is_empty) {
        errors.push(FieldError::new("spec.usages", Problem::Required, ""));
    }
    errors.extend(signer(spec["signerName"].as_str().unwrap_or_default()));
    if let Some(seconds) = spec["expirationSeconds"].as_i64().filter(|seconds| *seconds < LEAST_SECONDS) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(FieldError::new("spec.expirationSeconds", Problem::Invalid(seconds.into()), detail));
    }
    errors
}

/// Returns whether the Base64 text is a PEM block of the right type. Its contents are read by
/// signers, of which this server has none.
fn is_request(text: &str) -> bool {
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.find(PEM_BEGIN).is_some_and(|begin| text[begin..].contains(PEM_END))
}

/// The bytes as Go prints them.
fn bytes_of(text: &str) -> String {
    const SHOWN: usize = 16;
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let shown: Vec<String> = bytes.iter().take(SHOWN).map(|byte| format!("0x{byte:x}")).collect();
    let more = if bytes.len() > SHOWN { ", ..." } else { "" };
    format!("[]byte{{{}{more}}}", shown.join(", "))
}

/// Validates a signer's name: `example.com/my-signer`.
fn signer(name: &str) -> Vec<FieldError> {
    let invalid = |detail: &str| FieldError::new("spec.signerName", Problem::Invalid(name.into()), detail);
    if name.is_empty() {
        return vec![FieldError::new("spec.signerName", Problem::Required, "")];
    }
    let Some((domain, path)) = name.split_once('/').filter(|(_, path)| !path.contains('/')) else {
        return vec![invalid(
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        )];
    };
    let mut errors: Vec<FieldError> = Vec::new();
    let details = dns_subdomain(domain).into_iter().chain(path.split('.').flat_map(path_segment));
    errors.extend(details.map(|detail| invalid(&detail)));
    if !domain.contains('.') {
        errors.push(invalid("should be a domain with at least two segments separated by dots"));
    }
    if path.is_empty() {
        errors
            .push(invalid("must be a fully qualified domain and path of the form 'example.com/signer-name'"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Value {
        let pem = STANDARD.encode(format!("{PEM_BEGIN}\nAAAA\n{PEM_END}\n"));
        json!({"spec": {"request": pem, "signerName": "example.com/a", "username": "mallory", "usages": ["digital signature"]}})
    }

    #[track_caller]
    fn check(new: &Value, old: Option<&Value>, expected: &[&str]) {
        let errors: Vec<String> =
            SigningRequests.validate(new, old).iter().map(ToString::to_string).collect();
        assert_eq!(errors, expected);
    }

    #[test]
    fn the_requestor_is_the_user_who_creates_it() {
        let mut request = request();
        SigningRequests.author(&mut request, &Identity::new("alice"));
        assert_eq!(request["spec"]["username"], "alice");
        assert_eq!(request["spec"]["groups"], json!(["system:authenticated"]));
        check(&request, None, &[]);
    }

    #[test]
    fn invalid_requests_are_refused() {
        let mut odd = request();
        odd["spec"]["request"] = "YQ==".into();
        odd["spec"]["signerName"] = "signer".into();
        odd["spec"]["expirationSeconds"] = 5.into();
        check(
            &odd,
            None,
            &[
                "spec.request: Invalid value: []byte{0x61}: PEM block type must be CERTIFICATE REQUEST",
                "spec.signerName: Invalid value: \"signer\": must be a fully qualified domain and path of the form \
                 'example.com/signer-name'",
                "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)",
            ],
        );
    }

    #[test]
    fn a_status_update_changes_no_decision() {
        let mut old = request();
        old["status"] = json!({"conditions": [{"type": "Approved", "status": "True", "reason": "A"}]});
        let mut new = old.clone();
        new["spec"]["signerName"] = "other.example.com/b".into();
        new["status"] = json!({"conditions": [{"type": "Denied", "status": "True"}, {"type": "Failed", "status": "True"}], "certificate": "AA=="});
        SigningRequests.updating(&mut new, &old, Subresource::Status);
        let types: Vec<_> =
            new["status"]["conditions"].as_array().unwrap().iter().map(|one| one["type"].clone()).collect();
        assert_eq!(types, ["Approved", "Failed"]);
        assert_eq!(new["spec"], old["spec"]);
        check(&new, Some(&old), &[]);
        let (undecided, mut decided) = (request(), old);
        SigningRequests.updating(&mut decided, &undecided, Subresource::Status);
        assert_eq!(decided["status"], json!({}));
    }

    #[test]
    fn a_decision_stays_and_excludes_the_other() {
        let mut old = request();
        old["status"] = json!({"conditions": [{"type": "Approved", "status": "True"}]});
        let mut new = old.clone();
        new["status"]["conditions"] = json!([{"type": "Denied", "status": "False"}]);
        check(
            &new,
            Some(&old),
            &[
                "status.conditions[0].status: Unsupported value: \"False\": supported values: \"True\"",
                "status.conditions: Forbidden: updates may not remove a condition of type \"Approved\"",
            ],
        );
        SigningRequests.stamp(&mut new, Some(&old), Timestamp::UNIX_EPOCH);
        assert_eq!(new["status"]["conditions"][0]["lastUpdateTime"], "1970-01-01T00:00:00Z");
    }
}
