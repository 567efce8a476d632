//! Invalid and contradictory query parameters.

use http::Method;

use super::row::{ALL, BAD, CONFIG, CONFIGS, INVALID, JSON, NOT_ACCEPTABLE, ONE, Row};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let of_lists = [
        // Numbers that are none.
        ("limit=abc", BAD),
        ("limit=1e3", BAD),
        ("limit=", BAD),
        ("limit=0x10", BAD),
        ("limit=99999999999999999999", BAD),
        ("limit=1.5", BAD),
        ("limit=%2b%201", BAD),
        ("timeoutSeconds=soon", BAD),
        ("timeoutSeconds=99999999999999999999", BAD),
        ("timeoutSeconds=-99999999999999999999", BAD),
        // Revisions that are none.
        ("resourceVersion=abc", BAD),
        ("resourceVersion=-1", BAD),
        ("resourceVersion=1.0", BAD),
        ("resourceVersion=0x1", BAD),
        ("resourceVersion=%2b1", BAD),
        ("resourceVersion=18446744073709551616", BAD),
        ("resourceVersion=1%00", BAD),
        ("resourceVersion=%F0%9D%9F%8F", BAD),
        ("resourceVersion=1%20", BAD),
        // Contradictory options.
        ("resourceVersionMatch=Exact", INVALID),
        ("resourceVersionMatch=NotOlderThan", INVALID),
        ("resourceVersionMatch=exact&resourceVersion=1", INVALID),
        ("resourceVersionMatch=Newest&resourceVersion=1", INVALID),
        ("resourceVersionMatch=Exact&resourceVersion=0", INVALID),
        ("resourceVersionMatch=Exact&resourceVersion=1&continue=abc", INVALID),
        ("sendInitialEvents=true", INVALID),
        ("sendInitialEvents=false", INVALID),
        ("watch=1&sendInitialEvents=true", INVALID),
        ("watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", INVALID),
        ("watch=1&sendInitialEvents=false&resourceVersionMatch=x", INVALID),
        ("watch=1&resourceVersionMatch=NotOlderThan", INVALID),
        ("watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1", INVALID),
        ("watch=1&resourceVersion=abc", BAD),
        ("watch=1&timeoutSeconds=abc", BAD),
        ("watch=1&labelSelector=a%20b", BAD),
        ("watch=1&fieldSelector=spec.none%3D1", BAD),
        // Pairs that are cut, and bytes that are no text.
        ("limit=%", BAD),
        ("limit=%2", BAD),
        ("%zz=1", BAD),
        ("a=%ff", BAD),
        ("labelSelector=%c0%80", BAD),
        ("%ed%a0%80=1", BAD),
        ("timeout=abc", BAD),
        ("timeout=1", BAD),
        ("timeout=1d", BAD),
        ("timeout=1h1", BAD),
        ("timeout=.s", BAD),
        ("timeout=1.2.3s", BAD),
        ("timeout=9999999999h", BAD),
        ("timeout=1e9s", BAD),
    ];
    for (query, expected) in of_lists {
        rows.push(Row::get(format!("{ALL}?{query}"), expected));
    }
    // The same for a built-in kind: the parser is the same.
    rows.extend(
        of_lists.iter().take(20).map(|(query, expected)| Row::get(format!("{CONFIGS}?{query}"), *expected)),
    );
    rows.extend(["abc", "-1", "1%00"].map(|text| Row::get(format!("{ONE}?resourceVersion={text}"), BAD)));
    for query in [
        "dryRun=",
        "dryRun=all",
        "dryRun=true",
        "dryRun=All&dryRun=None",
        "fieldValidation=strict",
        "fieldValidation=None",
        "fieldManager=a%07",
        "fieldManager=%00",
        "fieldManager=a%0ab",
    ] {
        let body = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"n"}}"#;
        rows.push(Row::post(&format!("{ALL}?{query}"), JSON, body, INVALID));
        rows.push(Row::post(&format!("{CONFIGS}?{query}"), JSON, r#"{"metadata":{"name":"n"}}"#, INVALID));
        let merge = "application/merge-patch+json";
        rows.push(Row::patch(&format!("{ONE}?{query}"), merge, r#"{"spec":{"color":"blue"}}"#, INVALID));
    }
    let long = format!("{ONE}?fieldManager={}", "m".repeat(129));
    rows.push(Row::patch(&long, "application/merge-patch+json", "{}", INVALID));
    rows.push(Row::patch(&format!("{ONE}?force=true"), "application/merge-patch+json", "{}", INVALID));
    for query in [
        "propagationPolicy=Sideways",
        "propagationPolicy=orphan",
        "propagationPolicy=Orphan&orphanDependents=true",
        "dryRun=x",
    ] {
        rows.push(Row::of(Method::DELETE, format!("{ONE}?{query}"), INVALID));
        rows.push(Row::of(Method::DELETE, format!("{CONFIG}?{query}"), INVALID));
        rows.push(Row::of(Method::DELETE, format!("{ALL}?{query}"), INVALID));
    }
    rows.push(Row::of(Method::DELETE, format!("{ONE}?gracePeriodSeconds=soon"), BAD));
    for accept in [
        "text/html",
        "application/xml",
        "image/*",
        "application/json;as=Nothing;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v7;g=meta.k8s.io",
        "application/json;as=Table;v=v1;g=other.k8s.io",
        "application/json;as=Table",
        "application/json;stream=list",
        "json",
        "/",
        "application/",
    ] {
        rows.push(Row::get(ONE, NOT_ACCEPTABLE).header("accept", accept));
    }
    rows.push(Row::get("/openapi/v3", NOT_ACCEPTABLE).header("accept", "text/plain"));
    rows.push(
        Row::get(format!("{ALL}?includeObject=Everything"), BAD)
            .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
    );
    rows
}
