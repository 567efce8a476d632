//! Links in memory, for tests without root.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use async_trait::async_trait;
use machinery::sync::Mutex;
use machinery::tokio_util::sync::CancellationToken;

use super::events::EventQueue;
use super::{
    EchoRequest, InterfaceAddress, Link, LinkError, LinkEvent, LinkEvents, LinkList, LinkPlace, LinkStep,
    LinkStepError, Links, NamespaceEntry, NamespaceName, NamespaceState,
};
use crate::plan::Mac;

/// Links in memory, with the manners of the kernel: a moved link is down and loses its addresses,
/// a deleted namespace deletes its links, and a killed switch leaves moved ports without carrier.
#[derive(Debug, Default)]
pub struct FakeLinks(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last_index: u32,
    links: Vec<Link>,
    namespaces: BTreeMap<NamespaceName, FakeNamespace>,
    failures: Vec<(usize, LinkError)>,
    answering: BTreeSet<(NamespaceName, Ipv4Addr)>,
    steps: Vec<LinkStep>,
    watches: Vec<EventQueue>,
    is_switch_stopped: bool,
}

#[derive(Debug)]
struct FakeNamespace {
    is_ours: bool,
    state: NamespaceState,
    loopback_up: bool,
}

impl FakeLinks {
    /// Returns a switch's namespace with an underlay link, and no ports.
    #[must_use]
    pub fn new(host: InterfaceAddress, mtu: u32) -> Self {
        let fake = Self::default();
        let index = fake.add_port("underlay");
        fake.edit(&LinkPlace::Switch, "underlay", |link| {
            (link.mtu, link.up, link.carrier) = (mtu, true, true);
            link.addresses.push(host);
        });
        debug_assert_eq!(index, 1);
        fake
    }

    /// Creates an internal port in the switch's namespace, as `ovs-vswitchd` does. Returns its
    /// index.
    pub fn add_port(&self, name: &str) -> u32 {
        let mut state = self.0.lock();
        state.last_index += 1;
        let index = state.last_index;
        let mac = Some(Mac([2, 0, 0, 0, 0, index.to_be_bytes()[3]]));
        let (place, name) = (LinkPlace::Switch, name.to_owned());
        let link =
            Link { place, index, name, mac, mtu: 1500, up: false, carrier: false, addresses: Vec::new() };
        state.notify_link(&link.name);
        state.links.push(link);
        index
    }

    /// Removes an internal port wherever it is, as `ovs-vswitchd` does.
    pub fn remove_port(&self, name: &str) {
        self.0.lock().remove_links(|link| link.name == name);
    }

    /// Kills the switch: its links vanish, except moved ports, which lose their carrier.
    pub fn kill_switch(&self) {
        let mut state = self.0.lock();
        state.is_switch_stopped = true;
        state.remove_links(|link| link.place == LinkPlace::Switch && link.name != "underlay");
        for link in &mut state.links {
            link.carrier = link.place == LinkPlace::Switch;
        }
        // The namespace outlives the process, but its identity is that of the process.
        state.watches.drain(..).for_each(|watch| watch.close());
    }

    /// Starts the switch after [`kill_switch`](Self::kill_switch).
    pub fn start_switch(&self) {
        self.0.lock().is_switch_stopped = false;
    }

    /// Deletes a namespace, as somebody else does with `ip netns delete`.
    pub fn delete_namespace(&self, name: &NamespaceName) {
        self.0.lock().delete_namespace(name);
    }

    /// Creates a namespace of somebody else.
    pub fn add_foreign_namespace(&self, name: NamespaceName) {
        self.0.lock().create_namespace(name, false);
    }

    /// Changes a link, as somebody else does.
    pub fn edit(&self, place: &LinkPlace, name: &str, edit: impl FnOnce(&mut Link)) {
        let mut state = self.0.lock();
        state.notify_link(name);
        if let Some(link) = state.links.iter_mut().find(|link| link.place == *place && link.name == name) {
            edit(link);
        }
    }

    /// Lets a later step fail: the next one if `after` is 0.
    pub fn fail_step(&self, after: usize, error: LinkError) {
        self.0.lock().failures.push((after, error));
    }

