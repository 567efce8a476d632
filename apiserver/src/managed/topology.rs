//! The topology that the schema declares: lists are atomic, sets or maps, and maps atomic or
//! granular.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// The topology of one value: an object, a field, an item. Without a schema, a list is atomic and a
/// map granular.
pub(crate) trait ListMeta {
    /// The list type, if this is a list.
    fn list_type(&self) -> ListType<'_> {
        ListType::Atomic
    }

    /// Returns whether this is an atomic map.
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

    /// The default of an absent value. Used for the key fields of items only.
    fn default_value(&self) -> Option<&Value> {
        None
    }

    /// The value of a field that exists even if nothing is written, as a struct in Go, or null for
    /// a list: its presence has no owner.
    fn always_there(&self) -> Option<&'static Value> {
        None
    }
}

/// How items of a list are identified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListType<'a> {
    /// Items have no identity: the list is owned as a whole.
    Atomic,
    /// Items are identified by their values.
    Set,
    /// Items are identified by the values of these key fields.
    Map(Vec<&'a str>),
}

/// A value without a schema.
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

/// An empty map.
pub(crate) static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));

const METADATA: ObjectMeta = ObjectMeta { is_there: true };

/// Metadata of embedded objects, which may be absent.
pub(crate) const EMBEDDED_METADATA: ObjectMeta = ObjectMeta { is_there: false };

/// The topology of metadata, of any kind.
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

/// Returns the topology of a field of a map: that of the named field, of additional fields, or
/// `Deduced`.
pub(super) fn field_of<'a>(meta: &'a dyn ListMeta, name: &str) -> &'a dyn ListMeta {
    meta.field(name).or_else(|| meta.items()).unwrap_or(&Deduced)
}

/// Returns the topology of the items of a list.
pub(super) fn items_of(meta: &dyn ListMeta) -> &dyn ListMeta {
    meta.items().unwrap_or(&Deduced)
}
