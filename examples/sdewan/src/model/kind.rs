//! The table of kinds: one row each, from which schema, conversion, checks and clients derive.

use super::collection::CollectionId;
use super::field::Field;
use super::names::{GROUP, PAGE_GROUP};
use super::table;

/// A kind of custom resource.
#[derive(Clone, Copy, Debug)]
pub struct SdewanKind {
    /// The kind: `Mwan3Rule`.
    pub kind: &'static str,
    /// The plural: `mwan3rules`.
    pub plural: &'static str,
    /// A sentence for `kubectl explain`.
    pub about: &'static str,
    /// The finalizer, which is the original's.
    pub finalizer: &'static str,
    /// The collection of its objects in the REST API of a CNF; `None` for kinds that other
    /// controllers serve.
    pub collection: Option<CollectionId>,
    /// The fields of its spec.
    pub fields: &'static [Field],
    /// Fields that the agent sets in REST objects, whatever the CR has.
    pub forced: &'static [(&'static str, &'static str)],
    /// Requirements of the object as a whole.
    pub rules: &'static [ObjectRule],
    /// Whether the kind is also in the group of the page.
    pub is_in_page_group: bool,
    /// The form of its status.
    pub status: StatusForm,
}

/// A requirement of an object as a whole.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRule {
    /// The fields and values under which it applies: all of them, by their REST names.
    pub when: &'static [(&'static str, &'static str)],
    /// The fields of which it needs one, by their REST names.
    pub needs_one_of: &'static [&'static str],
    /// The message of the original.
    pub message: &'static str,
}

/// The form of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusForm {
    /// That of a rule: in sync or not, by pod.
    Rule,
    /// That of a controller with resolved addresses, as named by these fields.
    Resolved(&'static [&'static str]),
    /// The statuses of CNFs.
    CnfStatus,
}

/// All kinds.
pub static KINDS: &[SdewanKind] = &[
    table::MWAN3_POLICY,
    table::MWAN3_RULE,
    table::FIREWALL_ZONE,
    table::FIREWALL_FORWARDING,
    table::FIREWALL_RULE,
    table::FIREWALL_SNAT,
    table::FIREWALL_DNAT,
    table::NETWORK_FIREWALL_RULE,
    table::CNF_NAT,
    table::CNF_ROUTE,
    table::CNF_ROUTE_RULE,
    table::CNF_SERVICE,
    table::CNF_LOCAL_SERVICE,
    table::CNF_HUB_SITE,
    table::CNF_STATUS,
    table::SDEWAN_APPLICATION,
    table::IPSEC_PROPOSAL,
    table::IPSEC_HOST,
    table::IPSEC_SITE,
];

/// A kind as served in a group: IPsec kinds are in two.
#[derive(Clone, Copy, Debug)]
pub struct ServedResource {
    /// The row of the kind.
    pub kind: &'static SdewanKind,
    /// The group.
    pub group: &'static str,
}

impl SdewanKind {
    /// Returns the row of a kind by its name: `Mwan3Rule`.
    #[must_use]
    pub fn named(kind: &str) -> Option<&'static Self> {
        KINDS.iter().find(|row| row.kind == kind)
    }

    /// Returns the row of a kind by its plural: `mwan3rules`.
    #[must_use]
    pub fn of_plural(plural: &str) -> Option<&'static Self> {
        KINDS.iter().find(|row| row.plural == plural)
    }

    /// Returns the kind as served in each of its groups.
    pub fn served(&'static self) -> impl Iterator<Item = ServedResource> {
        let page = self.is_in_page_group.then_some(PAGE_GROUP);
        [GROUP].into_iter().chain(page).map(move |group| ServedResource { kind: self, group })
    }

    /// Returns all kinds in all groups.
    pub fn all_served() -> impl Iterator<Item = ServedResource> {
        KINDS.iter().flat_map(Self::served)
    }
}

impl ServedResource {
    /// Returns the name by which a plane knows the kind: `mwan3rules.batch.sdewan.akraino.org`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.kind.plural, self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RestName, Shape};
    use std::collections::BTreeSet;

    #[test]
    fn nineteen_kinds_have_distinct_names_and_documented_fields() {
        assert_eq!(KINDS.len(), 19);
        assert_eq!(KINDS.iter().map(|kind| kind.plural).collect::<BTreeSet<_>>().len(), 19);
        for kind in KINDS {
            assert!(kind.about.ends_with('.'), "{}", kind.kind);
            assert!(kind.finalizer.ends_with("finalizers.sdewan.akraino.org"), "{}", kind.kind);
            check_fields(kind.kind, kind.fields);
        }
        assert_eq!(SdewanKind::all_served().count(), 22);
    }

    fn check_fields(of: &str, fields: &[Field]) {
        let names: BTreeSet<_> = fields.iter().map(|field| field.name).collect();
        assert_eq!(names.len(), fields.len(), "{of}");
        for field in fields {
            assert!(field.about.ends_with('.'), "{of}.{}", field.name);
            assert!(field.is_in_cr() || field.rest == RestName::RestOnly);
            if let Shape::Objects(fields) = field.shape {
                check_fields(field.name, fields);
            }
        }
    }
}
