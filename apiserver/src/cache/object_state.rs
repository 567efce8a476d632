//! A cached object with its labels, selectable fields and guard keys, parsed once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use machinery_objects::Labels;
use machinery_store::Entry;
use serde::Deserialize;

use crate::guard::{Guard, keys};
use crate::kind::Kind;
use crate::quota::{MeasuredKind, ObjectUsage};
use crate::storage::{Stored, Text};
use crate::verbs::output::read;

/// The state of an object at a revision.
#[derive(Debug)]
pub(crate) struct ObjectState {
    pub(crate) entry: Arc<Entry>,
    marks: Option<LookupAttributes>,
    // Measured by the first quota that counts the object: most are never counted.
    usage: OnceLock<Option<Box<ObjectUsage>>>,
}

/// Index values of an object.
#[derive(Debug, Default)]
struct LookupAttributes {
    labels: Labels,
    /// Values of the selectable fields in the kind's order; empty if absent.
    fields: Box<[Box<str>]>,
    /// The guard keys.
    guards: Box<[Arc<str>]>,
}

impl ObjectState {
    /// Parses an entry. An unreadable object can be found by key only.
    pub(crate) fn of(kind: &Kind, guards: &[Arc<dyn Guard>], entry: Arc<Entry>) -> Self {
        let marks = LookupAttributes::of(kind, guards, &entry);
        Self { entry, marks, usage: OnceLock::new() }
    }

    /// Returns a state without index values.
    #[cfg(test)]
    pub(crate) const fn bare(entry: Arc<Entry>) -> Self {
        Self { entry, marks: None, usage: OnceLock::new() }
    }

    /// Returns the labels, if the object is readable.
    pub(crate) fn labels(&self) -> Option<&Labels> {
        self.marks.as_ref().map(|marks| &marks.labels)
    }

    /// Returns a selectable field by index, if the object is readable.
    pub(crate) fn field(&self, at: usize) -> Option<&str> {
        self.marks.as_ref()?.fields.get(at).map(|value| &**value)
    }

    /// Returns the values of all selectable fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.marks.iter().flat_map(|marks| marks.fields.iter().map(|value| &**value))
    }

    /// Returns the usage of a measured kind's object, if the object is readable.
    pub(crate) fn usage(&self, of: &Kind, kind: MeasuredKind) -> Option<&ObjectUsage> {
        let measure = || {
            let object = read(of, &self.entry, self.entry.modified).ok()?;
            Some(Box::new(ObjectUsage::of(kind, &object)))
        };
        self.usage.get_or_init(measure).as_deref()
    }

    /// Returns the guard keys.
    pub(crate) fn guards(&self) -> &[Arc<str>] {
        self.marks.as_ref().map_or(&[], |marks| &marks.guards)
    }
}

impl LookupAttributes {
    fn of(kind: &Kind, guards: &[Arc<dyn Guard>], entry: &Entry) -> Option<Self> {
        // Labels alone are read from the stored bytes, without decoding the object.
        if kind.selectable.is_empty() && guards.is_empty() {
            return Some(Self { labels: StoredLabels::of(entry)?.all(), ..Self::default() });
        }
        let object = read(kind, entry, entry.modified).ok()?;
        let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect();
        let fields = kind
            .selectable
            .iter()
            .map(|selectable| kind.field(&object, &selectable.field).unwrap_or_default().into_boxed_str());
        // Guards of two servers agree on the keys of the storage version, whatever is served.
        let guarded = if kind.stored.is_some() && !guards.is_empty() {
            Some(read(kind.storage_version(), entry, entry.modified).ok()?)
        } else {
            None
        };
        let guards = keys(guards, guarded.as_ref().unwrap_or(&object)).keys.into_iter().map(Arc::from);
        Some(Self { labels, fields: fields.collect(), guards: guards.collect() })
    }
}

/// The labels of a stored object; no conversion changes them.
#[derive(Deserialize)]
pub(crate) struct StoredLabels<'a> {
    #[serde(borrow)]
    metadata: LabelMetadata<'a>,
}

#[derive(Deserialize)]
struct LabelMetadata<'a> {
    #[serde(borrow)]
    labels: Option<BTreeMap<Text<'a>, Text<'a>>>,
}

impl<'a> StoredLabels<'a> {
    pub(crate) fn of(entry: &'a Entry) -> Option<Self> {
        serde_json::from_slice(Stored::of(&entry.value).ok()?.json()).ok()
    }

    /// Returns the value of a label.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(|value| &*value.0)
    }

    fn all(&self) -> Labels {
        self.metadata.labels.iter().flatten().map(|(key, value)| (&*key.0, &*value.0)).collect()
    }
}
