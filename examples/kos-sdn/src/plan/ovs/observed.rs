//! The observed state of a switch, indexed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::super::{Flow, Port};
use crate::drive::ovs::links::{Link, LinkList, LinkPlace, NamespaceEntry, NamespaceName};
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

/// Flows by cookie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowIndex {
    by_cookie: BTreeMap<u64, BTreeSet<Flow>>,
    count: usize,
}

/// Links by place and name, and the namespaces of workloads.
#[derive(Clone, Debug, Default)]
pub struct LinkIndex {
    links: BTreeMap<LinkPlace, BTreeMap<String, Link>>,
    namespaces: BTreeMap<NamespaceName, NamespaceEntry>,
}

impl FlowIndex {
    /// Adds a flow. Returns whether it is new.
    pub fn insert(&mut self, flow: Flow) -> bool {
        let is_new = self.by_cookie.entry(flow.cookie).or_default().insert(flow);
        self.count += usize::from(is_new);
        is_new
    }

    /// Removes a flow. Returns whether it existed.
    pub fn remove(&mut self, flow: &Flow) -> bool {
        let Some(flows) = self.by_cookie.get_mut(&flow.cookie) else { return false };
        let existed = flows.remove(flow);
        self.count -= usize::from(existed);
        if flows.is_empty() {
            self.by_cookie.remove(&flow.cookie);
        }
        existed
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
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no flows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl FromIterator<Flow> for FlowIndex {
    fn from_iter<I: IntoIterator<Item = Flow>>(flows: I) -> Self {
        let mut index = Self::default();
        flows.into_iter().for_each(|flow| drop(index.insert(flow)));
        index
    }
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