    /// Lets pings from a namespace to an address be answered.
    pub fn answer_pings(&self, namespace: NamespaceName, to: Ipv4Addr) {
        self.0.lock().answering.insert((namespace, to));
    }

    /// Reports lost events to all watches.
    pub fn lose_events(&self) {
        self.0.lock().notify(&LinkEvent::Lost);
    }

    /// Returns the steps executed so far, in order, and forgets them.
    pub fn take_steps(&self) -> Vec<LinkStep> {
        std::mem::take(&mut self.0.lock().steps)
    }
}

#[async_trait]
impl Links for FakeLinks {
    async fn list(&self) -> Result<LinkList, LinkError> {
        let state = self.0.lock();
        state.check_switch()?;
        let entry = |(name, namespace): (&NamespaceName, &FakeNamespace)| NamespaceEntry {
            name: name.clone(),
            state: namespace.state,
            loopback_up: namespace.loopback_up,
        };
        let ours = state.namespaces.iter().filter(|(_, namespace)| namespace.is_ours);
        let is_listed = |link: &&Link| match &link.place {
            LinkPlace::Switch => true,
            LinkPlace::Workload(name) => state.namespaces.get(name).is_some_and(|it| it.is_ours),
        };
        let mut links: Vec<_> = state.links.iter().filter(is_listed).cloned().collect();
        links.sort_by(|one, other| (&one.place, one.index).cmp(&(&other.place, other.index)));
        Ok(LinkList { links, namespaces: ours.map(entry).collect() })
    }

    async fn list_place(&self, place: &LinkPlace) -> Result<Vec<Link>, LinkError> {
        let state = self.0.lock();
        state.check_place(place)?;
        Ok(state.links.iter().filter(|link| link.place == *place).cloned().collect())
    }

    async fn apply(&self, steps: &[LinkStep]) -> Result<(), LinkStepError> {
        let mut state = self.0.lock();
        for (done, step) in steps.iter().enumerate() {
            state.apply(step).map_err(|error| LinkStepError { done, error })?;
        }
        Ok(())
    }

    async fn watch(&self) -> Result<LinkEvents, LinkError> {
        let mut state = self.0.lock();
        state.check_switch()?;
        let queue = EventQueue::default();
        state.watches.push(queue.clone());
        Ok(LinkEvents::new(queue, CancellationToken::new()))
    }

    async fn ping(&self, request: &EchoRequest) -> Result<(), LinkError> {
        let state = self.0.lock();
        state.check_place(&LinkPlace::Workload(request.namespace.clone()))?;
        match state.answering.contains(&(request.namespace.clone(), request.to)) {
            true => Ok(()),
            false => Err(LinkError::NoReply { to: request.to, reason: "no reply in time".into() }),
        }
    }
}

impl State {
    fn apply(&mut self, step: &LinkStep) -> Result<(), LinkError> {
        self.injected_failure()?;
        match step {
            LinkStep::CreateNamespace(name) => match self.namespaces.get(name) {
                Some(namespace) if namespace.is_ours && namespace.state == NamespaceState::Live => {}
                Some(namespace) if !namespace.is_ours => return Err(taken(name)),
                _ => self.create_namespace(name.clone(), true),
            },
            LinkStep::DeleteNamespace(name) => match self.namespaces.get(name) {
                Some(namespace) if !namespace.is_ours => return Err(taken(name)),
                _ => self.delete_namespace(name),
            },
            LinkStep::Move { name, index, to } => {
                let place = LinkPlace::Workload(to.clone());
                self.check_place(&place)?;
                if self.find(&place, name).is_ok() {
                    let reason = format!("{place} has a link {name} already");
                    return Err(LinkError::Failed { operation: format!("moving {name}"), reason });
                }
                self.check_switch()?;
                self.check_index(&LinkPlace::Switch, name, *index)?;
                let link = self.find(&LinkPlace::Switch, name)?;
                (link.place, link.up, link.carrier) = (place, false, false);
                link.addresses.clear();
                self.notify_link(name);
            }
            LinkStep::Set { place, name, change } => {
                self.check_place(place)?;
                if let (LinkPlace::Workload(namespace), "lo") = (place, &name[..]) {
                    if let (Some(up), Some(namespace)) = (change.up, self.namespaces.get_mut(namespace)) {
                        namespace.loopback_up = up;
                    }
                } else {
                    let link = self.find(place, name)?;
                    link.mac = change.mac.or(link.mac);
                    link.mtu = change.mtu.unwrap_or(link.mtu);
                    link.up = change.up.unwrap_or(link.up);
                    link.carrier = link.up;
                    self.notify_link(name);
                }
            }
            LinkStep::AddAddress { place, name, address } => {
                self.check_place(place)?;
                let link = self.find(place, name)?;
                link.addresses.push(*address);
                link.addresses.sort_unstable();
                link.addresses.dedup();
                self.notify_link(name);
            }
            LinkStep::DeleteAddress { place, name, address } => {
                self.check_place(place)?;
                self.find(place, name)?.addresses.retain(|held| held != address);
                self.notify_link(name);
            }
            LinkStep::Delete { place, name, index } => {
                if self.check_place(place).is_ok() && self.find(place, name).is_ok() {
                    self.check_index(place, name, *index)?;
                    self.remove_links(|link| link.place == *place && link.name == *name);
                }
            }
        }
        self.steps.push(step.clone());
        Ok(())
    }

