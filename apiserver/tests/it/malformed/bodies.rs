//! Bodies that are not objects: truncated, too deep, too long, of another kind, or in an unknown
//! format.

use http::Method;
use serde_json::json;

use super::row::{ALL, BAD, CONFIG, CONFIGS, INVALID, JSON, MEDIA, ONE, Row, TOO_LARGE};

const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = texts();
    rows.extend(sizes());
    rows.extend(yaml());
    rows.extend(kinds());
    rows.extend(media());
    rows.extend(deletions());
    rows
}

/// Invalid JSON, wherever an object is expected.
fn texts() -> Vec<Row> {
    let texts: Vec<Vec<u8>> = [
        "",
        " ",
        "{",
        "}",
        "[",
        "]",
        "{]",
        "nul",
        "tru",
        "nan",
        "NaN",
        "Infinity",
        "-",
        "+1",
        "01",
        "1.",
        ".5",
        "1e",
        "0x1",
        "'a'",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"x",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "[1,]",
        "{} {}",
        "{}x",
        "{}]",
        "//\n{}",
        "/**/{}",
        "{\"a\":1 \"b\":2}",
        "{\"a\" 1}",
        "{\"a\":\"\n\"}",
        "\u{feff}{}",
        "null null",
        "1",
        "true",
        "\"text\"",
        "[]",
        "[{}]",
        "{\"metadata\":",
        "{\"kind\":1}",
        "{\"apiVersion\":[]}",
        "\u{b}{}",
        "{}\u{0}",
    ]
    .into_iter()
    .map(Vec::from)
    .chain([b"\xff\xfe{}".to_vec(), b"\x00".to_vec(), b"\x1f\x8b\x08\x00".to_vec(), b"{\"\xff\":1".to_vec()])
    .collect();
    let of = |text: &Vec<u8>| {
        [Row::post(ALL, JSON, text.clone(), BAD), Row::of(Method::PUT, ONE, BAD).with(JSON, text.clone())]
    };
    texts.iter().flat_map(of).collect()
}

