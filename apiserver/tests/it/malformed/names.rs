//! Names of every wrong shape, and other invalid metadata.

use http::Method;
use serde_json::{Value, json};

use super::row::{ALL, BAD, CONFIGS, INVALID, JSON, NOT_FOUND, ONE, Row};

fn wrong_names() -> Vec<String> {
    let shapes = [
        "A",
        "aB",
        "a_b",
        "-a",
        "a-",
        ".a",
        "a.",
        "a..b",
        "a.-b",
        "a-.b",
        "a b",
        " a",
        "a ",
        "a/b",
        "/",
        "a\\b",
        "a:b",
        "a@b",
        "a*",
        "*",
        "a%b",
        "a%2fb",
        "..",
        ".",
        "...",
        "ä",
        "日本",
        "a\u{0}b",
        "\u{0}",
        "a\nb",
        "a\tb",
        "\u{202e}a",
        "a\u{200b}b",
        "\u{feff}a",
        "a,b",
        "a=b",
        "a;b",
        "a'b",
        "a\"b",
        "$(id)",
        "`id`",
        "<a>",
        "{a}",
        "a|b",
        "a&b",
        "a?b",
        "a#b",
        "~",
        "_",
    ];
    let long = [254, 255, 1024, 100_000].map(|length| "n".repeat(length));
    shapes.map(str::to_owned).into_iter().chain(long).collect()
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let widget = |meta: Value| {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta});
        Row::post(ALL, JSON, object.to_string(), INVALID)
    };
    let config = |meta: Value| Row::post(CONFIGS, JSON, json!({"metadata": meta}).to_string(), INVALID);
    for name in wrong_names() {
        rows.push(widget(json!({"name": name})));
        rows.push(config(json!({"name": name})));
        rows.push(Row::post(
            "/api/v1/namespaces",
            JSON,
            json!({"metadata": {"name": name}}).to_string(),
            INVALID,
        ));
    }
    for name in ["", "a.b", &"n".repeat(64)] {
        rows.push(Row::post(
            "/api/v1/namespaces",
            JSON,
            json!({"metadata": {"name": name}}).to_string(),
            INVALID,
        ));
    }
    rows.extend(["A", "-a", ".a", "a b", "a/b", "a_"].map(|prefix| widget(json!({"generateName": prefix}))));
    rows.extend([json!({}), json!({"name": ""}), json!({"generateName": ""})].map(widget));
    // A missing object is not found, under any name.
    for name in ["none", "A", "a_b", "%C3%A4", "a%20b", "*", "a:b", "@", "~"] {
        rows.push(Row::get(format!("{ALL}/{name}"), NOT_FOUND));
        rows.push(Row::of(Method::DELETE, format!("{ALL}/{name}"), NOT_FOUND));
    }
    rows.push(Row::get(format!("{ALL}/{}", "n".repeat(5000)), NOT_FOUND));

    for key in [
        "",
        "-a",
        "a-",
        "a b",
        "a/b/c",
        "/a",
        "a/",
        "Ä",
        "-x/a",
        "x..y/a",
        "a\u{0}",
        &"k".repeat(64),
        &format!("{}/k", "p".repeat(254)),
    ] {
        rows.push(widget(json!({"name": "n", "labels": {key: "v"}})));
        rows.push(config(json!({"name": "n", "annotations": {key: "v"}})));
    }
    for value in ["-a", "a-", "a b", "a/b", "ä", "a\u{0}", ".", &"v".repeat(64)] {
        rows.push(widget(json!({"name": "n", "labels": {"k": value}})));
    }
    rows.push(widget(json!({"name": "n", "annotations": {"k": "v".repeat(257 << 10)}})));
    for finalizer in ["", " ", "a b", "a/b/c", "/", "ä/x", "A B/c"] {
        rows.push(widget(json!({"name": "n", "finalizers": [finalizer]})));
    }
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"});
    for (field, value) in
        [("apiVersion", ""), ("kind", ""), ("name", ""), ("uid", ""), ("apiVersion", "a/b/c")]
    {
        let mut owner = owner.clone();
        owner[field] = value.into();
        rows.push(widget(json!({"name": "n", "ownerReferences": [owner]})));
    }
    let mut controller = owner.clone();
    controller["controller"] = true.into();
    let mut other = controller.clone();
    other["uid"] = "2".into();
    rows.push(widget(json!({"name": "n", "ownerReferences": [controller, other]})));
    // A namespace other than that of the path.
    let elsewhere = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "n", "namespace": "other"}});
    rows.push(Row::post(ALL, JSON, elsewhere.to_string(), BAD));
    let renamed = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "b", "resourceVersion": "1"}});
    rows.push(Row::of(Method::PUT, ONE, BAD).with(JSON, renamed.to_string()));
    for (namespace, expected) in
        [("none", NOT_FOUND), ("kube-nothing", NOT_FOUND), ("A", INVALID), ("a_b", INVALID), ("-", INVALID)]
    {
        let path = format!("/apis/example.com/v1/namespaces/{namespace}/widgets");
        let object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "n"}});
        rows.push(Row::post(&path, JSON, object.to_string(), expected));
    }
    rows
}
