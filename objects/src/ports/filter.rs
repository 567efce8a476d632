//! Selection of the objects of a kind.

use std::sync::Arc;

use crate::{FieldSelector, Fields, LabelSelector, Object};

/// Selects objects of a kind; all conditions must hold, and without any all objects match. Cheap to
/// clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Requires this namespace.
    pub namespace: Option<Arc<str>>,
    /// Requires matching labels.
    pub labels: LabelSelector,
    /// Requires matching fields.
    pub fields: FieldSelector,
}

impl Filter {
    /// Returns whether an object matches.
    pub fn matches<O: Object>(&self, object: &O, fields: &Fields<O>) -> bool {
        let there =
            self.namespace.as_ref().is_none_or(|namespace| object.key().namespace() == Some(&**namespace));
        there
            // Without a selector no labels or fields are extracted, which would allocate.
            && (self.labels.is_everything() || self.labels.matches(&object.labels()))
            && (self.fields.is_everything() || self.fields.matches(&fields.of(object)))
    }
}
