//! Adapts stored field sets to lists and maps that the schema has made atomic.

use super::topology::{field_of, items_of};
use super::{Deduced, FieldSet, ListMeta, ListType, PathElement};

/// Returns the set in which values that the schema now calls atomic replace the parts that were
/// owned.
pub(super) fn reconciled(set: FieldSet, meta: &dyn ListMeta) -> FieldSet {
    let FieldSet { members, children } = set;
    let mut set = FieldSet { members, ..FieldSet::default() };
    for (element, below) in children {
        let meta = match &element {
            PathElement::Field(name) => field_of(meta, name),
            PathElement::Key(_) | PathElement::Value(_) => items_of(meta),
            PathElement::Index(_) => &Deduced,
        };
        if owned_as_one(&below, meta) {
            set.members.insert(element);
        } else {
            set.children.insert(element, reconciled(below, meta));
        }
    }
    set
}

/// Returns whether a value with these parts, which show a list or a map, is atomic.
fn owned_as_one(below: &FieldSet, meta: &dyn ListMeta) -> bool {
    let mut parts = below.members.iter().chain(below.children.keys());
    if parts.all(|part| matches!(part, PathElement::Field(_))) {
        meta.atomic_map()
    } else {
        meta.list_type() == ListType::Atomic
    }
}
