//! Tokens of pages that were forged, cut, or made for another server.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

use super::row::{ALL, BAD, CONFIGS, Row};

pub(super) fn rows() -> Vec<Row> {
    let page = |token: &str| Row::get(format!("{ALL}?limit=1&continue={token}"), BAD);
    let mut rows: Vec<Row> = [
        "!", "a", "====", "%00", "null", "e30", "W10", "bnVsbA", "MQ", "dHJ1ZQ", "IiI", "ew", "Ww", "_w",
        "%20",
    ]
    .map(page)
    .into();
    let made = |inside: &str| URL_SAFE_NO_PAD.encode(inside);
    let key =
        |rv: i64, start: &str| made(&json!({"v": "meta.k8s.io/v1", "rv": rv, "start": start}).to_string());
    for start in [
        "",
        "/",
        "//",
        ".",
        "..",
        "./",
        "../",
        "../a",
        "../../secrets/default/a",
        "a/..",
        "a/../b",
        "./a",
        "/a",
        "/a/b",
        "a/",
        "a//b",
        "a/b/c",
        "a/./b",
        "a\0/b",
        "a\0\0",
        "\0",
        "\0a",
        "/secrets",
        "a/../../b",
        "..\0",
    ] {
        rows.push(page(&key(1, start)));
    }
    for rv in [0, -2, -100, i64::MIN] {
        rows.push(page(&key(rv, "a")));
    }
    rows.push(page(&key(1, &"x".repeat(25_000))));
    for inside in [
        r#"{"v":"meta.k8s.io/v2","rv":1,"start":"a"}"#,
        r#"{"v":"v1","rv":1,"start":"a"}"#,
        r#"{"v":1,"rv":1,"start":"a"}"#,
        r#"{"v":"meta.k8s.io/v1","rv":"1","start":"a"}"#,
        r#"{"v":"meta.k8s.io/v1","rv":1.5,"start":"a"}"#,
        r#"{"v":"meta.k8s.io/v1","rv":1e99,"start":"a"}"#,
        r#"{"v":"meta.k8s.io/v1","rv":99999999999999999999,"start":"a"}"#,
        r#"{"v":"meta.k8s.io/v1","rv":1,"start":["a"]}"#,
        r#"{"v":"meta.k8s.io/v1","rv":1,"start":{}}"#,
        r#"{"v":"meta.k8s.io/v1","rv":1}"#,
        r#"{"v":"meta.k8s.io/v1","start":"a"}"#,
        r#"{"rv":1,"start":"a"}"#,
        r#"["meta.k8s.io/v1",1,"a"]"#,
        r#""meta.k8s.io/v1""#,
        "{",
        "{}{}",
        "[[[[[[[[[[",
        "\u{0}",
    ] {
        rows.push(page(&made(inside)));
    }
    // A good one, cut anywhere, padded, in the other alphabet, or with a byte of another.
    let good = key(1, "default/a\u{3ff}~\0");
    rows.extend((1..good.len()).step_by(3).map(|length| page(&good[..length])));
    rows.push(page(&format!("{good}%3D")));
    rows.push(page(&format!("{good}%0a")));
    rows.push(page(
        &STANDARD
            .encode(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a?>?>?>"}"#)
            .replace('+', "%2b")
            .replace('/', "%2f"),
    ));
    // With a revision, or without a version that is known, of a built-in kind.
    rows.push(Row::get(format!("{CONFIGS}?continue={}&resourceVersion=1", key(1, "a")), BAD));
    rows.push(Row::get(format!("{CONFIGS}?continue={}", key(0, "a")), BAD));
    rows
}
