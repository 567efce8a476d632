//! AdmissionReview v1, as a webhook reads and answers it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::ReviewError;
use crate::admission::Operation;
use crate::auth::Identity;
use crate::refusal::Refusal;

const VERSION: &str = "admission.k8s.io/v1";

/// The request of a review.
pub(super) struct ReviewedRequest<'a> {
    pub(super) uid: &'a str,
    pub(super) operation: Operation,
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    pub(super) resource: &'a str,
    pub(super) subresource: &'a str,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) user: Identity,
    pub(super) object: Option<&'a Value>,
    pub(super) old: Option<&'a Value>,
    pub(super) dry_run: bool,
}

/// The outcome of a review.
#[derive(Default)]
pub(super) struct ReviewOutcome {
    pub(super) refusal: Option<Refusal>,
    /// The operations of a JSON patch.
    pub(super) patch: Vec<Value>,
    pub(super) warnings: Vec<String>,
    pub(super) annotations: BTreeMap<String, String>,
}

/// Reads a review.
pub(super) fn read(review: &Value) -> Result<ReviewedRequest<'_>, ReviewError> {
    let text = |value: &'_ Value| value.as_str().map(str::to_owned);
    let (version, kind) = (text(&review["apiVersion"]), text(&review["kind"]));
    if (version.as_deref(), kind.as_deref()) != (Some(VERSION), Some("AdmissionReview")) {
        let found = |part: Option<String>| part.unwrap_or_else(|| "nothing".into());
        return Err(ReviewError::Version { found: format!("{}, Kind={}", found(version), found(kind)) });
    }
    let request = &review["request"];
    if !request.is_object() {
        return Err(ReviewError::Field { field: "request", reason: "is absent" });
    }
    let part = |value: &'_ Value, name: &str| value.get(name).filter(|part| !part.is_null()).is_some();
    let uid = required(&request["uid"], "request.uid")?;
    let operation = match required(&request["operation"], "request.operation")? {
        "CREATE" => Operation::Create,
        "UPDATE" => Operation::Update,
        "DELETE" => Operation::Delete,
        other => {
            // A sender chooses it: no long text comes back.
            let operation = other.chars().take(64).collect();
            return Err(ReviewError::Operation { operation });
        }
    };
    let object = |name: &'static str, field: &'static str, is_required: bool| match request.get(name) {
        Some(object @ Value::Object(_)) => Ok(Some(object)),
        None | Some(Value::Null) if is_required => Err(ReviewError::Field { field, reason: "is absent" }),
        None | Some(Value::Null) => Ok(None),
        Some(_) => Err(ReviewError::Field { field, reason: "is no object" }),
    };
    Ok(ReviewedRequest {
        uid,
        operation,
        // Of the resource: `Scale`, the kind of a subresource, has a group of its own.
        group: optional(&request["resource"]["group"]),
        version: required(&request["resource"]["version"], "request.resource.version")?,
        kind: required(&request["kind"]["kind"], "request.kind.kind")?,
        resource: required(&request["resource"]["resource"], "request.resource.resource")?,
        subresource: optional(&request["subResource"]),
        namespace: Some(optional(&request["namespace"])).filter(|namespace| !namespace.is_empty()),
        name: optional(&request["name"]),
        user: match part(request, "userInfo") {
            true => user(&request["userInfo"])?,
            false => return Err(ReviewError::Field { field: "request.userInfo", reason: "is absent" }),
        },
        object: object("object", "request.object", operation != Operation::Delete)?,
        old: object("oldObject", "request.oldObject", operation != Operation::Create)?,
        dry_run: request["dryRun"].as_bool().unwrap_or(false),
    })
}

/// Returns the response to a review.
pub(super) fn response(uid: &str, outcome: ReviewOutcome) -> Value {
    let ReviewOutcome { refusal, patch, warnings, annotations } = outcome;
    let mut response = json!({"uid": uid, "allowed": refusal.is_none()});
    if let Some(refusal) = refusal {
        let mut status = refusal.status();
        // Only a part of a Status is one in a review.
        if let Some(status) = status.as_object_mut() {
            ["kind", "apiVersion"].iter().for_each(|field| drop(status.remove(*field)));
        }
        response["status"] = status;
    } else if !patch.is_empty() {
        response["patchType"] = "JSONPatch".into();
        response["patch"] = STANDARD.encode(Value::from(patch).to_string()).into();
    }
    if !warnings.is_empty() {
        response["warnings"] = warnings.into();
    }
    if !annotations.is_empty() {
        response["auditAnnotations"] = json!(annotations);
    }
    json!({"apiVersion": VERSION, "kind": "AdmissionReview", "response": response})
}

