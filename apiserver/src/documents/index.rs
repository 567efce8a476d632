//! `/`: the paths of the server.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::health::{CheckNames, ENDPOINTS};
use crate::discovery::Discovery;

/// Paths that do not depend on the kinds. `/apis/` is listed as in Kubernetes, where it has a
/// handler of its own.
const FIXED: [&str; 9] = [
    "/api",
    "/apis",
    "/apis/",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/version",
    "/api/v1",
];

/// Returns the list of paths, sorted.
pub(super) fn paths(discovery: &Discovery, checks: &CheckNames) -> Value {
    let mut paths: BTreeSet<String> = FIXED.iter().map(|path| (*path).to_owned()).collect();
    paths.extend(discovery.paths());
    for endpoint in ENDPOINTS {
        paths.insert(format!("/{endpoint}"));
        paths.extend(checks.of(endpoint).map(|name| format!("/{endpoint}/{name}")));
    }
    json!({"paths": paths})
}