/// Past the limits: bytes, levels, numbers.
fn sizes() -> Vec<Row> {
    let limit = 3 << 20;
    let widget = |filling: &str| {
        format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"n"}},"spec":{filling}}}"#
        )
    };
    let mut rows = Vec::new();
    for length in [limit + 1, limit + 4096, 2 * limit] {
        rows.push(Row::post(ALL, JSON, vec![b' '; length], TOO_LARGE));
        rows.push(Row::post(CONFIGS, YAML, vec![b'#'; length], TOO_LARGE));
        rows.push(Row::patch(ONE, "application/merge-patch+json", vec![b'['; length], TOO_LARGE));
    }
    // Up to the limit: nothing but space, one text, one list, one object.
    rows.push(Row::post(ALL, JSON, vec![b' '; limit], BAD));
    rows.push(Row::post(ALL, JSON, vec![b'['; limit], BAD));
    rows.push(Row::post(ALL, JSON, vec![b'{'; limit], BAD));
    rows.push(Row::post(ALL, JSON, format!("\"{}\"", "x".repeat(limit - 2)), BAD));
    rows.push(Row::post(ALL, JSON, format!("[{}1]", "1,".repeat(limit / 2 - 2)), BAD));
    for depth in [129, 200, 1000, 10_000, 100_000] {
        for (open, shut) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}1{}", open.repeat(depth), shut.repeat(depth));
            rows.push(Row::post(ALL, JSON, widget(&deep), BAD));
            rows.push(Row::post(ALL, YAML, widget(&deep), BAD));
            rows.push(Row::patch(ONE, "application/merge-patch+json", format!("{{\"spec\":{deep}}}"), BAD));
        }
    }
    for number in ["1e400", "-1e400", "1e99999999999"] {
        rows.push(Row::post(ALL, JSON, widget(&format!(r#"{{"size":{number}}}"#)), BAD));
    }
    for (spec, expected) in [
        (r#"{"size":99999999999999999999}"#, INVALID),
        (r#"{"size":1.5}"#, INVALID),
        (r#"{"size":-9223372036854775808}"#, INVALID),
        (r#"{"size":"1"}"#, INVALID),
        (r#"{"size":true}"#, INVALID),
        (r#"{"color":"pink"}"#, INVALID),
        (r#"{"color":1}"#, INVALID),
        (r#"{"tags":"a"}"#, INVALID),
        (r#"{"tags":[1]}"#, INVALID),
        (r#"{"tags":{}}"#, INVALID),
        ("[]", INVALID),
        ("1", INVALID),
        ("\"a\"", INVALID),
        (r#"{"size":0,"size":0}"#, INVALID),
    ] {
        rows.push(Row::post(ALL, JSON, widget(spec), expected));
        rows.push(Row::patch(ONE, "application/merge-patch+json", format!("{{\"spec\":{spec}}}"), expected));
    }
    let strict = format!("{ALL}?fieldValidation=Strict");
    for text in [
        widget(r#"{"size":1,"size":2}"#),
        widget(r#"{"none":1}"#),
        widget(r#"{"color":"red","colour":"red"}"#),
        widget("{}").replace("\"name\":\"n\"", "\"name\":\"n\",\"name\":\"m\""),
        widget("{}").replace("\"name\":\"n\"", "\"name\":\"n\",\"nome\":\"m\""),
        widget("{}").replace("\"kind\"", "\"kind\":\"Widget\",\"kind\""),
    ] {
        rows.push(Row::post(&strict, JSON, text, BAD));
    }
    rows
}

/// Recursive aliases, and features of YAML that JSON does not have.
pub(super) fn yaml() -> Vec<Row> {
    let head = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: n\n";
    let laughs = {
        let mut text = format!("{head}a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
        for level in 1..10 {
            let below = vec![format!("*a{}", level - 1); 10].join(", ");
            text += &format!("a{level}: &a{level} [{below}]\n");
        }
        text
    };
    let mut texts = vec![
        laughs,
        format!("{head}spec: &a [*a]\n"),
        format!("{head}spec: *none\n"),
        format!("{head}spec: &a {{tags: &b [*a, *b]}}\n"),
        format!("{head}spec: [\n"),
        format!("{head}spec: {{a: b\n"),
        format!("{head}spec:\n\ttags: []\n"),
        format!("{head}---\n{head}"),
        format!("{head}spec: .nan\n"),
        format!("{head}spec: {{size: .inf}}\n"),
        format!("{head}spec: \"\\x\"\n"),
        format!("{head}spec: 'a\n"),
        format!("{head} spec: a\n  b: c\n"),
        format!("{head}? [a, b]\n: c\n"),
        format!("{head}? {{a: b}}\n: c\n"),
        "- a\n- b\n".into(),
        "a".into(),
        "%YAML 9.9\n---\na: b\n".into(),
        "!!binary x".into(),
        "&a".into(),
        "*a".into(),
        "...".into(),
        "a: b: c".into(),
        "@a".into(),
        "`a`".into(),
    ];
    texts.push(format!("{head}spec: {}1{}\n", "[".repeat(5000), "]".repeat(5000)));
    texts.push(format!(
        "{head}spec:\n{}",
        (0..300).map(|level| format!("{}a:\n", " ".repeat(level + 1))).collect::<String>()
    ));
    texts.push(format!("{head}spec: [{}]\n", "a,".repeat(300_000)));
    let mut rows: Vec<Row> = texts.iter().map(|text| Row::post(ALL, YAML, text.clone(), BAD)).collect();
    for bytes in [&b"a: \xff"[..], b"\xff\xfea", b"a: \x00", b"\x1f\x8b"] {
        rows.push(Row::post(ALL, YAML, bytes.to_vec(), BAD));
    }
    rows
}

/// Objects that are something else than their place.
fn kinds() -> Vec<Row> {
    let of = |object: serde_json::Value, expected| Row::post(ALL, JSON, object.to_string(), expected);
    let meta = json!({"name": "n"});
    let mut rows = vec![
        of(json!({}), BAD),
        of(json!({"metadata": meta}), BAD),
        of(json!({"kind": "Widget", "metadata": meta}), BAD),
        of(json!({"apiVersion": "example.com/v1", "metadata": meta}), BAD),
        of(json!({"apiVersion": "v1", "kind": "Widget", "metadata": meta}), BAD),
        of(json!({"apiVersion": "example.com/v2", "kind": "Widget", "metadata": meta}), BAD),
        of(json!({"apiVersion": "example.com", "kind": "Widget", "metadata": meta}), BAD),
        of(json!({"apiVersion": "/", "kind": "Widget", "metadata": meta}), BAD),
        of(json!({"apiVersion": "a/b/c", "kind": "Widget", "metadata": meta}), BAD),
        of(json!({"apiVersion": "example.com/v1", "kind": "widget", "metadata": meta}), INVALID),
        of(json!({"apiVersion": "example.com/v1", "kind": "WidgetList", "metadata": meta}), INVALID),
        of(json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": meta}), INVALID),
        of(json!({"apiVersion": 1, "kind": "Widget", "metadata": meta}), BAD),
        of(json!({"apiVersion": "example.com/v1", "kind": ["Widget"], "metadata": meta}), BAD),
        // The metadata are of another type than they are.
        of(json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": "n"}), BAD),
        of(json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": [meta]}), BAD),
        of(json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": 1}), BAD),
        of(json!({"apiVersion": "example.com/v1", "kind": "Widget"}), INVALID),
        of(json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": null}), INVALID),
    ];
    for (field, value) in [
        ("name", json!(1)),
        ("name", json!(["n"])),
        ("namespace", json!({})),
        ("labels", json!("a")),
        ("labels", json!(["a"])),
        ("labels", json!({"a": 1})),
        ("labels", json!({"a": {}})),
        ("annotations", json!(1)),
        ("annotations", json!({"a": []})),
        ("finalizers", json!("a")),
        ("finalizers", json!([1])),
        ("ownerReferences", json!({})),
        ("ownerReferences", json!([1])),
        ("ownerReferences", json!([{"uid": 1}])),
        ("generation", json!("1")),
        ("creationTimestamp", json!("yesterday")),
        ("creationTimestamp", json!(1)),
        ("deletionTimestamp", json!("2020-13-01T00:00:00Z")),
        ("managedFields", json!("a")),
        ("uid", json!(1)),
    ] {
        let mut object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "n"}});
        object["metadata"][field] = value.clone();
        rows.push(of(object, BAD));
        let mut config = json!({"metadata": {"name": "n"}});
        config["metadata"][field] = value;
        rows.push(Row::post(CONFIGS, JSON, config.to_string(), BAD));
    }
    for config in [
        json!({"kind": "Secret", "metadata": meta}),
        json!({"apiVersion": "v2", "metadata": meta}),
        json!({"apiVersion": "apps/v1", "metadata": meta}),
        json!({"metadata": meta, "data": "a"}),
        json!({"metadata": meta, "data": ["a"]}),
        json!({"metadata": meta, "data": {"a": 1}}),
        json!({"metadata": meta, "data": {"a": {"b": "c"}}}),
        json!({"metadata": meta, "binaryData": {"a": "%"}}),
        json!({"metadata": meta, "immutable": "yes"}),
    ] {
        rows.push(Row::post(CONFIGS, JSON, config.to_string(), BAD));
    }
    rows
}

/// Unknown media types.
fn media() -> Vec<Row> {
    let body = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"n"}}"#;
    let mut rows = Vec::new();
    for media in [
        "text/plain",
        "text/json",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/cbor",
        "application/octet-stream",
        "json",
        "application/",
        "/json",
        "application/json2",
        "application/jsonx; a=b",
        "*/*",
        "application/*",
        ";",
        "application/apply-patch+yaml",
        "application/merge-patch+json",
        "image/png",
    ] {
        rows.push(Row::post(ALL, media, body, MEDIA));
        rows.push(Row::of(Method::PUT, CONFIG, MEDIA).with(media, r#"{"metadata":{"name":"a"}}"#));
    }
    rows.push(Row::post(ALL, PROTOBUF, b"k8s\0".to_vec(), MEDIA));
    for media in [
        "application/json",
        "application/yaml",
        "text/plain",
        "",
        "application/patch+json",
        "application/json-patch",
        "application/merge-patch",
        "application/apply-patch+cbor",
        PROTOBUF,
    ] {
        rows.push(Row::patch(ONE, media, "{}", MEDIA));
    }
    rows.push(Row::patch(ONE, "application/strategic-merge-patch+json", "{}", MEDIA));
    rows
}

/// Invalid deletion options.
fn deletions() -> Vec<Row> {
    let mut rows = Vec::new();
    for (body, expected) in [
        ("{", BAD),
        ("[]", BAD),
        ("1", BAD),
        (r#"{"propagationPolicy":1}"#, BAD),
        (r#"{"gracePeriodSeconds":"soon"}"#, BAD),
        (r#"{"preconditions":"a"}"#, BAD),
        (r#"{"preconditions":{"uid":1}}"#, BAD),
        (r#"{"dryRun":"All"}"#, BAD),
        (r#"{"propagationPolicy":"Sideways"}"#, INVALID),
        (r#"{"propagationPolicy":"Orphan","orphanDependents":true}"#, INVALID),
        (r#"{"dryRun":["Some"]}"#, INVALID),
        (r#"{"preconditions":{"uid":"another"}}"#, (409, "Conflict")),
        (r#"{"preconditions":{"resourceVersion":"1"}}"#, (409, "Conflict")),
        (r#"{"kind":"Widget","apiVersion":"example.com/v1"}"#, BAD),
    ] {
        rows.push(Row::of(Method::DELETE, ONE, expected).with(JSON, body));
        rows.push(Row::of(Method::DELETE, CONFIG, expected).with(JSON, body));
    }
    rows.push(Row::of(Method::DELETE, ONE, MEDIA).with("text/plain", "{}"));
    rows.push(Row::of(Method::DELETE, CONFIG, BAD).with(PROTOBUF, b"k8s\0\x0a\xff".to_vec()));
    rows
}
