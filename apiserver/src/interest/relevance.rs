//! Relevance check of interest events: evaluates the object itself, independently of the index that
//! selected it.

use machinery_objects::{InterestBy, NAME, NAMESPACE, Requirement};
use machinery_store::Entry;
use serde_json::Value;

use super::keys::KeySet;
use crate::cache::{KeyField, ObjectFilter};
use crate::invalid::{FieldError, Problem, invalid};
use crate::kind::Kind;
use crate::refusal::Refusal;
use crate::request::unsupported;
use crate::storage::{Path, Stored};
use crate::strategy::{meta_text, metadata};
use crate::verbs::output::read;

/// Returns the index for an interest's keys. 400 if the kind has no such selectable field; 422 if
/// it would require a full scan.
pub(crate) fn index_for(by: &InterestBy, kind: &Kind, namespace: Option<&str>) -> Result<KeyField, Refusal> {
    match by {
        InterestBy::Label(label) => match Requirement::exists(label) {
            Ok(_) => Ok(KeyField::Label(label.clone())),
            Err(error) => Err(Refusal::bad_request(format!("{label:?} can be no label: {error}"))),
        },
        InterestBy::Field(field) => match &**field {
            // No index has names of all namespaces: each edit would scan every object.
            NAME if kind.namespaced && namespace.is_none() => {
                let why = "a name is one of a namespace: ask below the path of one";
                let error = FieldError::new("by", Problem::Invalid(NAME.into()), why);
                Err(invalid("", "Interest", "", &[error]))
            }
            NAME => Ok(KeyField::Name),
            NAMESPACE if kind.namespaced => Ok(KeyField::Namespace),
            field => {
                let at = kind.selectable.iter().position(|selectable| selectable.field == field);
                at.map(KeyField::Field).ok_or_else(|| Refusal::bad_request(unsupported(field)))
            }
        },
    }
}

/// The current keys and selectors of an interest, as the client set them.
pub(super) struct RelevanceCheck {
    pub(super) by: InterestBy,
    pub(super) filter: ObjectFilter,
    pub(super) keys: KeySet,
}

impl RelevanceCheck {
    pub(super) fn matches(&self, entry: &Entry) -> bool {
        let selection = &self.filter.selection;
        let (namespace, _) = selection.kind.place.names(&entry.key);
        if self.filter.namespace.as_deref().is_some_and(|only| namespace != Some(only)) {
            return false;
        }
        let Some(object) = decode_selected(&selection.kind, entry) else { return false };
        self.key(&object).is_some_and(|key| self.keys.contains(&key)) && selection.matches(&object)
    }

    /// Returns the key of an object.
    fn key(&self, object: &Value) -> Option<String> {
        match &self.by {
            InterestBy::Label(label) => {
                metadata(object).get("labels")?.get(&**label)?.as_str().map(str::to_owned)
            }
            InterestBy::Field(field) => match &**field {
                NAME => Some(meta_text(object, "name").to_owned()),
                NAMESPACE => Some(meta_text(object, "namespace").to_owned()),
                field => self.filter.selection.kind.field(object, field),
            },
        }
    }
}

/// Decodes the fields that selectors and interests read. For most objects these are read from the
/// stored bytes without decoding the rest.
fn decode_selected(kind: &Kind, entry: &Entry) -> Option<Value> {
    let stored = Stored::of(&entry.value).ok()?;
    if kind.stored.is_some() || stored.print != kind.print {
        return read(kind, entry, entry.modified).ok();
    }
    let fields: Vec<Vec<&str>> = kind
        .selectable
        .iter()
        .map(|selectable| selectable.path.iter().map(String::as_str).collect())
        .collect();
    let mut paths: Vec<Path<'_>> = fields.iter().map(|path| &path[..]).collect();
    paths.extend([&["metadata", "name"][..], &["metadata", "namespace"], &["metadata", "labels"]]);
    stored.parts(&paths).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use machinery_objects::{FieldSelector, LabelSelector, Revision};
    use serde_json::json;

    use super::*;
    use crate::select::Selection;
    use crate::storage::encode;

    /// Checks both paths: fields of the stored bytes, and full decoding for an object stored under
    /// another schema.
    fn check_of(selected: &str, by: InterestBy, key: &str, expected: bool) {
        let kinds = crate::native::kinds();
        let kind =
            kinds.into_iter().find(|kind| kind.names.plural == "events" && !kind.selectable.is_empty());
        let kind = kind.expect("events are built in, and have fields");
        let object = json!({
            "apiVersion": kind.api_version, "kind": kind.names.kind, "reason": "Full", "type": "",
            "metadata": {"name": "a", "namespace": "n", "labels": {"app": "web", "tier": "b\"c"}},
        });
        let (labels, fields) = selected.split_once('/').expect("labels and fields");
        let labels: LabelSelector = labels.parse().expect("a selector");
        let fields: FieldSelector = fields.parse().expect("a selector");
        for print in [kind.print, kind.print ^ 1] {
            let entry = Entry {
                key: kind.place.key(Some("n"), "a"),
                value: encode(object.as_object().expect("an object"), print).into(),
                created: Revision(1),
                modified: Revision(1),
            };
            let selection = Selection { kind: kind.clone(), labels: labels.clone(), fields: fields.clone() };
            let filter = ObjectFilter { selection, namespace: Some("n".into()) };
            let keys = [&Arc::from(key)].into_iter().collect();
            let witness = RelevanceCheck { by: by.clone(), filter, keys };
            assert_eq!(witness.matches(&entry), expected, "{selected} {by:?} {key:?}, {print}");
        }
    }

    fn check(by: InterestBy, key: &str, expected: bool) {
        check_of("/", by, key, expected);
    }

    #[test]
    fn unselected_objects_are_irrelevant() {
        let check =
            |selected: &str, expected| check_of(selected, InterestBy::Label("app".into()), "web", expected);
        check("app=web/reason=Full,type=", true);
        check("app!=web/", false);
        check("other/", false);
        check("/reason!=Full", false);
        check("/reason=Full,metadata.name=b", false);
        check("/metadata.namespace=n,metadata.name=a", true);
    }

    #[test]
    fn the_key_of_an_object_is_read_from_its_bytes() {
        check(InterestBy::Label("app".into()), "web", true);
        check(InterestBy::Label("app".into()), "other", false);
        check(InterestBy::Label("tier".into()), "b\"c", true);
        check(InterestBy::Label("absent".into()), "web", false);
        check(InterestBy::Field("reason".into()), "Full", true);
        check(InterestBy::Field("reason".into()), "web", false);
        check(InterestBy::Field("source".into()), "Full", false);
        check(InterestBy::Field(NAME.into()), "a", true);
        check(InterestBy::Field(NAME.into()), "n", false);
        check(InterestBy::Field(NAMESPACE.into()), "n", true);
        check(InterestBy::Field(NAMESPACE.into()), "a", false);
    }
}
