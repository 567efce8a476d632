//! Metadata of an object that is updated.

use std::collections::BTreeSet;

use machinery_objects::NameRule;
use serde_json::{Map, Value, json};

use super::place;
use super::validate::{MAX_ERRORS, common, text, texts, values};
use crate::invalid::{FieldError, Problem, invalid};
use crate::refusal::Refusal;

/// The target of a metadata update: path, kind, and whether a resourceVersion is required.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update<'a> {
    /// The namespace of the path; none for a cluster-scoped kind.
    pub(crate) namespace: Option<&'a str>,
    /// The name in the path.
    pub(crate) name: &'a str,
    /// The group of the kind; empty for the core group.
    pub(crate) group: &'a str,
    pub(crate) plural: &'a str,
    /// Whether the kind may be updated without a resourceVersion; custom resources may not.
    pub(crate) unconditional: bool,
}

/// Turns decoded metadata into that of the next state of an object: fields that clients cannot
/// change are restored.
///
/// `old` has its `resourceVersion`. This function does not compare it with that of `new`, nor does
/// it treat the UID as a precondition: another UID is an error here, and a conflict for a full
/// update. `generation` is that of `old`. Returns the errors of the other fields. Fails with 400 if
/// the object is not the one that the path names, 422 if it must have a resourceVersion.
pub(crate) fn for_update(
    new: &mut Map<String, Value>,
    old: &Map<String, Value>,
    how: &Update<'_>,
) -> Result<Vec<FieldError>, Refusal> {
    place::put(new, how.namespace)?;
    place::check_name(new, how.name)?;
    new.remove("selfLink");
    restore(new, old, "generation");
    if text(new, "uid").is_empty() {
        restore(new, old, "uid");
    }
    if old.contains_key("creationTimestamp") {
        restore(new, old, "creationTimestamp");
    }
    if old.contains_key("deletionTimestamp") {
        restore(new, old, "deletionTimestamp");
    }
    if !new.contains_key("deletionGracePeriodSeconds") {
        restore(new, old, "deletionGracePeriodSeconds");
    }
    if matches!(text(new, "resourceVersion"), "" | "0") {
        if !how.unconditional {
            let why = "must be specified for an update";
            let error = FieldError::new("metadata.resourceVersion", Problem::Invalid(json!(0)), why);
            return Err(invalid(how.group, how.plural, how.name, &[error]));
        }
        restore(new, old, "resourceVersion");
    }

    let mut wrong = common(new, how.namespace.is_some(), NameRule::PathSegment);
    // Kubernetes checks these rules twice, once for all kinds and once for each, and reports the
    // causes twice.
    for _ in 0..2 {
        wrong.extend(new_finalizers(new, old));
        wrong.extend(changed(new, old));
        values(new, &mut wrong);
    }
    wrong.truncate(MAX_ERRORS);
    Ok(wrong)
}

/// Returns errors for changes of immutable fields.
fn changed(new: &Map<String, Value>, old: &Map<String, Value>) -> impl Iterator<Item = FieldError> {
    let kept =
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];
    kept.into_iter().filter(|&key| new.get(key) != old.get(key)).map(|key| {
        let value = new.get(key).cloned().unwrap_or_default();
        FieldError::new(format!("metadata.{key}"), Problem::Invalid(value), "field is immutable")
    })
}

fn restore(new: &mut Map<String, Value>, old: &Map<String, Value>, key: &str) {
    match old.get(key) {
        Some(value) => new.insert(key.into(), value.clone()),
        None => new.remove(key),
    };
}

