//! The selection of objects in a list or watch, by label and field selectors.

use std::sync::Arc;

use machinery_objects::{FieldSelector, LabelSelector, NAME, NAMESPACE, NameRule};
use machinery_store::{Entry, KeySpan};
use serde_json::Value;

use crate::cache::{ObjectState, StoredLabels};
use crate::kind::Kind;
use crate::strategy::{meta_text, metadata};
use crate::verbs::output::read;

/// The selection of objects of one kind.
#[derive(Clone)]
pub(crate) struct Selection {
    pub(crate) kind: Arc<Kind>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// Returns the range of keys of all selected objects: one key, for one name in one namespace.
    pub(crate) fn span(&self, namespace: Option<&str>) -> KeySpan {
        let place = &self.kind.place;
        match self.fields.exactly(NAME).filter(|name| NameRule::PathSegment.check(name).is_ok()) {
            Some(name) if namespace.is_some() || !self.kind.namespaced => {
                KeySpan::one(place.key(namespace, name))
            }
            _ => place.span(namespace),
        }
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let label = |key: &str| metadata(object).get("labels")?.get(key)?.as_str();
        self.labels.matches_by(label)
            && self.fields.terms().iter().all(|term| match term.field() {
                NAME => term.matches(Some(meta_text(object, "name"))),
                NAMESPACE => term.matches(Some(meta_text(object, "namespace"))),
                field => term.matches(self.kind.field(object, field).as_deref()),
            })
    }
}

impl Selection {
    /// Returns whether a stored state is selected. An unreadable one is not: it is counted, and
    /// returned as an error by a get.
    ///
    /// Checks the cheapest condition first: the key, then the labels, and the decoded object at
    /// last.
    pub(crate) fn sees(&self, entry: &Entry) -> bool {
        if self.is_everything() {
            return true;
        }
        if !self.sees_key(&entry.key) {
            return false;
        }
        if self.fields.terms().iter().any(|term| !is_of_key(term.field())) {
            return read(&self.kind, entry, entry.modified).is_ok_and(|object| self.matches(&object));
        }
        self.labels.is_everything()
            || StoredLabels::of(entry).is_some_and(|labelled| self.labels.matches_by(|key| labelled.get(key)))
    }
}

impl Selection {
    /// Returns whether a state is selected, by its extracted parts. As with entries, an unreadable
    /// one is not.
    pub(crate) fn sees_state(&self, state: &ObjectState) -> bool {
        let labelled = || state.labels().is_some_and(|labels| self.labels.matches(labels));
        self.sees_key(&state.entry.key)
            && (self.labels.is_everything() || labelled())
            && self.fields.terms().iter().filter(|term| !is_of_key(term.field())).all(|term| {
                let at = self.kind.selectable.iter().position(|selectable| selectable.field == term.field());
                at.and_then(|at| state.field(at)).is_some_and(|value| term.matches(Some(value)))
            })
    }

    /// Returns whether the terms about name and namespace hold.
    fn sees_key(&self, key: &str) -> bool {
        let mut terms = self.fields.terms().iter().filter(|term| is_of_key(term.field())).peekable();
        if terms.peek().is_none() {
            return true;
        }
        let (namespace, name) = self.kind.place.names(key);
        terms.all(|term| match term.field() {
            NAMESPACE => term.matches(namespace),
            _ => term.matches(Some(name)),
        })
    }
}

fn is_of_key(field: &str) -> bool {
    field == NAME || field == NAMESPACE
}

#[cfg(test)]
mod tests {
    use machinery_objects::Revision;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::storage::encode;

    fn kind(group: &str, plural: &str) -> Arc<Kind> {
        let kinds = crate::native::kinds();
        let kind = kinds.into_iter().find(|kind| &*kind.group == group && kind.names.plural == plural);
        kind.unwrap_or_else(|| panic!("{plural} are built in"))
    }

