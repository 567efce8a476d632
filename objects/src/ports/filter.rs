//! Which objects of a kind.

use std::sync::Arc;

use crate::{FieldSelector, Fields, LabelSelector, Object};

/// Which objects of a kind are meant; without any condition, all. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Only those in this namespace.
    pub namespace: Option<Arc<str>>,
    /// Only those with such labels.
    pub labels: LabelSelector,
    /// Only those with such fields.
    pub fields: FieldSelector,
}

impl Filter {
    /// Whether an object is meant.
    pub fn matches<O: Object>(&self, object: &O, fields: &Fields<O>) -> bool {
        let there =
            self.namespace.as_ref().is_none_or(|namespace| object.key().namespace() == Some(&**namespace));
        there
            && (self.labels.is_everything() || self.labels.matches(&object.labels()))
            && (self.fields.is_everything() || self.fields.matches(&fields.of(object)))
    }
}
