use serde_json::{Value, json};

use super::{Expected, Format, duplicate_fields, not_patched, object};
use crate::refusal::Refusal;

const WIDGET: Expected<'_> =
    Expected { group: "example.com", version: "v1", kind: "Widget", built_in: false };
const MAP: Expected<'_> = Expected { group: "", version: "v1", kind: "ConfigMap", built_in: true };

fn check(expected: &Expected<'_>, body: &str, value: Value) {
    assert_eq!(object(body.as_bytes(), Format::Json, expected).unwrap().value, value);
}

fn refused(expected: &Expected<'_>, body: &str, code: u16, message: &str) -> Refusal {
    let refusal = object(body.as_bytes(), Format::Json, expected).unwrap_err();
    assert_eq!((refusal.code, refusal.message.as_str()), (code, message));
    refusal
}

#[test]
fn forms() {
    let of =
        |header, supported| Format::of(header, supported).map_err(|refusal| (refusal.code, refusal.message));
    assert_eq!(of(None, Format::CUSTOM), Ok(Format::Json));
    assert_eq!(of(Some(""), Format::CUSTOM), Ok(Format::Json));
    assert_eq!(of(Some("application/json; charset=utf-8"), Format::CUSTOM), Ok(Format::Json));
    assert_eq!(of(Some("Application/YAML"), Format::CUSTOM), Ok(Format::Yaml));
    assert_eq!(of(Some("application/vnd.kubernetes.protobuf"), Format::BUILT_IN), Ok(Format::Protobuf));
    let why = "the body of the request was in an unknown format - accepted media types include: application/json, \
               application/yaml, application/vnd.kubernetes.protobuf";
    for header in
        ["application/vnd.kubernetes.protobuf", "text/plain", ";", "application", "application/json+x", "*/*"]
    {
        assert_eq!(of(Some(header), Format::CUSTOM), Err((415, why.to_owned())), "{header}");
    }
    assert_eq!(of(Some("text/plain"), Format::BUILT_IN), Err((415, why.to_owned())));
}

#[test]
fn objects() {
    let widget = r#"{"apiVersion":"example.com/v1","kind":"Widget","spec":{"a":1,"a":2}}"#;
    check(&WIDGET, widget, json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"a": 2}}));
    assert_eq!(object(widget.as_bytes(), Format::Json, &WIDGET).unwrap().duplicates, ["spec.a"]);
    let yaml = b"apiVersion: example.com/v1\nkind: Widget\n";
    let read = object(yaml, Format::Yaml, &WIDGET).unwrap();
    assert_eq!(read.value, json!({"apiVersion": "example.com/v1", "kind": "Widget"}));
    assert_eq!(object(b"k8s\0", Format::Protobuf, &WIDGET).unwrap_err().code, 415);
}

#[test]
fn built_in_kinds_may_omit_type_metadata() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    for body in ["{}", "null", r#"{"kind":"ConfigMap"}"#, r#"{"apiVersion":"v1","kind":null}"#] {
        check(&MAP, body, map.clone());
    }
    refused(
        &MAP,
        r#"{"kind":"Pod","apiVersion":"v1"}"#,
        400,
        r#"Pod in version "v1" cannot be handled as a ConfigMap: no kind "Pod" is registered for version "v1" here"#,
    );
    refused(
        &MAP,
        r#"{"apiVersion":"apps/v1"}"#,
        400,
        "the API version in the data (apps/v1) does not match the expected API version (v1)",
    );
}

#[test]
fn objects_of_another_kind_are_refused() {
    let what = "the object provided is unrecognized (must be of type Widget):";
    let parse = "couldn't get version/kind; json parse error:";
    refused(&WIDGET, "", 400, &format!("{what} {parse} unexpected end of JSON input (<empty>)"));
    refused(
        &WIDGET,
        "{\"apiVersion\": \"example.com/v1\", oops}",
        400,
        &format!(
            "{what} {parse} invalid character 'o' looking for beginning of object key string \
             ({{\"apiVersion\": \"example.com/v1 ...)"
        ),
    );
    refused(
        &WIDGET,
        "[1]",
        400,
        &format!(
            "{what} {parse} json: cannot unmarshal array into Go value of type struct {{ APIVersion string \
             \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }} (5b315d)"
        ),
    );
    refused(
        &WIDGET,
        r#"{"kind":1}"#,
        400,
        &format!(
            "{what} {parse} json: cannot unmarshal number into Go struct field .kind of type string ({{\"kind\":1}})"
        ),
    );
    refused(&WIDGET, "{}", 400, &format!("{what} Object 'Kind' is missing in '{{}}' ({{}})"));
    refused(&WIDGET, "null", 400, &format!("{what} Object 'Kind' is missing in 'null' (6e756c6c)"));
    refused(
        &WIDGET,
        r#"{"kind":"Widget","apiVersion":"a/b/c"}"#,
        400,
        &format!("{what} unexpected GroupVersion string: a/b/c ({{\"kind\":\"Widget\",\"apiVersion\": ...)"),
    );
    refused(
        &WIDGET,
        r#"{"kind":"Widget","apiVersion":"example.com/v2"}"#,
        400,
        "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)",
    );
    let refusal = refused(
        &WIDGET,
        r#"{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"a"}}"#,
        422,
        r#"Gadget.example.com "a" is invalid: kind: Invalid value: "Gadget": must be Widget"#,
    );
    assert_eq!(refusal.causes[0].field, "kind");
    refused(
        &WIDGET,
        r#"{"kind":"Widget","apiVersion":"example.com/v1","spec":1e400}"#,
        400,
        "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number 1e400 into Go value of type \
         float64",
    );
    let yaml = object(b"a: [", Format::Yaml, &WIDGET).unwrap_err();
    assert!(yaml.message.starts_with(&format!("{what} yaml: ")), "{yaml}");
}

#[test]
fn strict_reading() {
    let problems = duplicate_fields(&["spec.x".into(), "spec.y".into()]);
    assert_eq!(problems, [r#"duplicate field "spec.x""#, r#"duplicate field "spec.y""#]);
}

#[test]
fn a_patch_cannot_change_the_kind() {
    let check = |object: Value, expected: &str| {
        let refusal = WIDGET.check_patched(&object).unwrap_err();
        assert_eq!((refusal.code, refusal.reason, refusal.message.as_str()), (422, "Invalid", expected));
    };
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget"});
    assert_eq!(WIDGET.check_patched(&widget), Ok(()));
    check(
        json!({"apiVersion": "example.com/v2", "kind": "Gadget", "metadata": {"name": "a"}}),
        "Gadget.example.com \"a\" is invalid: [kind: Invalid value: \"Gadget\": must be Widget, apiVersion: Invalid value: \
         \"example.com/v2\": must be example.com/v1]",
    );
    check(
        json!({"apiVersion": "other/v1", "kind": "Widget"}),
        "Widget.other \"\" is invalid: apiVersion: Invalid value: \"other/v1\": must be example.com/v1",
    );
    check(json!({}), " \"\" is invalid: patch: Invalid value: \"{}\": Object 'Kind' is missing");
    let long = not_patched(&json!("é".repeat(4096)), "").causes.remove(0).message;
    assert!(long.len() < 4200 && long.ends_with(" ...\""), "{}", long.len());
}
