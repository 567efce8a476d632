use proptest::prelude::*;
use serde_json::json;

use super::*;

fn answered(response: &Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

fn read_value(response: &Value, mutates: bool) -> Result<ReviewResponse, String> {
    read(answered(response).to_string().as_bytes(), "u", mutates)
}

#[test]
fn an_answer_is_read() {
    let response = json!({
        "uid": "u", "allowed": true, "patchType": "JSONPatch", "patch": "W10=", "warnings": ["w"], "auditAnnotations": {"a": "b"},
    });
    let answer = read_value(&response, true).unwrap();
    assert!(answer.allowed);
    assert!(answer.patch.is_none(), "a patch of nothing is none");
    assert_eq!(answer.warnings, ["w"]);
    assert_eq!(answer.annotations["a"], "b");
    let patch = br#"[{"op":"remove","path":"/a"}]"#.to_vec();
    let listed = json!({"uid": "u", "allowed": true, "patchType": "JSONPatch", "patch": patch});
    assert!(read_value(&listed, true).unwrap().patch.is_some(), "as kube-rs sends it");
    let judged = read_value(&json!({"uid": "u", "allowed": true}), false).unwrap();
    assert!(judged.allowed && judged.patch.is_none());
    // A validating webhook may not patch.
    for (field, said) in [("patch", "W10="), ("patchType", "JSONPatch")] {
        let why = format!("validating webhook may not return response.{field}");
        assert_eq!(read_value(&json!({"uid": "u", "allowed": true, field: said}), false).unwrap_err(), why);
    }
    assert!(!read_value(&json!({"uid": "u"}), true).unwrap().allowed, "what is not allowed is refused");
}

#[test]
fn an_invalid_response_is_an_error() {
    for (response, why) in [
        (json!(null), "webhook response was absent"),
        (json!({"uid": "v", "allowed": true}), "expected response.uid=\"u\", got \"v\""),
        (json!({"uid": 7, "allowed": true}), "expected response.uid=\"u\", got \"\""),
        (json!({"uid": "u", "allowed": 1}), "response.allowed is neither true nor false"),
        (json!({"uid": "u", "warnings": "w"}), "response.warnings is no list"),
        (json!({"uid": "u", "warnings": [1]}), "response.warnings has something else than texts"),
        (json!({"uid": "u", "auditAnnotations": []}), "response.auditAnnotations is no map"),
        (
            json!({"uid": "u", "auditAnnotations": {"a": 1}}),
            "response.auditAnnotations has something else than texts",
        ),
        (json!({"uid": "u", "patch": 1}), "response.patch is neither a text nor bytes"),
        (
            json!({"uid": "u", "patchType": "JSONPatch", "patch": "bm8="}),
            "response.patch cannot be read: invalid JSON patch",
        ),
        (json!({"uid": "u", "patch": [256]}), "response.patch has something else than bytes"),
    ] {
        assert_eq!(read_value(&response, true).unwrap_err(), why);
    }
}

proptest! {
    /// Arbitrary bytes never panic and are never a response to another review.
    #[test]
    fn anything_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,40}") {
        prop_assert!(read(&bytes, "u", true).is_err());
        let said = json!({"uid": text, "allowed": true, "status": text, "patch": text, "patchType": text});
        prop_assert_eq!(read_value(&said, true).is_ok(), false);
        let status = json!({"uid": "u", "status": {"message": text, "code": text.len(), "details": text, "reason": text}});
        let refusal = read_value(&status, true).unwrap().refusal("a");
        prop_assert!((400..600).contains(&refusal.code));
        prop_assert!(refusal.status().is_object());
    }
}
