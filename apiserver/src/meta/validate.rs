//! Validates decoded metadata of any kind.

use machinery_objects::NameRule;
use serde_json::{Map, Value, json};

use super::names::{self, label_key, label_value};
use crate::invalid::{FieldError, Problem};
use crate::json::go_json;

/// How long all annotations together may be, keys and values, in bytes.
pub(crate) const MAX_ANNOTATIONS: usize = 256 << 10;

/// Approximate maximum number of errors: a body could have as many as lines, each with a text of
/// its own.
pub(super) const MAX_ERRORS: usize = 100;

/// Runs all checks that do not compare with an older state.
pub(super) fn common(meta: &Map<String, Value>, namespaced: bool, rule: NameRule) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let generate = text(meta, "generateName");
    if !generate.is_empty() {
        wrong.extend(invalid("generateName", generate, names::prefix(rule, generate)));
    }
    match text(meta, "name") {
        "" => wrong.push(required("name", "name or generateName is required")),
        name => wrong.extend(invalid("name", name, names::name(rule, name))),
    }
    match text(meta, "namespace") {
        "" if namespaced => wrong.push(required("namespace", "")),
        "" => {}
        namespace if namespaced => wrong.extend(invalid("namespace", namespace, names::dns_label(namespace))),
        _ => {
            wrong.push(FieldError::new("metadata.namespace", Problem::Forbidden, "not allowed on this type"))
        }
    }
    if let Some(generation) = number(meta, "generation").filter(|&generation| generation < 0) {
        let why = "must be greater than or equal to 0";
        wrong.push(FieldError::new("metadata.generation", Problem::Invalid(json!(generation)), why));
    }
    labels(meta, &mut wrong);
    owners(meta, &mut wrong);
    finalizers(meta, &mut wrong);
    wrong
}

/// Returns the errors of the metadata, at `at`, of an embedded resource. Names are checked by the
/// schema's caller.
pub(crate) fn embedded(metadata: &Value, at: &str) -> Vec<FieldError> {
    let Value::Object(meta) = metadata else { return Vec::new() };
    let mut wrong: Vec<FieldError> = match text(meta, "namespace") {
        "" => Vec::new(),
        namespace => invalid("namespace", namespace, names::dns_label(namespace)).collect(),
    };
    values(meta, &mut wrong);
    finalizers(meta, &mut wrong);
    for error in &mut wrong {
        error.field = error.field.replacen("metadata", at, 1);
    }
    wrong
}

/// Runs the checks that updates repeat.
pub(super) fn values(meta: &Map<String, Value>, wrong: &mut Vec<FieldError>) {
    labels(meta, wrong);
    owners(meta, wrong);
}

/// Returns a string field of the metadata; empty if omitted.
pub(super) fn text<'a>(meta: &'a Map<String, Value>, key: &str) -> &'a str {
    meta.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the strings of a list field of the metadata.
pub(super) fn texts<'a>(meta: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a str> {
    items(meta, key).filter_map(Value::as_str)
}

