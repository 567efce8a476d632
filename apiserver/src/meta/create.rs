//! Metadata of an object that is created.

use jiff::Timestamp;
use machinery_objects::NameRule;
use serde_json::{Map, Value};

use super::names::generate_name;
use super::validate::{MAX_ERRORS, common, text};
use super::{place, time};
use crate::invalid::FieldError;
use crate::refusal::Refusal;

/// The namespace, kind, time and randomness of a create.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Creation<'a> {
    /// The namespace of the path; none for a cluster-scoped kind.
    pub(crate) namespace: Option<&'a str>,
    /// The rule for the kind's names.
    pub(crate) names: NameRule,
    /// Whether the kind counts its generations.
    pub(crate) generations: bool,
    pub(crate) now: Timestamp,
    pub(crate) uid: &'a str,
    /// Randomness for the suffix of a generated name; another value for another try.
    pub(crate) chance: u64,
}

/// Turns decoded metadata into that of a new object: fields that only the server sets are
/// overwritten.
///
/// Returns the errors of the other fields; empty if there are none. Fails with 400 if the object
/// names another namespace, or a resourceVersion.
pub(crate) fn for_create(
    meta: &mut Map<String, Value>,
    how: &Creation<'_>,
) -> Result<Vec<FieldError>, Refusal> {
    if !matches!(text(meta, "resourceVersion"), "" | "0") {
        return Err(Refusal::bad_request("resourceVersion should not be set on objects to be created"));
    }
    place::put(meta, how.namespace)?;
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"] {
        meta.remove(key);
    }
    let generate = text(meta, "generateName");
    if text(meta, "name").is_empty() && !generate.is_empty() {
        meta.insert("name".into(), generate_name(generate, how.chance).into());
    }
    meta.insert("uid".into(), how.uid.into());
    meta.insert("creationTimestamp".into(), time::shown(how.now).into());
    if how.generations {
        meta.insert("generation".into(), 1.into());
    }
    let mut wrong = common(meta, how.namespace.is_some(), how.names);
    wrong.truncate(MAX_ERRORS);
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOW: Creation<'_> = Creation {
        namespace: Some("n"),
        names: NameRule::DnsSubdomain,
        generations: true,
        now: Timestamp::UNIX_EPOCH,
        uid: "u",
        chance: 0,
    };

    fn create(meta: Value, how: &Creation<'_>) -> Result<(Value, Vec<FieldError>), Refusal> {
        let Value::Object(mut meta) = meta else { panic!("metadata is an object") };
        let wrong = for_create(&mut meta, how)?;
        Ok((Value::Object(meta), wrong))
    }

    fn check(meta: Value, how: &Creation<'_>, expected: Value) {
        assert_eq!(create(meta, how), Ok((expected, Vec::new())));
    }

    fn refused(meta: Value, how: &Creation<'_>, message: &str) {
        let refusal = create(meta, how).unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (400, message));
    }

    #[test]
    fn fields_of_the_server_are_overwritten() {
        let whole = json!({"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "1970-01-01T00:00:00Z", "generation": 1});
        check(json!({"name": "a"}), &HOW, whole.clone());
        check(
            json!({"name": "a", "namespace": "n", "uid": "mine", "creationTimestamp": "2026-11-21T09:30:38Z", "generation": 7,
                   "deletionTimestamp": "2026-11-21T09:30:38Z", "deletionGracePeriodSeconds": 3, "selfLink": "/x"}),
            &HOW,
            whole.clone(),
        );
        let plain = Creation { namespace: None, generations: false, ..HOW };
        let cluster = json!({"name": "a", "uid": "u", "creationTimestamp": "1970-01-01T00:00:00Z"});
        check(json!({"name": "a", "namespace": "dropped"}), &plain, cluster);
    }

    #[test]
    fn names_are_generated() {
        let name = |meta, how| create(meta, how).unwrap().0["name"].clone();
        assert_eq!(name(json!({"generateName": "web-"}), &HOW), json!("web-bbbbb"));
        assert_eq!(name(json!({"generateName": "web-"}), &Creation { chance: 1, ..HOW }), json!("web-cbbbb"));
        assert_eq!(name(json!({"generateName": "web-", "name": "a"}), &HOW), json!("a"));
    }

    #[test]
    fn refusals() {
        refused(
            json!({"name": "a", "namespace": "other"}),
            &HOW,
            "the namespace of the provided object does not match the namespace sent on the request",
        );
        let version = json!({"name": "a", "resourceVersion": "1"});
        refused(version, &HOW, "resourceVersion should not be set on objects to be created");
        assert!(create(json!({"name": "a", "resourceVersion": "0"}), &HOW).is_ok());
        let wrong = create(json!({}), &HOW).unwrap().1;
        assert_eq!(wrong[0].to_string(), "metadata.name: Required value: name or generateName is required");
        assert_eq!(create(json!({"labels": {"a b": "", "a  b": ""}, "name": "a"}), &HOW).unwrap().1.len(), 2);
        let many = json!({"name": "a", "finalizers": vec!["x y"; 1000]});
        assert_eq!(create(many, &HOW).unwrap().1.len(), MAX_ERRORS);
    }
}
