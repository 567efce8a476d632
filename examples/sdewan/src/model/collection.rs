//! The collections of a CNF's REST API.

use std::fmt;
use std::sync::LazyLock;

use super::field::{Field, Reference, Shape};
use super::kind::KINDS;

/// A collection of the REST API, in the order in which a CNF has to receive them: each object after
/// those that it refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CollectionId {
    /// Policies of mwan3.
    Policies,
    /// Rules of mwan3.
    Mwan3Rules,
    /// Zones of the firewall.
    Zones,
    /// Forwardings between zones.
    Forwardings,
    /// Rules of the firewall.
    FirewallRules,
    /// SNAT and DNAT between zones.
    Redirects,
    /// Firewall rules between NICs.
    NetworkFirewallRules,
    /// SNAT, DNAT and masquerading between NICs.
    Nats,
    /// Routes.
    Routes,
    /// Rules of the routing policy.
    RouteRules,
    /// Addresses of applications.
    Applications,
    /// Proposals of IPsec.
    Proposals,
    /// Remotes of IPsec.
    Remotes,
}

/// A service of a CNF, which is restarted or reloaded after v1 changes of its collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Multi-WAN.
    Mwan3,
    /// The firewall.
    Firewall,
    /// IPsec.
    Ipsec,
}

/// A collection of the REST API.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    /// Its identity.
    pub id: CollectionId,
    /// Its path below `/cgi-bin/luci/sdewan/`.
    pub path: &'static str,
    /// The key of the list in the answer to a GET.
    pub name: &'static str,
    /// The word of the original for one of its objects in messages: `policy`, `zone`.
    pub noun: &'static str,
    /// The service that a v1 change restarts; `None` where changes apply at once.
    pub service: Option<Service>,
    /// The space in which names are unique. Collections of sections of one UCI file share a space.
    pub name_space: &'static str,
}

/// All collections, in the order of [`CollectionId`].
pub static COLLECTIONS: &[Collection] = &[
    row(CollectionId::Policies, "mwan3/v1/policies", "policies", "policy", Some(Service::Mwan3), "mwan3"),
    row(CollectionId::Mwan3Rules, "mwan3/v1/rules", "rules", "rule", Some(Service::Mwan3), "mwan3"),
    row(CollectionId::Zones, "firewall/v1/zones", "zones", "zone", Some(Service::Firewall), "zones"),
    row(
        CollectionId::Forwardings,
        "firewall/v1/forwardings",
        "forwardings",
        "forwarding",
        Some(Service::Firewall),
        "forwardings",
    ),
    row(CollectionId::FirewallRules, "firewall/v1/rules", "rules", "rule", Some(Service::Firewall), "rules"),
    row(
        CollectionId::Redirects,
        "firewall/v1/redirects",
        "redirects",
        "redirect",
        Some(Service::Firewall),
        "redirects",
    ),
    row(
        CollectionId::NetworkFirewallRules,
        "networkfirewall/v1/rules",
        "rules",
        "rule",
        None,
        "networkfirewall",
    ),
    row(CollectionId::Nats, "nat/v1/nats", "nats", "nat", None, "nats"),
    row(CollectionId::Routes, "route/v1/routes", "routes", "route", None, "routes"),
    row(CollectionId::RouteRules, "rule/v1/rules", "rules", "rule", None, "routerules"),
    row(
        CollectionId::Applications,
        "application/v1/applications",
        "applications",
        "application",
        None,
        "applications",
    ),
    row(
        CollectionId::Proposals,
        "ipsec/v1/proposals",
        "proposals",
        "proposal",
        Some(Service::Ipsec),
        "ipsec",
    ),
    row(CollectionId::Remotes, "ipsec/v1/remotes", "remotes", "remote", Some(Service::Ipsec), "ipsec"),
];

const fn row(
    id: CollectionId,
    path: &'static str,
    name: &'static str,
    noun: &'static str,
    service: Option<Service>,
    name_space: &'static str,
) -> Collection {
    Collection { id, path, name, noun, service, name_space }
}

/// The fields of each collection: those of all kinds in it.
static FIELDS: LazyLock<Vec<Vec<Field>>> = LazyLock::new(|| {
    let fields_of = |collection: &Collection| {
        let mut fields: Vec<Field> = Vec::new();
        let kinds = KINDS.iter().filter(|kind| kind.collection == Some(collection.id));
        for field in kinds.flat_map(|kind| kind.fields) {
            let Some(name) = field.rest_name() else { continue };
            match fields.iter_mut().find(|known| known.rest_name() == Some(name)) {
                // The kinds of a collection require different fields; a CNF requires those that all require.
                Some(known) => known.is_required_by_cnf &= field.is_required_by_cnf,
                None => fields.push(*field),
            }
        }
        fields
    };
    COLLECTIONS.iter().map(fields_of).collect()
});

impl CollectionId {
    /// All collections, each after those that its objects refer to.
    #[must_use]
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + Clone {
        COLLECTIONS.iter().map(|collection| collection.id)
    }

    /// Returns the row of the collection.
    #[must_use]
    pub fn row(self) -> &'static Collection {
        // The rows are in the order of the enum: the test below holds them to it.
        COLLECTIONS.get(self as usize).unwrap_or(&FALLBACK)
    }

    /// Returns the collection of a path, such as `mwan3/v1/policies`.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        COLLECTIONS.iter().find(|collection| collection.path == path).map(|collection| collection.id)
    }

    /// Returns the path below `/cgi-bin/luci/sdewan/`.
    #[must_use]
    pub fn path(self) -> &'static str {
        self.row().path
    }

    /// Returns the fields of its objects, besides `name`, by their REST names.
    #[must_use]
    pub fn fields(self) -> &'static [Field] {
        FIELDS.get(self as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the order of its objects counts, as the first match wins. Others are found
    /// by name, and a re-creation of them for their order would interrupt their users.
    #[must_use]
    pub const fn is_ordered(self) -> bool {
        matches!(
            self,
            Self::Mwan3Rules
                | Self::FirewallRules
                | Self::Redirects
                | Self::NetworkFirewallRules
                | Self::Nats
                | Self::RouteRules
        )
    }

    /// Returns the collections of objects that may refer to objects of this one.
    #[must_use]
    pub fn users(self) -> Vec<Self> {
        Self::all().filter(|user| refers(user.fields(), self)).collect()
    }
}

const FALLBACK: Collection =
    row(CollectionId::Policies, "mwan3/v1/policies", "policies", "policy", None, "mwan3");

fn refers(fields: &[Field], to: CollectionId) -> bool {
    fields.iter().any(|field| match field.shape {
        Shape::Objects(fields) => refers(fields, to),
        _ => field.reference == Some(Reference::Object(to)),
    })
}

impl Service {
    /// Returns the name in the REST API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mwan3 => "mwan3",
            Self::Firewall => "firewall",
            Self::Ipsec => "ipsec",
        }
    }
}

impl fmt::Display for CollectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_their_collections() {
        for (number, row) in COLLECTIONS.iter().enumerate() {
            assert_eq!(row.id as usize, number);
            assert_eq!(CollectionId::of_path(row.path), Some(row.id));
        }
    }

    #[test]
    fn every_reference_is_to_an_earlier_collection() {
        for collection in CollectionId::all() {
            for user in collection.users() {
                assert!(user > collection, "{user} refers to {collection}");
            }
        }
        let users = [CollectionId::Forwardings, CollectionId::FirewallRules, CollectionId::Redirects];
        assert_eq!(CollectionId::Zones.users(), users);
        assert_eq!(CollectionId::Proposals.users(), [CollectionId::Remotes]);
    }
}