fn items<'a>(meta: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    meta.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn pairs<'a>(meta: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let map = meta.get(key).and_then(Value::as_object).into_iter().flatten();
    map.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

fn number(meta: &Map<String, Value>, key: &str) -> Option<i64> {
    meta.get(key).and_then(Value::as_i64)
}

fn labels(meta: &Map<String, Value>, wrong: &mut Vec<FieldError>) {
    for (key, value) in pairs(meta, "labels") {
        if wrong.len() >= MAX_ERRORS {
            return;
        }
        wrong.extend(invalid("labels", key, label_key(key)));
        wrong.extend(invalid("labels", value, label_value(value)));
    }
    for (key, _) in pairs(meta, "annotations") {
        if wrong.len() >= MAX_ERRORS {
            return;
        }
        wrong.extend(invalid("annotations", key, label_key(&key.to_lowercase())));
    }
    if pairs(meta, "annotations").map(|(key, value)| key.len() + value.len()).sum::<usize>() > MAX_ANNOTATIONS
    {
        wrong.push(too_long("metadata.annotations", MAX_ANNOTATIONS));
    }
}

fn owners(meta: &Map<String, Value>, wrong: &mut Vec<FieldError>) {
    let mut controller: Option<String> = None;
    let mut told = false;
    for (at, owner) in items(meta, "ownerReferences").enumerate() {
        if wrong.len() >= MAX_ERRORS {
            return;
        }
        let Value::Object(owner) = owner else { continue };
        let field = |name: &str| format!("ownerReferences[{at}].{name}");
        let (api_version, kind) = (text(owner, "apiVersion"), text(owner, "kind"));
        if api_version.is_empty() {
            wrong.push(required(&field("apiVersion"), "must not be empty"));
        } else if !is_api_version(api_version) {
            let why = vec!["must be <group>/<version> or <version>".to_owned()];
            wrong.extend(invalid(&field("apiVersion"), api_version, why));
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                wrong.push(required(&field(name), "must not be empty"));
            }
        }
        if (api_version, kind) == ("v1", "Event") {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            let field = format!("metadata.ownerReferences[{at}]");
            wrong.push(FieldError::new(field, Problem::InvalidAs(owner_text(owner)), why));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let this = format!("{kind}/{}", text(owner, "name"));
            match &controller {
                None => controller = Some(this),
                // Reported once: it contains all of them.
                Some(first) if !told => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and \
                         {this}"
                    );
                    let owners = items(meta, "ownerReferences").filter_map(Value::as_object).map(owner_text);
                    let owners = format!("[{}]", owners.collect::<Vec<_>>().join(","));
                    wrong.push(FieldError::new("metadata.ownerReferences", Problem::InvalidAs(owners), why));
                    told = true;
                }
                Some(_) => {}
            }
        }
    }
}

