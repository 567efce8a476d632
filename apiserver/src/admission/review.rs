//! AdmissionReview requests and responses.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{Attributes, reason};
use crate::kind::Kind;
use crate::patch::{Patch, PatchKind};
use crate::refusal::{Cause, Foreign, Refusal};

const VERSION: &str = "admission.k8s.io/v1";

/// A webhook's response.
#[derive(Debug)]
pub(super) struct ReviewResponse {
    pub(super) allowed: bool,
    /// None if it changes nothing.
    pub(super) patch: Option<Patch>,
    /// The patch as received.
    pub(super) patch_bytes: Vec<u8>,
    pub(super) warnings: Vec<String>,
    pub(super) annotations: BTreeMap<String, String>,
    /// The Status of a denial.
    status: Value,
}

/// Builds an AdmissionReview. `version` is an equivalent version that the objects were converted
/// to.
pub(super) fn request(
    uid: &str,
    attributes: &Attributes<'_>,
    version: Option<&Kind>,
    options: &Value,
) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let of =
        |group: &str, version: &str, of: &str| json!({"group": group, "version": version, "resource": of});
    // `Scale` is the same kind in every version.
    let is_scale = attributes.subresource == "scale";
    let request_kind = match is_scale {
        true => kind("autoscaling", "v1", "Scale"),
        false => kind(attributes.group, attributes.version, attributes.kind),
    };
    let request_resource = of(attributes.group, attributes.version, attributes.resource);
    let (kind, resource) = match version {
        None => (request_kind.clone(), request_resource.clone()),
        Some(other) => {
            let resource = of(&other.group, &other.version, &other.names.plural);
            let shown = || kind(&other.group, &other.version, &other.names.kind);
            (if is_scale { request_kind.clone() } else { shown() }, resource)
        }
    };
    let mut request = Map::new();
    let mut put = |field: &str, value: Value| drop(request.insert(field.into(), value));
    put("uid", uid.into());
    put("kind", kind);
    put("resource", resource);
    put("requestKind", request_kind);
    put("requestResource", request_resource);
    for (field, text) in [
        ("subResource", attributes.subresource),
        ("requestSubResource", attributes.subresource),
        ("name", attributes.name),
        ("namespace", attributes.namespace.unwrap_or_default()),
    ] {
        if !text.is_empty() {
            put(field, text.into());
        }
    }
    put("operation", attributes.operation.name().into());
    put("userInfo", attributes.user.user_info());
    put("object", attributes.object.cloned().unwrap_or_default());
    put("oldObject", attributes.old.cloned().unwrap_or_default());
    put("dryRun", attributes.dry_run.into());
    put("options", options.clone());
    json!({"kind": "AdmissionReview", "apiVersion": VERSION, "request": request})
}