/// An object that is being deleted can lose finalizers, but not gain any.
fn new_finalizers(new: &Map<String, Value>, old: &Map<String, Value>) -> Option<FieldError> {
    old.get("deletionTimestamp")?;
    let known: BTreeSet<&str> = texts(old, "finalizers").collect();
    let added: BTreeSet<&str> = texts(new, "finalizers").filter(|name| !known.contains(name)).collect();
    let shown = added.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
    );
    (!added.is_empty()).then(|| FieldError::new("metadata.finalizers", Problem::Forbidden, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: Update<'_> = Update {
        namespace: Some("n"),
        name: "a",
        group: "example.com",
        plural: "widgets",
        unconditional: false,
    };

    fn old(more: Value) -> Value {
        merged(
            json!({"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5", "generation": 3,
                      "creationTimestamp": "2026-11-21T09:30:38Z"}),
            more,
        )
    }

    fn merged(mut base: Value, more: Value) -> Value {
        for (key, value) in more.as_object().unwrap() {
            base[key] = value.clone();
        }
        base
    }

    fn update(new: Value, old: Value, how: &Update<'_>) -> Result<(Value, Vec<String>), Refusal> {
        let (Value::Object(mut new), Value::Object(old)) = (new, old) else {
            panic!("metadata is an object")
        };
        let wrong = for_update(&mut new, &old, how)?;
        let mut told: Vec<String> = Vec::new();
        for error in wrong.iter().map(ToString::to_string) {
            if !told.contains(&error) {
                told.push(error);
            }
        }
        Ok((Value::Object(new), told))
    }

    fn check(new: Value, old: Value, expected: Value) {
        assert_eq!(update(new, old, &HOW), Ok((expected, Vec::new())));
    }

    fn wrong(new: Value, old: Value, expected: &[&str]) {
        assert_eq!(update(new, old, &HOW).unwrap().1, expected);
    }

    fn refused(new: Value, how: &Update<'_>, message: &str) {
        let refusal = update(new, old(json!({})), how).unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (400, message));
    }

    #[test]
    fn fields_of_the_server_are_restored() {
        check(json!({"name": "a", "resourceVersion": "5"}), old(json!({})), old(json!({})));
        check(
            json!({"name": "a", "namespace": "n", "resourceVersion": "4", "generation": 9, "selfLink": "/x", "uid": "u",
                   "creationTimestamp": "2020-01-01T00:00:00Z", "labels": {"a": "b"}}),
            old(json!({"labels": {"c": "d"}})),
            old(json!({"resourceVersion": "4", "labels": {"a": "b"}})),
        );
        let going = json!({"deletionTimestamp": "2026-11-21T10:00:00Z", "deletionGracePeriodSeconds": 0, "finalizers": ["x"]});
        let gone = json!({"deletionTimestamp": "2026-11-21T10:00:00Z", "deletionGracePeriodSeconds": 0});
        check(json!({"name": "a", "resourceVersion": "5"}), old(going), old(gone));
        let cluster = Update { namespace: None, ..HOW };
        let (new, _) = update(
            json!({"name": "a", "namespace": "x", "resourceVersion": "1"}),
            json!({"name": "a"}),
            &cluster,
        )
        .unwrap();
        assert_eq!(new, json!({"name": "a", "resourceVersion": "1"}));
    }

    #[test]
    fn causes_are_repeated_as_in_kubernetes() {
        let new = json!({"name": "a", "resourceVersion": "5", "labels": {"a b": ""}, "deletionGracePeriodSeconds": 5});
        let (Value::Object(mut new), Value::Object(old)) = (new, old(json!({}))) else {
            panic!("these are objects")
        };
        let wrong = for_update(&mut new, &old, &HOW).unwrap();
        let fields: Vec<_> = wrong.iter().map(|error| error.field.trim_start_matches("metadata.")).collect();
        let grace = "deletionGracePeriodSeconds";
        assert_eq!(fields, ["labels", grace, "labels", grace, "labels"]);
    }

    #[test]
    fn resource_version_is_required_for_most_updates() {
        let refusal = update(json!({"name": "a"}), old(json!({})), &HOW).unwrap_err();
        let why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
        assert_eq!(refusal.message, format!("widgets.example.com \"a\" is invalid: {why}"));
        assert_eq!((refusal.code, refusal.causes.len()), (422, 1));
        let how = Update { unconditional: true, ..HOW };
        assert_eq!(update(json!({"name": "a"}), old(json!({})), &how), Ok((old(json!({})), Vec::new())));
    }

    #[test]
    fn changes_of_immutable_metadata_are_refused() {
        wrong(
            json!({"name": "a", "resourceVersion": "5", "uid": "other", "deletionTimestamp": "2026-11-21T10:00:00Z",
                   "deletionGracePeriodSeconds": 5}),
            old(json!({})),
            &[
                "metadata.uid: Invalid value: \"other\": field is immutable",
                "metadata.deletionTimestamp: Invalid value: \"2026-11-21T10:00:00Z\": field is immutable",
                "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
            ],
        );
    }

    #[test]
    fn a_deleted_object_gets_no_new_finalizers() {
        let going = old(json!({"deletionTimestamp": "2026-11-21T10:00:00Z", "finalizers": ["x", "y"]}));
        let why = "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
                   finalizers []string{\"a\", \"z\"}";
        let new = |finalizers: Value| json!({"name": "a", "resourceVersion": "5", "finalizers": finalizers});
        wrong(new(json!(["z", "x", "a"])), going.clone(), &[why]);
        wrong(new(json!(["y"])), going, &[]);
        wrong(new(json!(["z"])), old(json!({})), &[]);
    }

    #[test]
    fn refusals() {
        refused(
            json!({"name": "b"}),
            &HOW,
            "the name of the object (b) does not match the name on the URL (a)",
        );
        refused(
            json!({}),
            &HOW,
            "the name of the object (a based on URL) was undeterminable: name must be provided",
        );
        refused(
            json!({"name": "a", "namespace": "x"}),
            &HOW,
            "the namespace of the provided object does not match the namespace sent on the request",
        );
    }
}
