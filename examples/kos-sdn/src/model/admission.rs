//! Admission reviews for a webhook that serves a cluster without our API server. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use machinery::apiserver::{KindOf, Wrong};
use machinery::kube_core::Resource;
use machinery::objects::InvalidField;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::definition::{GROUP, VERSION};
use super::served::{ip_locks, network_attachments, subnets};
use super::validate::{validate_attachment, validate_lock, validate_subnet};

/// The step of the admission chain that a review is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewKind {
    /// Stamps section times and clears the status of a new object.
    Mutate,
    /// Rejects invalid objects.
    Validate,
}

/// Answers an `AdmissionReview` of `admission.k8s.io/v1`.
///
/// Writes of `/status` pass unchanged: Kubernetes lets a webhook mutate nothing but the status
/// there.
///
/// # Errors
/// The body is not an `AdmissionReview`; the text is for the caller.
pub fn review(kind: ReviewKind, review: &Value, now: Timestamp) -> Result<Value, String> {
    let request = &review["request"];
    let uid = request["uid"]
        .as_str()
        .ok_or("request.uid is not there: send an AdmissionReview of admission.k8s.io/v1")?;
    let is_ours =
        request["kind"]["group"] == GROUP && request["subResource"].as_str().unwrap_or_default().is_empty();
    let is_write = request["operation"] == "CREATE" || request["operation"] == "UPDATE";
    let mut response = match request["kind"]["kind"].as_str() {
        Some("Subnet") if is_ours && is_write => reviewed(kind, request, &subnets(), now, validate_subnet),
        Some("NetworkAttachment") if is_ours && is_write => {
            reviewed(kind, request, &network_attachments(), now, validate_attachment)
        }
        Some("IPLock") if is_ours && is_write => reviewed(kind, request, &ip_locks(), now, validate_lock),
        _ => json!({"allowed": true}),
    };
    response["uid"] = uid.into();
    Ok(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}))
}

/// Returns the webhook configurations of a cluster as YAML, with `client` as `clientConfig`.
///
/// # Errors
/// Serialization fails.
pub fn webhook_manifests(client: &Value) -> Result<String, serde_saphyr::ser_error::Error> {
    let webhook = |path: &str| {
        let mut client = client.clone();
        match client.get_mut("service") {
            Some(service) => service["path"] = path.into(),
            None => {
                let url = client["url"].as_str().unwrap_or_default().trim_end_matches('/').to_owned();
                client["url"] = format!("{url}{path}").into();
            }
        }
        // `Fail`: immutable fields that were admitted without a check could never be repaired.
        json!({
            "name": format!("{}.kos.{GROUP}", path.trim_matches('/')), "clientConfig": client,
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "matchPolicy": "Equivalent", "timeoutSeconds": 10,
            "rules": [{
                "apiGroups": [GROUP], "apiVersions": [VERSION], "operations": ["CREATE", "UPDATE"],
                "resources": ["subnets", "networkattachments", "iplocks"], "scope": "Namespaced",
            }],
        })
    };
    let mut file = String::from("# Made by `kos webhook --manifests`.\n");
    for (kind, path) in
        [("MutatingWebhookConfiguration", "/mutate"), ("ValidatingWebhookConfiguration", "/validate")]
    {
        let one = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "kos"},
            "webhooks": [webhook(path)],
        });
        file.push_str("---\n");
        file.push_str(&serde_saphyr::to_string(&one)?);
    }
    Ok(file)
}

fn reviewed<K: Resource<DynamicType = ()> + DeserializeOwned + serde::Serialize + 'static>(
    kind: ReviewKind,
    request: &Value,
    kind_of: &KindOf<K>,
    now: Timestamp,
    validate: impl FnOnce(&K, Option<&K>) -> Vec<Wrong>,
) -> Value {
    let mut stamped = request["object"].clone();
    let old = Some(&request["oldObject"]).filter(|old| old.is_object());
    // The status is a subresource: the value sent with the main resource is ignored. A new object has
    // none; an existing one keeps its own, byte for byte.
    put(&mut stamped, "status", old.and_then(|old| old.get("status")));
    // Schema violations pass: Kubernetes rejects them after this webhook, with better messages.
    let read = |value: &Value| serde_json::from_value::<K>(value.clone());
    let Ok(new) = read(&stamped) else { return json!({"allowed": true}) };
    if kind == ReviewKind::Validate {
        let old = old.and_then(|old| read(old).ok());
        return refused::<K>(&request["object"], &validate(&new, old.as_ref()));
    }
    kind_of.stamp(&mut stamped, old, now);
    let fields = ["extendedMetadata", "status"];
    let patch = fields.map(|field| patch(field, &request["object"], stamped.get(field)));
    let patch: Vec<Value> = patch.into_iter().flatten().collect();
    if patch.is_empty() {
        return json!({"allowed": true});
    }
    let patch = STANDARD.encode(Value::from(patch).to_string());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
}

