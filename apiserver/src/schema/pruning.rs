//! Pruning: finds and removes fields that the schema does not have.

use serde_json::Value;

use super::node::{Additional, META_FIELDS, Schema};
use super::path::ValuePath;
use crate::bounded::BoundedTexts;

impl Schema {
    /// Drops fields of a Kubernetes object that the schema does not have. Its apiVersion, kind and
    /// metadata stay.
    pub(crate) fn prune(&self, object: &mut Value) {
        self.prune_as(object, true);
    }

    /// Returns the paths of fields of a Kubernetes object that the schema does not have, which
    /// [`Schema::prune`] drops, by name in order.
    pub(crate) fn unknown_fields(&self, object: &Value) -> BoundedTexts {
        let mut found = BoundedTexts::default();
        list(Ruler { embedded: true, ..Ruler::of(Some(self)) }, object, &ValuePath::start(""), &mut found);
        found.sort();
        found
    }

    /// Returns the kept paths of [`Schema::unknown_fields`].
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn unknown(&self, object: &Value) -> Vec<String> {
        self.unknown_fields(object).kept().to_vec()
    }

    pub(super) fn prune_as(&self, value: &mut Value, embedded: bool) {
        prune(Ruler { embedded: self.embedded || embedded, ..Ruler::of(Some(self)) }, value);
    }
}

/// The schema and inherited options that decide about the fields of a value.
#[derive(Clone, Copy)]
struct Ruler<'s> {
    schema: Option<&'s Schema>,
    embedded: bool,
    preserve: bool,
}

/// The treatment of a field.
enum Fate<'s> {
    Kept,
    Gone,
    Below(Ruler<'s>),
}

impl<'s> Ruler<'s> {
    fn of(schema: Option<&'s Schema>) -> Self {
        let (embedded, preserve) =
            schema.map_or((false, false), |schema| (schema.embedded, schema.preserve_unknown));
        Self { schema, embedded, preserve }
    }

    fn field(self, name: &str) -> Fate<'s> {
        if self.embedded && META_FIELDS.contains(&name) {
            return Fate::Kept;
        }
        let Some(schema) = self.schema else { return Fate::Gone };
        match (schema.properties.get(name), &schema.additional) {
            (Some(property), _) => Fate::Below(Self::of(Some(property))),
            (None, Some(Additional::Of(additional))) => Fate::Below(Self::of(Some(additional))),
            // A boolean schema has no properties: all fields below are unknown.
            (None, Some(Additional::Any | Additional::Nothing)) => Fate::Below(Self::of(None)),
            (None, None) if self.preserve => Fate::Kept,
            (None, None) => Fate::Gone,
        }
    }

    /// Returns the ruler of items, or `None` where items are not pruned.
    fn items(self) -> Option<Self> {
        let items = self.schema.and_then(|schema| schema.items.as_deref());
        match (self.preserve, items) {
            (false, items) => Some(Self::of(items)),
            // An array that preserves unknown fields does so in its items, whatever their schema.
            (true, Some(items)) => Some(Self { preserve: true, ..Self::of(Some(items)) }),
            (true, None) => None,
        }
    }
}

fn prune(ruler: Ruler<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, field| match ruler.field(name) {
            Fate::Kept => true,
            Fate::Gone => false,
            Fate::Below(ruler) => {
                prune(ruler, field);
                true
            }
        }),
        Value::Array(items) => {
            if let Some(ruler) = ruler.items() {
                items.iter_mut().for_each(|item| prune(ruler, item));
            }
        }
        _ => {}
    }
}

fn list(ruler: Ruler<'_>, value: &Value, at: &ValuePath<'_>, found: &mut BoundedTexts) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let at = at.field(name);
                match ruler.field(name) {
                    Fate::Kept => {}
                    Fate::Gone => found.push(at),
                    Fate::Below(ruler) => list(ruler, field, &at, found),
                }
            }
        }
        Value::Array(items) => {
            if let Some(ruler) = ruler.items() {
                for (i, item) in items.iter().enumerate() {
                    list(ruler, item, &at.index(i), found);
                }
            }
        }
        _ => {}
    }
}