/// Reads the response to the review with this UID.
///
/// # Errors
/// The response is invalid.
pub(super) fn read(bytes: &[u8], uid: &str, mutates: bool) -> Result<ReviewResponse, String> {
    let review: Value = serde_json::from_slice(bytes).map_err(|error| format!("it is no JSON: {error}"))?;
    let (version, kind) = (&review["apiVersion"], &review["kind"]);
    if version != VERSION || kind != "AdmissionReview" {
        return Err(format!(
            "expected webhook response of {VERSION}, Kind=AdmissionReview, got {version}, Kind={kind}"
        ));
    }
    let Some(response) = review["response"].as_object() else {
        return Err("webhook response was absent".into());
    };
    let field = |name: &str| response.get(name).filter(|value| !value.is_null());
    let said = field("uid").and_then(Value::as_str).unwrap_or_default();
    if said != uid {
        return Err(format!("expected response.uid={uid:?}, got {said:?}"));
    }
    let texts = |value: Option<&Value>| -> Result<Vec<String>, String> {
        let items = value.map(|value| value.as_array().ok_or("response.warnings is no list")).transpose()?;
        let texts = items.into_iter().flatten().map(|item| item.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().ok_or_else(|| "response.warnings has something else than texts".into())
    };
    let Some(allowed) = field("allowed").map_or(Some(false), Value::as_bool) else {
        return Err("response.allowed is neither true nor false".into());
    };
    let annotations = match field("auditAnnotations") {
        None => BTreeMap::new(),
        Some(value) => {
            let pairs = value.as_object().ok_or("response.auditAnnotations is no map")?.iter();
            let pairs = pairs.map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
            pairs.collect::<Option<_>>().ok_or("response.auditAnnotations has something else than texts")?
        }
    };
    let (patch, patch_bytes) = match (mutates, field("patch"), field("patchType")) {
        (true, said, of) => patch(said, of)?,
        (false, None, None) => (None, Vec::new()),
        (false, Some(_), _) => return Err("validating webhook may not return response.patch".into()),
        (false, None, Some(_)) => return Err("validating webhook may not return response.patchType".into()),
    };
    Ok(ReviewResponse {
        allowed,
        patch,
        patch_bytes,
        warnings: texts(field("warnings"))?,
        annotations,
        status: field("status").cloned().unwrap_or_default(),
    })
}

fn patch(patch: Option<&Value>, patch_type: Option<&Value>) -> Result<(Option<Patch>, Vec<u8>), String> {
    let bytes = patch.map(bytes).transpose()?.unwrap_or_default();
    match (bytes.is_empty(), patch_type.map(|of| of.as_str().unwrap_or_default())) {
        (true, Some(_)) => Err("webhook returned response.patchType but not response.patch".into()),
        (false, None) => Err("webhook returned response.patch but not response.patchType".into()),
        (false, Some(of)) if of != "JSONPatch" => {
            Err(format!("webhook returned invalid response.patchType of {of:?}"))
        }
        (true, None) => Ok((None, bytes)),
        (false, Some(_)) => match Patch::read(PatchKind::Json, &bytes) {
            Ok((Patch::Json(operations), _)) if operations.is_empty() => Ok((None, bytes)),
            Ok((patch, _)) => Ok((Some(patch), bytes)),
            Err(refusal) => Err(format!("response.patch cannot be read: {}", refusal.message)),
        },
    }
}

/// Decodes bytes as Go does: from base64, or from a list of numbers as kube-rs sends.
fn bytes(value: &Value) -> Result<Vec<u8>, String> {
    match value {
        Value::String(text) => {
            STANDARD.decode(text).map_err(|error| format!("response.patch is no base64: {error}"))
        }
        Value::Array(numbers) => {
            let byte = |number: &Value| number.as_u64().and_then(|number| u8::try_from(number).ok());
            let bytes = numbers.iter().map(byte).collect::<Option<_>>();
            bytes.ok_or_else(|| "response.patch has something else than bytes".into())
        }
        _ => Err("response.patch is neither a text nor bytes".into()),
    }
}

impl ReviewResponse {
    /// Returns the error response of a denial.
    pub(super) fn refusal(&self, webhook: &str) -> Refusal {
        let text = |field: &str| self.status[field].as_str().unwrap_or_default();
        let code = self.status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let code = code.filter(|code| (400..600).contains(code)).unwrap_or(400);
        let denied = format!("admission webhook {webhook:?} denied the request");
        let message = match (text("message"), text("reason")) {
            ("", "") => format!("{denied} without explanation"),
            ("", reason) => format!("{denied}: {reason}"),
            (message, _) => format!("{denied}: {message}"),
        };
        let mut refusal = Refusal::new(code, reason::known(text("reason")), message);
        refusal.by_others = true;
        let details = &self.status["details"];
        let detail = |field: &str| details[field].as_str().unwrap_or_default().to_owned();
        let about = &mut refusal.about;
        (about.group, about.kind) = (detail("group"), detail("kind"));
        (about.name, about.uid) = (detail("name"), detail("uid"));
        refusal.retry_after =
            details["retryAfterSeconds"].as_u64().and_then(|seconds| seconds.try_into().ok());
        let causes = details["causes"].as_array().into_iter().flatten().map(|cause| Cause {
            reason: reason::known_cause(cause["reason"].as_str().unwrap_or_default()),
            message: cause["message"].as_str().unwrap_or_default().into(),
            field: cause["field"].as_str().unwrap_or_default().into(),
        });
        refusal.causes = causes.collect();
        let causes = details["causes"].as_array().into_iter().flatten();
        let foreign = Foreign {
            reason: text("reason").into(),
            of_causes: causes.map(|cause| cause["reason"].as_str().unwrap_or_default().into()).collect(),
        };
        refusal.foreign = Some(Box::new(foreign));
        refusal
    }
}

/// 500: an error that the client cannot fix.
pub(crate) fn internal(why: &str) -> Refusal {
    let cause = Cause { reason: "", message: why.into(), field: String::new() };
    Refusal {
        causes: vec![cause],
        ..Refusal::new(500, "InternalError", format!("Internal error occurred: {why}"))
    }
}

#[cfg(test)]
mod tests;
