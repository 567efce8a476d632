//! Which objects of a kind a list or a watch is about.

use machinery_objects::{FieldSelector, LabelSelector, NAME, NAMESPACE};
use machinery_store::Entry;
use serde_json::Value;
use std::sync::Arc;

use crate::kind::Kind;
use crate::strategy::{meta_text, metadata};
use crate::verbs::output::read;
use crate::watch::Seen;

/// What is selected of one kind.
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

/// What cannot be read is not selected: it is counted, and shown by the name under which it is asked for.
impl Seen for Selection {
    fn sees(&self, entry: &Entry) -> bool {
        self.is_everything()
            || read(&self.kind, entry, entry.modified).is_ok_and(|object| self.matches(&object))
    }
}