    fn entry(kind: &Kind, object: &Value) -> Entry {
        let text = |field| Some(meta_text(object, field)).filter(|text| !text.is_empty());
        let key = kind.place.key(text("namespace"), text("name").unwrap_or_default());
        let value = encode(object.as_object().expect("an object"), kind.print).into();
        Entry { key, value, created: Revision(1), modified: Revision(7) }
    }

    /// The stored form and the object give the same selection.
    #[track_caller]
    fn check(kind: &Arc<Kind>, object: &Value, labels: &str, fields: &str) -> bool {
        let (labels, fields) = (labels.parse().expect("labels"), fields.parse().expect("fields"));
        let selection = Selection { kind: kind.clone(), labels, fields };
        let entry = entry(kind, object);
        let seen = selection.sees(&entry);
        assert_eq!(seen, selection.matches(object), "{object}");
        assert_eq!(selection.sees_state(&ObjectState::of(kind, &[], entry.into())), seen, "{object}");
        seen
    }

    #[test]
    fn selection_by_stored_form_equals_selection_by_object() {
        let object = json!({"metadata": {"name": "a", "namespace": "b", "labels": {"x": "1", "y/z": ""}}});
        let maps = kind("", "configmaps");
        for (labels, fields, expected) in [
            ("", "", true),
            ("x=1", "", true),
            ("x=2", "", false),
            ("y/z,!w", "metadata.name=a", true),
            ("x=1", "metadata.name!=a", false),
            ("", "metadata.namespace=b", true),
            ("", "metadata.namespace=a", false),
        ] {
            assert_eq!(check(&maps, &object, labels, fields), expected, "{labels} {fields}");
        }
        let bare = json!({"metadata": {"name": "a"}});
        let spaces = kind("", "namespaces");
        assert!(check(&spaces, &bare, "!x", "metadata.name=a,metadata.namespace="));
        assert!(!check(&spaces, &bare, "x", ""));
    }

    #[test]
    fn one_name_is_one_key() {
        let span = |kind: &Arc<Kind>, fields: &str, namespace| {
            let (labels, fields) = (LabelSelector::default(), fields.parse().expect("fields"));
            Selection { kind: kind.clone(), labels, fields }.span(namespace).text().to_string()
        };
        let (maps, spaces) = (kind("", "configmaps"), kind("", "namespaces"));
        assert_eq!(span(&maps, "metadata.name=a", Some("b")), "core/configmaps/b/a");
        assert_eq!(span(&spaces, "metadata.name=a", None), "core/namespaces/a");
        assert_eq!(span(&maps, "metadata.name=a", None), "core/configmaps/");
        assert_eq!(span(&maps, "metadata.name!=a", Some("b")), "core/configmaps/b/");
        assert_eq!(span(&maps, "metadata.name=a/b", Some("b")), "core/configmaps/b/");
    }

    #[test]
    fn unreadable_objects_are_not_selected() {
        let maps = kind("", "configmaps");
        let (key, value) = ("core/configmaps/b/a".into(), b"nothing"[..].into());
        let broken = Entry { key, value, created: Revision(1), modified: Revision(7) };
        let labels = "!x".parse().expect("labels");
        assert!(!Selection { kind: maps, labels, fields: FieldSelector::default() }.sees(&broken));
    }

    proptest! {
        #[test]
        fn any_labels_are_read_from_the_bytes(
            labels in proptest::collection::btree_map("[a-c\"\\\\\u{e4}]{1,2}", "[a-c\"\n\u{e4}]{0,2}", 0..4),
            asked in "(!?[a-c]|[a-c]=[a-c]?|[a-c]!=[a-c]|[a-c] (in|notin) \\([a-c],[a-c]?\\))",
        ) {
            let object = json!({"metadata": {"name": "n", "namespace": "s", "labels": labels}});
            check(&kind("", "configmaps"), &object, &asked, "");
        }
    }
}
