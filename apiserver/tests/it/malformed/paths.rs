//! Paths that name nothing, or that two readers could read as two different ones.

use http::Method;

use super::row::{ALL, BAD, NOT_ALLOWED, NOTHING, ONE, Row};

pub(super) fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = [
        // Empty segments and dots, plain and encoded: no path is read as another.
        ("//api/v1/namespaces", NOTHING),
        ("/api//v1/namespaces", NOTHING),
        ("/api/v1//namespaces", NOTHING),
        ("/api/v1/namespaces//", NOTHING),
        ("/api/v1/namespaces/default//configmaps", NOTHING),
        ("/./api/v1/namespaces", NOTHING),
        ("/api/./v1/namespaces", NOTHING),
        ("/api/../api/v1/namespaces", NOTHING),
        ("/../api/v1/namespaces", NOTHING),
        ("/api/v1/namespaces/..", BAD),
        ("/api/v1/namespaces/../secrets", NOTHING),
        ("/%2e/api/v1/namespaces", NOTHING),
        ("/%2e%2e/api/v1/namespaces", NOTHING),
        ("/api/%2E%2E/api/v1/namespaces", NOTHING),
        ("/api/v1/namespaces/%2e%2e/secrets", NOTHING),
        ("/api/v1/namespaces/.%2e/secrets", NOTHING),
        ("/api/v1/namespaces/%2e", BAD),
        // Slashes that are none, and bytes that no name has.
        ("/api%2fv1/namespaces", BAD),
        ("/api/v1%2Fnamespaces", BAD),
        ("/api/v1/namespaces/default%2fconfigmaps", BAD),
        ("/api/v1/namespaces/a%5cb", BAD),
        ("/api/v1/namespaces/a%00b", BAD),
        ("/api/v1/namespaces/%00", BAD),
        ("/api/v1/namespaces/a%0ab", BAD),
        ("/api/v1/namespaces/a%0d%0ab", BAD),
        ("/api/v1/namespaces/a%7fb", BAD),
        ("/api/v1/namespaces/a%1bb", BAD),
        // Encoded twice, not wholly, or into no text.
        ("/api/v1/namespaces/%252e%252e", BAD),
        ("/api/v1/namespaces/%25", BAD),
        ("/api/v1/namespaces/%2", BAD),
        ("/api/v1/namespaces/%", BAD),
        ("/api/v1/namespaces/%zz", BAD),
        ("/api/v1/namespaces/%g0", BAD),
        ("/api/v1/namespaces/%+1", BAD),
        ("/api/v1/namespaces/%ff", BAD),
        ("/api/v1/namespaces/%c3%28", BAD),
        ("/api/v1/namespaces/%c0%ae%c0%ae", BAD),
        ("/api/v1/namespaces/%ed%a0%80", BAD),
        ("/api/v1/namespaces/%f4%90%80%80", BAD),
        // Paths without a resource.
        ("/API/v1/namespaces", NOTHING),
        ("/Api/v1", NOTHING),
        ("/api/V1/namespaces", NOTHING),
        ("/api/v1/Namespaces", NOTHING),
        ("/api/v1/namespace", NOTHING),
        ("/api/v1./namespaces", NOTHING),
        ("/api/v1/namespaces./default", NOTHING),
        ("/api./v1/namespaces", NOTHING),
        ("/api/v2/namespaces", NOTHING),
        ("/api/v1/widgets", NOTHING),
        ("/apis//v1/widgets", NOTHING),
        ("/apis/example.com/v2/widgets", NOTHING),
        ("/apis/example.com./v1/widgets", NOTHING),
        ("/apis/EXAMPLE.com/v1/widgets", NOTHING),
        ("/apis/example.com/v1/gadgets", NOTHING),
        ("/apis/example/v1/widgets", NOTHING),
        ("/apis/v1/namespaces", NOTHING),
        ("/apis/v1/namespaces/default", NOTHING),
        ("/nothing", NOTHING),
        ("/nothing/at/all", NOTHING),
        ("/openapi/v4", NOTHING),
        ("/openapi/v3/apis/nothing/v1", NOTHING),
        ("/metrics/x", NOTHING),
        // A kind of the cluster in a namespace.
        ("/api/v1/namespaces/default/namespaces", NOTHING),
        ("/api/v1/namespaces/default/nodes", NOTHING),
        ("/apis/example.com/v1/widgets/a", NOTHING),
    ]
    .into_iter()
    .map(|(path, expected)| Row::get(path, expected))
    .collect();
    let long = [
        format!("{ALL}/{}", "a".repeat(9000)),
        format!("/{}", "a/".repeat(5000)),
        format!("/{}", "%61".repeat(3000)),
    ];
    rows.extend(long.into_iter().map(|path| Row::get(path, BAD)));
    for method in ["TRACE", "CONNECT", "OPTIONS", "PROPFIND", "QUERY", "get", "X"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        rows.extend([ALL, ONE].map(|path| Row::of(method.clone(), path, NOT_ALLOWED)));
        rows.push(Row::of(method, "/version", NOT_ALLOWED));
    }
    for path in [
        "/api",
        "/apis",
        "/version",
        "/healthz",
        "/openapi/v2",
        "/openapi/v3",
        "/api/v1",
        "/apis/example.com",
    ] {
        rows.extend(
            [Method::POST, Method::PUT, Method::DELETE].map(|method| Row::of(method, path, NOT_ALLOWED)),
        );
    }
    // Resources without this verb.
    rows.push(Row::of(Method::POST, ONE, NOT_ALLOWED));
    rows.push(Row::of(Method::POST, format!("{ONE}/status"), NOT_ALLOWED));
    rows.push(Row::of(Method::DELETE, format!("{ONE}/status"), NOT_ALLOWED));
    rows.push(Row::of(Method::PUT, ALL, BAD));
    rows.push(Row::of(Method::PATCH, ALL, BAD));
    rows
}
