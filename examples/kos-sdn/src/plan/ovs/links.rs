//! The differences of links and namespaces.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{AddressKey, Interface, LocalInterface};
use super::ports::{PortPlan, covered};
use super::{Attempts, ObservedSwitch, Scope, SwitchSettings};
use crate::drive::ovs::links::{
    InterfaceAddress, Link, LinkChange, LinkPlace, LinkStep, NamespaceName, NamespaceState,
};
use crate::drive::{FabricError, InterfaceBook};

/// The steps for one link, or for one namespace without a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkWork {
    /// Address of the interface; `None` for a namespace without one.
    pub key: Option<AddressKey>,
    /// The place that the steps change.
    pub place: LinkPlace,
    /// The steps, in order.
    pub steps: Vec<LinkStep>,
}

/// The differences of links.
#[derive(Debug, Default)]
pub(super) struct LinkPlan {
    pub(super) work: Vec<LinkWork>,
    /// Interfaces with a link as desired.
    pub(super) ready: BTreeSet<AddressKey>,
    /// Interfaces with a port and without a device: the port has to be created again.
    pub(super) lost: BTreeSet<AddressKey>,
    pub(super) broken: BTreeMap<AddressKey, FabricError>,
}

/// Compares the links of ready ports with the desired interfaces.
pub(super) fn plan_links(
    settings: &SwitchSettings,
    desired: &InterfaceBook,
    observed: &ObservedSwitch,
    (scope, attempts, ports): (&Scope, &Attempts, &PortPlan),
) -> LinkPlan {
    let mut plan = LinkPlan::default();
    let mtu = settings
        .mtu
        .or_else(|| observed.links.underlay_mtu(settings.host)?.checked_sub(SwitchSettings::OVERHEAD));
    for (key, interface) in covered(desired, scope, attempts) {
        let Interface::Local(local) = interface else { continue };
        if !ports.numbers.contains_key(key) {
            continue;
        }
        let Some(mtu) = mtu else {
            plan.broken.insert(*key, unknown_mtu(settings));
            continue;
        };
        let place = match place_of(settings, local) {
            Ok(place) => place,
            Err(error) => {
                plan.broken.insert(*key, error);
                continue;
            }
        };
        match steps(observed, local, &place, mtu) {
            None => drop(plan.lost.insert(*key)),
            Some(steps) if steps.is_empty() => drop(plan.ready.insert(*key)),
            Some(steps) => plan.work.push(LinkWork { key: Some(*key), place, steps }),
        }
    }
    let undesired = undesired_namespaces(settings, desired, observed, scope);
    let is_left = |name: &&NamespaceName| !attempts.failed_places.contains(*name);
    plan.work.extend(undesired.iter().filter(is_left).map(|name| LinkWork {
        key: None,
        place: LinkPlace::Workload(name.clone()),
        steps: vec![LinkStep::DeleteNamespace(name.clone())],
    }));
    plan
}

/// Returns the place of a local interface: the namespace of its attachment, or the switch's.
///
/// # Errors
/// The attachment's name is too long for a namespace.
pub fn place_of(settings: &SwitchSettings, local: &LocalInterface) -> Result<LinkPlace, FabricError> {
    let Some(workload) = local.workload.as_ref().filter(|_| settings.into_namespaces) else {
        return Ok(LinkPlace::Switch);
    };
    let key = &workload.attachment;
    let name = NamespaceName::of_attachment(key.namespace().unwrap_or_default(), key.name());
    name.map(LinkPlace::Workload)
        .map_err(|error| FabricError::Failed { what: "naming a namespace", reason: error.to_string() })
}