/// Returns whether a JSON text has more than `limit` values, without decoding it: the values of a
/// text take many times its bytes.
pub(super) fn has_more_values(text: &[u8], limit: usize) -> bool {
    let (mut values, mut in_string, mut is_escaped) = (1_usize, false, false);
    for byte in text {
        match (in_string, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b',' | b'[' | b'{') => values += 1,
            _ => {}
        }
        if values > limit {
            return true;
        }
    }
    false
}

fn user(info: &Value) -> Result<Identity, ReviewError> {
    let wrong = ReviewError::Field { field: "request.userInfo", reason: "is no UserInfo" };
    let texts = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let list = |value: &Value| if value.is_null() { Some(Vec::new()) } else { texts(value) };
    let extra = match &info["extra"] {
        Value::Null => Some(BTreeMap::new()),
        Value::Object(extra) => {
            extra.iter().map(|(key, values)| Some((key.clone(), list(values)?))).collect()
        }
        _ => None,
    };
    let (Some(groups), Some(extra)) = (list(&info["groups"]), extra) else { return Err(wrong) };
    Ok(Identity {
        groups,
        extra,
        ..Identity::new(optional(&info["username"])).with_uid(optional(&info["uid"]))
    })
}

fn required<'v>(value: &'v Value, field: &'static str) -> Result<&'v str, ReviewError> {
    match value {
        Value::String(text) if !text.is_empty() => Ok(text),
        Value::Null | Value::String(_) => Err(ReviewError::Field { field, reason: "is absent" }),
        _ => Err(ReviewError::Field { field, reason: "is no text" }),
    }
}

fn optional(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review() -> Value {
        json!({
            "apiVersion": VERSION, "kind": "AdmissionReview",
            "request": {
                "uid": "u", "operation": "CREATE", "object": {},
                "kind": {"group": "g", "version": "v1", "kind": "K"},
                "resource": {"group": "g", "version": "v1", "resource": "ks"},
                "userInfo": {"username": "ann", "groups": ["a"], "extra": {"k": ["v"]}},
            },
        })
    }

    #[test]
    fn a_malformed_review_is_an_error_with_the_remedy() {
        let check = |pointer: &str, value: Value, expected: &str| {
            let mut review = review();
            *review.pointer_mut(pointer).expect("a field of the review") = value;
            let error = read(&review).err().expect("refused").to_string();
            assert!(error.contains(expected), "{pointer}: {error}");
        };
        check(
            "/apiVersion",
            json!("admission.k8s.io/v1beta1"),
            "list only v1 in the admissionReviewVersions",
        );
        check("/kind", json!("Status"), "got admission.k8s.io/v1, Kind=Status");
        check("/request", json!([]), "request is absent");
        check("/request/uid", json!(7), "request.uid is no text");
        check("/request/uid", json!(""), "request.uid is absent");
        check("/request/operation", json!("CONNECT"), "remove it from the rules");
        check("/request/operation", json!("UPDATE"), "request.oldObject is absent");
        check("/request/operation", json!("DELETE"), "request.oldObject is absent");
        check("/request/object", json!(null), "request.object is absent");
        check("/request/object", json!([1]), "request.object is no object");
        check("/request/resource/resource", json!({}), "request.resource.resource is no text");
        check("/request/userInfo", json!(null), "request.userInfo is absent");
        check("/request/userInfo/groups", json!([1]), "request.userInfo is no UserInfo");
        check("/request/userInfo/extra", json!([]), "request.userInfo is no UserInfo");
        let good = review();
        let request = read(&good).expect("a review");
        assert_eq!((request.user.user.as_str(), &request.user.groups[..]), ("ann", &["a".to_owned()][..]));
        assert_eq!(request.user.extra["k"], ["v"]);
    }

    #[test]
    fn values_are_counted_outside_of_strings() {
        let check = |text: &str, count: usize| {
            assert!(!has_more_values(text.as_bytes(), count), "{text}");
            assert!(has_more_values(text.as_bytes(), count - 1), "{text}");
        };
        check("1", 1);
        check(r#"{"a": [1, 2], "b": {}}"#, 6);
        check(r#"["a,[{\",", "\\", 1]"#, 4);
    }
}