fn put(object: &mut Value, field: &str, value: Option<&Value>) {
    let Some(object) = object.as_object_mut() else { return };
    match value {
        Some(value) => drop(object.insert(field.into(), value.clone())),
        None => drop(object.remove(field)),
    }
}

/// Returns the JSON Patch operation that gives a field its desired value.
fn patch(field: &str, object: &Value, desired: Option<&Value>) -> Option<Value> {
    let path = format!("/{field}");
    match (object.get(field), desired) {
        (is, Some(desired)) if is != Some(desired) => {
            Some(json!({"op": "add", "path": path, "value": desired}))
        }
        (Some(_), None) => Some(json!({"op": "remove", "path": path})),
        _ => None,
    }
}

fn refused<K: Resource<DynamicType = ()>>(object: &Value, errors: &[Wrong]) -> Value {
    if errors.is_empty() {
        return json!({"allowed": true});
    }
    let describe = |errors: &Wrong| match errors {
        Wrong::Forbidden(InvalidField { field, reason }) => {
            ("FieldValueForbidden", field.clone(), format!("Forbidden: {reason}"))
        }
        Wrong::Invalid(InvalidField { field, reason }) => {
            let value = object.pointer(&format!("/{}", field.replace('.', "/"))).unwrap_or(&Value::Null);
            ("FieldValueInvalid", field.clone(), format!("Invalid value: {value}: {reason}"))
        }
        other => ("FieldValueInvalid", String::new(), format!("{other:?}")),
    };
    let describe: Vec<_> = errors.iter().map(describe).collect();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let texts: Vec<String> =
        describe.iter().map(|(_, field, message)| format!("{field}: {message}")).collect();
    let text = if let [one] = &texts[..] { one.clone() } else { format!("[{}]", texts.join(", ")) };
    let kind = K::kind(&());
    let causes: Vec<Value> = describe
        .into_iter()
        .map(|(reason, field, message)| json!({"reason": reason, "field": field, "message": message}))
        .collect();
    json!({
        "allowed": false,
        "status": {
            "status": "Failure", "code": 422, "reason": "Invalid",
            "message": format!("{kind}.{GROUP} {name:?} is invalid: {text}"),
            "details": {"name": name, "group": GROUP, "kind": kind, "causes": causes},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn admission_review(kind: &str, object: &Value, old: &Value) -> Value {
        let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
        json!({"request": {
            "uid": "u", "kind": {"group": GROUP, "version": VERSION, "kind": kind}, "operation": operation,
            "object": object, "oldObject": old,
        }})
    }

    /// Applies a patch as a server does; all of ours name top-level fields.
    fn patched(answer: &Value, object: &Value) -> Value {
        let mut object = object.clone();
        assert_eq!((&answer["response"]["allowed"], &answer["response"]["uid"]), (&true.into(), &"u".into()));
        let Some(patch) = answer["response"]["patch"].as_str() else { return object };
        let patch: Value = serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
        for operation in patch.as_array().unwrap() {
            let field = operation["path"].as_str().unwrap().strip_prefix('/').unwrap();
            put(&mut object, field, operation.get("value"));
        }
        object
    }

    #[test]
    fn new_object_is_stamped_without_status() {
        let new = json!({
            "metadata": {"name": "a", "namespace": "n"}, "spec": {"node": "x", "subnet": "s"},
            "status": {"ipv4": "10.0.0.2"}, "extendedMetadata": {"writes": []}, "unknown": 1,
        });
        let answer =
            review(ReviewKind::Mutate, &admission_review("NetworkAttachment", &new, &Value::Null), at(1))
                .unwrap();
        let made = patched(&answer, &new);
        assert_eq!((made.get("status"), &made["unknown"]), (None, &1.into()));
        let writes = &made["extendedMetadata"]["writes"];
        assert_eq!(writes.as_array().unwrap().len(), 1);
        assert_eq!(
            (&writes[0]["section"], &writes[0]["serverTime"]),
            (&"spec".into(), &"1970-01-01T00:00:01.000000Z".into())
        );

        // The stored status is the server's from here on.
        let mut there = made.clone();
        there["status"] = json!({"ipv4": "10.0.0.2", "addressVNI": 1, "of another version": true});
        let mut changed = there.clone();
        changed["spec"]["postDeleteExec"] = json!(["/bin/true"]);
        changed["status"] = json!({});
        changed["extendedMetadata"] = json!({});
        let answer =
            review(ReviewKind::Mutate, &admission_review("NetworkAttachment", &changed, &there), at(2))
                .unwrap();
        let made = patched(&answer, &changed);
        let writes = made["extendedMetadata"]["writes"].as_array().unwrap();
        assert_eq!(writes.len(), 1, "a status sent with the main resource is no write: {writes:?}");
        assert_eq!(made["status"], there["status"], "byte for byte");
        assert_eq!(made["extendedMetadata"]["writes"][0]["serverTime"], "1970-01-01T00:00:02.000000Z");
        let again =
            review(ReviewKind::Mutate, &admission_review("NetworkAttachment", &made, &made), at(3)).unwrap();
        assert_eq!(again["response"].get("patch"), None, "an update without changes is no write");
    }

    #[test]
    fn invalid_objects_are_denied_with_causes() {
        let subnet = |vni: u32, ipv4: &str| json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"vni": vni, "ipv4": ipv4}});
        let validate_response = |new: &Value, old: &Value| {
            review(ReviewKind::Validate, &admission_review("Subnet", new, old), at(1)).unwrap()["response"]
                .clone()
        };
        assert_eq!(validate_response(&subnet(1, "10.0.0.0/24"), &Value::Null)["allowed"], true);
        let refused = validate_response(&subnet(0, "8.8.8.0/24"), &Value::Null);
        assert_eq!((&refused["allowed"], &refused["status"]["code"]), (&false.into(), &422.into()));
        let message = refused["status"]["message"].as_str().unwrap();
        assert_eq!(
            message,
            "Subnet.network.example.com \"a\" is invalid: [spec.vni: Invalid value: 0: must be in [1,2097151], \
             spec.ipv4: Invalid value: \"8.8.8.0/24\": must be compliant with RFC 1918 and is not]"
        );
        let refused = validate_response(&subnet(2, "10.0.0.0/24"), &subnet(1, "10.0.0.0/24"));
        assert_eq!(refused["status"]["details"]["causes"][0]["field"], "spec.vni");
        assert!(refused["status"]["message"].as_str().unwrap().contains("attempt to update immutable field"));
    }

    #[test]
    fn other_requests_are_allowed_and_malformed_reviews_rejected() {
        let mut other = admission_review("Pod", &json!({}), &Value::Null);
        assert_eq!(review(ReviewKind::Validate, &other, at(1)).unwrap()["response"]["allowed"], true);
        other["request"]["kind"] = json!({"group": GROUP, "kind": "Subnet"});
        other["request"]["subResource"] = "status".into();
        assert_eq!(review(ReviewKind::Mutate, &other, at(1)).unwrap()["response"]["allowed"], true);
        other["request"].as_object_mut().unwrap().remove("subResource");
        assert_eq!(
            review(ReviewKind::Mutate, &other, at(1)).unwrap()["response"]["allowed"],
            true,
            "schema violations pass"
        );
        for errors in [json!(null), json!({}), json!({"request": {"uid": 7}}), json!([1])] {
            assert!(review(ReviewKind::Mutate, &errors, at(1)).unwrap_err().contains("AdmissionReview"));
        }
    }

    #[test]
    fn webhook_manifests_support_url_and_service() {
        let file = webhook_manifests(&json!({"url": "https://h:1/", "caBundle": "Y2E="})).unwrap();
        for part in ["https://h:1/mutate", "https://h:1/validate", "caBundle: Y2E=", "failurePolicy: Fail"] {
            assert!(file.contains(part), "{part}: {file}");
        }
        let file = webhook_manifests(&json!({"service": {"namespace": "n", "name": "kos"}})).unwrap();
        assert!(file.contains("path: /mutate"), "{file}");
    }
}
