//! What the schema says of who can own what: a list as one or by items, a map as one or by fields.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// What is known of one value: an object, a field, an item. Where nothing is known, a list is owned as one, and a map
/// by fields.
pub(crate) trait ListMeta {
    /// How the items are told apart, if this is a list.
    fn list_type(&self) -> ListType<'_> {
        ListType::Atomic
    }

    /// Whether this, if it is a map, is owned as one.
    fn atomic_map(&self) -> bool {
        false
    }

    /// The field of this name, if the schema names it.
    fn field(&self, _name: &str) -> Option<&dyn ListMeta> {
        None
    }

    /// The items of this list, or the values of this map under names that the schema does not name.
    fn items(&self) -> Option<&dyn ListMeta> {
        None
    }

    /// What this is where it is absent. Asked of the key fields of items only.
    fn default_value(&self) -> Option<&Value> {
        None
    }

    /// What is there even if nothing is written, as a struct, or null for a list, in a Go struct is: then nobody owns
    /// that it is there.
    fn always_there(&self) -> Option<&'static Value> {
        None
    }
}

/// How the items of a list are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListType<'a> {
    /// Not at all.
    Atomic,
    /// By what they are.
    Set,
    /// By what these fields of theirs are.
    Map(Vec<&'a str>),
}

/// What nothing is known of.
pub(crate) struct Deduced;

impl ListMeta for Deduced {}

/// An object: its metadata is the same for all kinds.
pub(super) struct Root<'a>(pub(super) &'a dyn ListMeta);

impl ListMeta for Root<'_> {
    fn field(&self, name: &str) -> Option<&dyn ListMeta> {
        if name == "metadata" { Some(&METADATA) } else { self.0.field(name) }
    }

    fn items(&self) -> Option<&dyn ListMeta> {
        self.0.items()
    }
}

/// A map of nothing.
pub(crate) static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));

const METADATA: ObjectMeta = ObjectMeta { is_there: true };

/// That of an object within an object, which need not have any.
pub(crate) const EMBEDDED_METADATA: ObjectMeta = ObjectMeta { is_there: false };

/// What is known of metadata, of whatever object.
pub(crate) struct ObjectMeta {
    is_there: bool,
}

impl ListMeta for ObjectMeta {
    fn field(&self, name: &str) -> Option<&dyn ListMeta> {
        match name {
            "finalizers" => Some(&Finalizers),
            "ownerReferences" => Some(&OwnerReferences),
            _ => Some(&Deduced),
        }
    }

    fn always_there(&self) -> Option<&'static Value> {
        self.is_there.then_some(&*EMPTY)
    }
}

struct Finalizers;

impl ListMeta for Finalizers {
    fn list_type(&self) -> ListType<'_> {
        ListType::Set
    }
}

struct OwnerReferences;

impl ListMeta for OwnerReferences {
    fn list_type(&self) -> ListType<'_> {
        ListType::Map(vec!["uid"])
    }

    fn items(&self) -> Option<&dyn ListMeta> {
        Some(&OwnerReference)
    }
}

struct OwnerReference;

impl ListMeta for OwnerReference {
    fn atomic_map(&self) -> bool {
        true
    }

    fn field(&self, _name: &str) -> Option<&dyn ListMeta> {
        Some(&Deduced)
    }
}

/// What is known of a field of a map: named, or as the others are, or nothing.
pub(super) fn field_of<'a>(meta: &'a dyn ListMeta, name: &str) -> &'a dyn ListMeta {
    meta.field(name).or_else(|| meta.items()).unwrap_or(&Deduced)
}

/// What is known of the items of a list.
pub(super) fn items_of(meta: &dyn ListMeta) -> &dyn ListMeta {
    meta.items().unwrap_or(&Deduced)
}