/// Returns the steps for one link; `None` if there is no device.
fn steps(
    observed: &ObservedSwitch,
    local: &LocalInterface,
    place: &LinkPlace,
    mtu: u32,
) -> Option<Vec<LinkStep>> {
    let (links, name) = (&observed.links, &local.name);
    let LinkPlace::Workload(namespace) = place else {
        let link = links.get(place, name)?;
        return Some(settings_of(link, local, place, (mtu, None)));
    };
    let mut steps = Vec::new();
    let (in_switch, here) = (links.get(&LinkPlace::Switch, name), links.get(place, name));
    if in_switch.is_none() && here.is_none() {
        return None;
    }
    let entry = links.namespace(namespace);
    if entry.is_some_and(|entry| entry.state == NamespaceState::NameOnly) {
        steps.push(LinkStep::DeleteNamespace(namespace.clone()));
    }
    if entry.is_none_or(|entry| entry.state == NamespaceState::NameOnly) {
        steps.push(LinkStep::CreateNamespace(namespace.clone()));
    }
    if entry.is_none_or(|entry| !entry.loopback_up || entry.state == NamespaceState::NameOnly) {
        steps.push(LinkStep::loopback_up(namespace.clone()));
    }
    let prefix = local.workload.as_ref().and_then(|workload| workload.prefix_length);
    let address = InterfaceAddress { address: local.address, prefix: prefix.unwrap_or(32) };
    match (in_switch, here) {
        (Some(fresh), orphan) => {
            // A killed switch leaves its device behind; the new one has another under the name.
            steps.extend(orphan.map(|orphan| LinkStep::Delete {
                place: place.clone(),
                name: name.clone(),
                index: orphan.index,
            }));
            steps.push(LinkStep::Move { name: name.clone(), index: fresh.index, to: namespace.clone() });
            let moved = Link { up: false, addresses: Vec::new(), ..fresh.clone() };
            steps.extend(settings_of(&moved, local, place, (mtu, Some(address))));
        }
        (None, Some(link)) => steps.extend(settings_of(link, local, place, (mtu, Some(address)))),
        (None, None) => {}
    }
    Some(steps)
}

/// Returns the steps that give a link its attributes and its address.
fn settings_of(
    link: &Link,
    local: &LocalInterface,
    place: &LinkPlace,
    (mtu, address): (u32, Option<InterfaceAddress>),
) -> Vec<LinkStep> {
    let (place, name) = (|| place.clone(), || local.name.clone());
    let undesired = link.addresses.iter().filter(|held| Some(**held) != address);
    let mut steps: Vec<_> = undesired
        .map(|held| LinkStep::DeleteAddress { place: place(), name: name(), address: *held })
        .collect();
    let change = LinkChange {
        mac: (link.mac != Some(local.mac)).then_some(local.mac),
        mtu: (link.mtu != mtu).then_some(mtu),
        up: (!link.up).then_some(true),
    };
    let missing = address.filter(|address| !link.addresses.contains(address));
    steps.extend(missing.map(|address| LinkStep::AddAddress { place: place(), name: name(), address }));
    if change != LinkChange::default() {
        steps.push(LinkStep::Set { place: place(), name: name(), change });
    }
    steps
}

/// Returns the namespaces of no interface.
fn undesired_namespaces(
    settings: &SwitchSettings,
    desired: &InterfaceBook,
    observed: &ObservedSwitch,
    scope: &Scope,
) -> BTreeSet<NamespaceName> {
    let mut undesired: BTreeSet<NamespaceName> = match scope {
        Scope::All => observed.links.namespaces().map(|entry| entry.name.clone()).collect(),
        Scope::Some { places, .. } => {
            places.iter().filter(|name| observed.links.namespace(name).is_some()).cloned().collect()
        }
    };
    if undesired.is_empty() {
        return undesired;
    }
    for local in desired.local_interfaces() {
        if let Ok(LinkPlace::Workload(name)) = place_of(settings, local) {
            undesired.remove(&name);
        }
    }
    undesired
}

fn unknown_mtu(settings: &SwitchSettings) -> FabricError {
    FabricError::Failed {
        what: "finding the MTU of the underlay",
        reason: format!(
            "no link of the switch's namespace has the address {}: give it to one, or set --mtu",
            settings.host
        ),
    }
}