/// An owner as Go writes it: in the order of its type.
fn owner_text(owner: &Map<String, Value>) -> String {
    const ORDER: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let fields = ORDER.iter().filter_map(|name| Some(format!("\"{name}\":{}", go_json(owner.get(*name)?))));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn is_api_version(text: &str) -> bool {
    match text.split_once('/') {
        None => true,
        Some((_, version)) => !version.is_empty() && !version.contains('/'),
    }
}

fn finalizers(meta: &Map<String, Value>, wrong: &mut Vec<FieldError>) {
    for name in texts(meta, "finalizers") {
        if wrong.len() >= MAX_ERRORS {
            return;
        }
        wrong.extend(invalid("finalizers", name, label_key(name)));
    }
    let has = |wanted: &str| texts(meta, "finalizers").any(|name| name == wanted);
    if has("orphan") && has("foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        let all = meta.get("finalizers").cloned().unwrap_or_default();
        wrong.push(FieldError::new("metadata.finalizers", Problem::Invalid(all), why));
    }
}

fn invalid(field: &str, value: &str, why: Vec<String>) -> impl Iterator<Item = FieldError> {
    why.into_iter()
        .map(move |why| FieldError::new(format!("metadata.{field}"), Problem::Invalid(json!(value)), why))
}

fn required(field: &str, why: &str) -> FieldError {
    FieldError::new(format!("metadata.{field}"), Problem::Required, why)
}

fn too_long(field: &str, limit: usize) -> FieldError {
    FieldError::new(field, Problem::TooLong, format!("may not be more than {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expects errors with these prefixes from otherwise valid metadata.
    fn check(meta: Value, expected: &[&str]) {
        let Value::Object(mut meta) = meta else { panic!("metadata is an object") };
        for (key, value) in [("name", "a"), ("namespace", "n")] {
            meta.entry(key).or_insert(value.into());
        }
        let wrong: Vec<_> =
            common(&meta, true, NameRule::DnsSubdomain).iter().map(ToString::to_string).collect();
        assert_eq!(wrong.len(), expected.len(), "{wrong:#?}");
        for (wrong, expected) in wrong.iter().zip(expected) {
            assert!(wrong.starts_with(expected), "{wrong}");
        }
    }

    #[test]
    fn errors_of_embedded_metadata_have_its_path() {
        let check = |meta: Value, expected: &[&str]| {
            let wrong = embedded(&meta, "spec.template.metadata");
            assert_eq!(wrong.iter().map(|error| &*error.field).collect::<Vec<_>>(), expected);
        };
        check(json!({"name": "Any Name", "labels": {"x": "y"}}), &[]);
        check(json!(null), &[]);
        let wrong =
            json!({"labels": {"x": "?"}, "namespace": "A", "finalizers": ["?"], "ownerReferences": [{}]});
        let at = |field: &str| format!("spec.template.metadata.{field}");
        let owner =
            ["apiVersion", "kind", "name", "uid"].map(|field| at(&format!("ownerReferences[0].{field}")));
        let fields = [at("namespace"), at("labels")].into_iter().chain(owner).chain([at("finalizers")]);
        let fields: Vec<String> = fields.collect();
        check(wrong, &fields.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn names() {
        check(json!({}), &[]);
        check(json!({"name": ""}), &["metadata.name: Required value: name or generateName is required"]);
        check(json!({"name": "A"}), &["metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain"]);
        check(
            json!({"generateName": "A-b"}),
            &["metadata.generateName: Invalid value: \"A-b\": a lowercase RFC 1123"],
        );
        check(json!({"generateName": "b-"}), &[]);
        check(json!({"namespace": ""}), &["metadata.namespace: Required value"]);
        check(
            json!({"namespace": "a.b"}),
            &["metadata.namespace: Invalid value: \"a.b\": must not contain dots"],
        );
        check(
            json!({"generation": -1}),
            &["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
        );
        let cluster = common(
            &Map::from_iter([("namespace".to_owned(), json!("n")), ("name".to_owned(), json!("a"))]),
            false,
            NameRule::PathSegment,
        );
        assert_eq!(cluster[0].to_string(), "metadata.namespace: Forbidden: not allowed on this type");
    }

    #[test]
    fn labels_and_annotations() {
        check(json!({"labels": {"a/b": "c"}, "annotations": {"A.b/C": "anything\n"}}), &[]);
        check(
            json!({"labels": {"a b": "c d"}}),
            &[
                "metadata.labels: Invalid value: \"a b\": name part",
                "metadata.labels: Invalid value: \"c d\": a valid label",
            ],
        );
        check(
            json!({"annotations": {"a b": ""}}),
            &["metadata.annotations: Invalid value: \"a b\": name part"],
        );
        let of = |length: usize| json!({"annotations": {"a": "x".repeat(length - 1)}});
        check(of(262_144), &[]);
        check(of(262_145), &["metadata.annotations: Too long: may not be more than 262144 bytes"]);
    }

    #[test]
    fn owners_of_it() {
        let owner = |kind: &str, controller: bool| json!({"apiVersion": "v1", "kind": kind, "name": "o", "uid": "u", "controller": controller});
        check(json!({"ownerReferences": [owner("A", true), owner("B", false)]}), &[]);
        check(
            json!({"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}),
            &[
                "metadata.ownerReferences[0].apiVersion: Required value: must not be empty",
                "metadata.ownerReferences[0].kind: Required value: must not be empty",
                "metadata.ownerReferences[0].name: Required value: must not be empty",
                "metadata.ownerReferences[0].uid: Required value: must not be empty",
            ],
        );
        for version in ["a/b/c", "a/"] {
            let wrong = format!(
                "metadata.ownerReferences[0].apiVersion: Invalid value: \"{version}\": must be <group>/<version>"
            );
            check(
                json!({"ownerReferences": [{"apiVersion": version, "kind": "K", "name": "o", "uid": "u"}]}),
                &[&wrong],
            );
        }
        check(
            json!({"ownerReferences": [owner("Event", false)]}),
            &[
                "metadata.ownerReferences[0]: Invalid value: {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"o\",\"uid\":\"u\",\"controller\":false}",
            ],
        );
        let two = common(
            json!({"name": "a", "namespace": "n", "ownerReferences": [owner("A", true), owner("B", true)]})
                .as_object()
                .unwrap(),
            true,
            NameRule::DnsSubdomain,
        );
        assert_eq!(
            two[0].detail,
            "Only one reference can have Controller set to true. Found \"true\" in references for A/o and B/o"
        );
    }

    #[test]
    fn finalizers_of_it() {
        check(json!({"finalizers": ["a", "b.c/d", "orphan"]}), &[]);
        check(json!({"finalizers": ["a b"]}), &["metadata.finalizers: Invalid value: \"a b\": name part"]);
        check(
            json!({"finalizers": ["orphan", "foregroundDeletion"]}),
            &[
                "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and \
               foregroundDeletion cannot be both set",
            ],
        );
    }
}
