//! The query parameters of requests, from which clients learn the server's abilities.

use serde_json::{Value, json};

struct Parameter {
    name: &'static str,
    kind: &'static str,
    description: &'static str,
}

const fn parameter(name: &'static str, kind: &'static str, description: &'static str) -> Parameter {
    Parameter { name, kind, description }
}

const DRY_RUN: Parameter =
    parameter("dryRun", "string", "`All`: everything is checked and answered, and nothing is stored.");
const MANAGER: Parameter = parameter(
    "fieldManager",
    "string",
    "The name under which the fields that are set are remembered; at most 128 characters.",
);
const VALIDATION: Parameter = parameter(
    "fieldValidation",
    "string",
    "What is done about unknown and duplicate fields: `Ignore`, `Warn` (the default) or `Strict`, which refuses them.",
);

const FORCE: Parameter = parameter(
    "force",
    "boolean",
    "Of an apply: takes over fields that conflict with those of other managers. Not allowed for other patches.",
);

const READ: &[Parameter] = &[parameter("resourceVersion", "string", "How new the answer must be at least.")];

const CREATE: &[Parameter] = &[DRY_RUN, MANAGER, VALIDATION];

const PATCH: &[Parameter] = &[DRY_RUN, MANAGER, VALIDATION, FORCE];

const DELETE: &[Parameter] = &[
    DRY_RUN,
    parameter("gracePeriodSeconds", "integer", "How long the object may take to end; 0 is at once."),
    parameter(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Deletes the object even if it cannot be read from the store.",
    ),
    parameter("orphanDependents", "boolean", "Superseded by propagationPolicy. Whether dependents stay."),
    parameter(
        "propagationPolicy",
        "string",
        "What becomes of dependents: `Orphan`, `Background` or `Foreground`.",
    ),
];

const LIST: &[Parameter] = &[
    parameter(
        "allowWatchBookmarks",
        "boolean",
        "The watch may send bookmarks, which tell the revision only.",
    ),
    parameter("continue", "string", "The token of the list that is continued."),
    parameter("fieldSelector", "string", "Which objects, by their fields."),
    parameter("labelSelector", "string", "Which objects, by their labels."),
    parameter("limit", "integer", "The most objects to answer with; the rest is told by a token."),
    parameter(
        "resourceVersion",
        "string",
        "Which revision, as resourceVersionMatch says; where a watch begins.",
    ),
    parameter("resourceVersionMatch", "string", "`Exact` or `NotOlderThan`."),
    parameter(
        "sendInitialEvents",
        "boolean",
        "The watch begins with what is there, and says when that was all.",
    ),
    parameter("timeoutSeconds", "integer", "When the list or the watch ends at the latest."),
    parameter("watch", "boolean", "A stream of changes instead of a list."),
];

const PRETTY: Parameter = parameter("pretty", "string", "`true`: the answer is indented.");

/// The query parameters of an action, in OpenAPI v3.
pub(super) fn of(action: &str) -> Vec<Value> {
    let sets: &[&[Parameter]] = match action {
        "get" => &[READ],
        "list" => &[LIST],
        "post" | "put" => &[CREATE],
        "patch" => &[PATCH],
        "delete" => &[DELETE],
        "deletecollection" => &[DELETE, LIST],
        _ => &[],
    };
    let mut seen = Vec::new();
    let all = sets.iter().copied().flatten();
    let fresh = all.filter(|parameter| {
        let fresh = !seen.contains(&parameter.name);
        seen.push(parameter.name);
        fresh
    });
    fresh.map(query).collect()
}

/// The parameters that every operation of a path has.
pub(super) fn of_path(kind: &str, path: &str) -> Vec<Value> {
    let mut parameters = Vec::new();
    let mut segment = |name: &str, description: String| {
        if path.contains(&format!("{{{name}}}")) {
            let schema = json!({"type": "string", "uniqueItems": true});
            parameters.push(json!({"name": name, "in": "path", "required": true, "description": description, "schema": schema}));
        }
    };
    segment("name", format!("The name of the {kind}."));
    segment("namespace", "The namespace.".into());
    parameters.push(query(&PRETTY));
    parameters
}

fn query(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": {"type": parameter.kind, "uniqueItems": true},
    })
}