    fn injected_failure(&mut self) -> Result<(), LinkError> {
        let due = self.failures.iter().position(|(after, _)| *after == 0);
        if let Some(due) = due {
            return Err(self.failures.remove(due).1);
        }
        for (after, _) in &mut self.failures {
            *after -= 1;
        }
        Ok(())
    }

    fn check_switch(&self) -> Result<(), LinkError> {
        match self.is_switch_stopped {
            true => Err(LinkError::SwitchUnknown { reason: "it was stopped".into() }),
            false => Ok(()),
        }
    }

    fn check_place(&self, place: &LinkPlace) -> Result<(), LinkError> {
        let LinkPlace::Workload(name) = place else { return self.check_switch() };
        match self.namespaces.get(name) {
            Some(namespace) if !namespace.is_ours => Err(taken(name)),
            Some(namespace) if namespace.state == NamespaceState::Live => Ok(()),
            _ => Err(LinkError::NamespaceMissing { name: name.clone() }),
        }
    }

    fn check_index(&mut self, place: &LinkPlace, name: &str, expected: u32) -> Result<(), LinkError> {
        let found = self.find(place, name)?.index;
        if found == expected {
            return Ok(());
        }
        Err(LinkError::Replaced { place: place.clone(), name: name.into(), expected, found })
    }

    fn find(&mut self, place: &LinkPlace, name: &str) -> Result<&mut Link, LinkError> {
        let missing = || LinkError::LinkMissing { place: place.clone(), name: name.into() };
        self.links.iter_mut().find(|link| link.place == *place && link.name == name).ok_or_else(missing)
    }

    fn remove_links(&mut self, which: impl Fn(&Link) -> bool) {
        let (removed, kept): (Vec<_>, Vec<_>) = self.links.drain(..).partition(which);
        self.links = kept;
        removed.iter().for_each(|link| self.notify_link(&link.name));
    }

    fn create_namespace(&mut self, name: NamespaceName, is_ours: bool) {
        self.notify(&LinkEvent::Namespace { name: name.clone() });
        let namespace = FakeNamespace { is_ours, state: NamespaceState::Live, loopback_up: false };
        self.namespaces.insert(name, namespace);
    }

    fn delete_namespace(&mut self, name: &NamespaceName) {
        if self.namespaces.remove(name).is_some() {
            self.notify(&LinkEvent::Namespace { name: name.clone() });
            let place = LinkPlace::Workload(name.clone());
            self.remove_links(|link| link.place == place);
        }
    }

    fn notify_link(&self, name: &str) {
        self.notify(&LinkEvent::Link { name: name.into() });
    }

    fn notify(&self, event: &LinkEvent) {
        self.watches.iter().for_each(|watch| watch.push(event.clone()));
    }
}

fn taken(name: &NamespaceName) -> LinkError {
    LinkError::NamespaceTaken { name: name.clone(), owner: "somebody else".into() }
}

#[cfg(test)]
mod tests;
