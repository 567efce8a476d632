//! The observed state of a switch, indexed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::super::{Flow, Match, Port};
use crate::drive::ovs::links::{Link, LinkList, LinkPlace, NamespaceEntry, NamespaceName};
use crate::drive::ovs::openflow::{FoundFlow, OpaqueFlow};
use crate::drive::ovs::ovsdb::Rows;

/// The observed state of a switch.
#[derive(Clone, Debug, Default)]
pub struct ObservedSwitch {
    /// Rows of the database.
    pub rows: Arc<Rows>,
    /// OpenFlow ports of the bridge, by interface name; `None` while there is no connection.
    pub ports: Option<Arc<BTreeMap<String, Port>>>,
    /// Flows of the bridge.
    pub flows: FlowIndex,
    /// Links and namespaces.
    pub links: LinkIndex,
}

/// Flows by cookie, and the cookies by place: a switch has one flow of a table, priority and match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowIndex {
    by_cookie: BTreeMap<u64, BTreeSet<Flow>>,
    places: BTreeMap<(u8, u16, Match), u64>,
    opaque: BTreeSet<OpaqueFlow>,
}

/// Links by place and name, and the namespaces of workloads.
#[derive(Clone, Debug, Default)]
pub struct LinkIndex {
    links: BTreeMap<LinkPlace, BTreeMap<String, Link>>,
    namespaces: BTreeMap<NamespaceName, NamespaceEntry>,
}

impl FlowIndex {
    /// Adds a flow, in place of one of the same table, priority and match.
    pub fn insert(&mut self, flow: Flow) {
        self.remove_place(&flow);
        self.places.insert(place(&flow), flow.cookie);
        self.by_cookie.entry(flow.cookie).or_default().insert(flow);
    }

    /// Adds a flow that [`Flow`] cannot express.
    pub fn insert_opaque(&mut self, flow: OpaqueFlow) {
        self.opaque.insert(flow);
    }

    /// Removes a flow, whatever its cookie and actions.
    pub fn remove(&mut self, flow: &FoundFlow) {
        match flow {
            FoundFlow::Known(flow) => self.remove_place(flow),
            FoundFlow::Opaque(flow) => drop(self.opaque.remove(flow)),
        }
    }

    fn remove_place(&mut self, flow: &Flow) {
        let Some(cookie) = self.places.remove(&place(flow)) else { return };
        let Some(flows) = self.by_cookie.get_mut(&cookie) else { return };
        flows.retain(|held| !is_at(held, flow));
        if flows.is_empty() {
            self.by_cookie.remove(&cookie);
        }
    }

    /// Iterates over the flows that [`Flow`] cannot express.
    pub fn opaque(&self) -> impl Iterator<Item = &OpaqueFlow> {
        self.opaque.iter()
    }

    /// Returns the flows with a cookie.
    pub fn of(&self, cookie: u64) -> impl Iterator<Item = &Flow> {
        self.by_cookie.get(&cookie).into_iter().flatten()
    }

    /// Iterates over all flows, by cookie.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &BTreeSet<Flow>)> {
        self.by_cookie.iter().map(|(cookie, flows)| (*cookie, flows))
    }

    /// Returns the number of flows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len() + self.opaque.len()
    }

    /// Returns whether there are no flows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl FromIterator<FoundFlow> for FlowIndex {
    fn from_iter<I: IntoIterator<Item = FoundFlow>>(flows: I) -> Self {
        let mut index = Self::default();
        for flow in flows {
            match flow {
                FoundFlow::Known(flow) => index.insert(flow),
                FoundFlow::Opaque(flow) => index.insert_opaque(flow),
            }
        }
        index
    }
}

/// Compares without copies: a match has ten fields.
fn is_at(held: &Flow, flow: &Flow) -> bool {
    (held.table, held.priority, &held.matches) == (flow.table, flow.priority, &flow.matches)
}

fn place(flow: &Flow) -> (u8, u16, Match) {
    (flow.table, flow.priority, flow.matches.clone())
}

impl LinkIndex {
    /// Indexes a complete list.
    #[must_use]
    pub fn new(list: LinkList) -> Self {
        let mut index = Self::default();
        index.namespaces.extend(list.namespaces.into_iter().map(|entry| (entry.name.clone(), entry)));
        list.links.into_iter().for_each(|link| index.insert(link));
        index
    }

    /// Replaces the links of one place; `None` if the place does not exist.
    pub fn replace(&mut self, place: &LinkPlace, links: Option<Vec<Link>>) {
        self.links.remove(place);
        links.into_iter().flatten().for_each(|link| self.insert(link));
    }

    /// Replaces the entry of a namespace; `None` if it does not exist.
    pub fn replace_namespace(&mut self, name: &NamespaceName, entry: Option<NamespaceEntry>) {
        match entry {
            Some(entry) => self.namespaces.insert(name.clone(), entry),
            None => self.namespaces.remove(name),
        };
    }

    /// Returns a link.
    #[must_use]
    pub fn get(&self, place: &LinkPlace, name: &str) -> Option<&Link> {
        self.links.get(place)?.get(name)
    }

    /// Returns a namespace of a workload.
    #[must_use]
    pub fn namespace(&self, name: &NamespaceName) -> Option<&NamespaceEntry> {
        self.namespaces.get(name)
    }

    /// Iterates over the namespaces of workloads.
    pub fn namespaces(&self) -> impl Iterator<Item = &NamespaceEntry> {
        self.namespaces.values()
    }

    /// Returns the MTU of the underlay: of the switch's link that has the node's address.
    #[must_use]
    pub fn underlay_mtu(&self, host: Ipv4Addr) -> Option<u32> {
        let mut links = self.links.get(&LinkPlace::Switch)?.values();
        let has_address = |link: &&Link| link.addresses.iter().any(|held| held.address == host);
        links.find(has_address).map(|link| link.mtu)
    }

    fn insert(&mut self, link: Link) {
        self.links.entry(link.place.clone()).or_default().insert(link.name.clone(), link);
    }
}
