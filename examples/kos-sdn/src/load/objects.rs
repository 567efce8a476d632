//! The objects of a load: networks, their subnets, and slots for attachments. Pure.

use std::net::Ipv4Addr;

use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::settings::LoadSettings;
use super::{LoadShape, number_of, vni_of};
use crate::model::{Cidr, NetworkAttachment, Subnet, Vni};
use crate::plan::SplitMix64;

/// Label of all objects of a load.
pub(super) const APP: (&str, &str) = ("app", "kos-driver");
const RUN: &str = "runid";
const SLOT: &str = "slot";

/// A network of a load.
#[derive(Clone, Debug)]
pub(super) struct LoadNetwork {
    pub(super) vni: Vni,
    pub(super) size: u64,
    pub(super) subnets: Vec<(String, Cidr)>,
    digits: usize,
}

/// A slot for one attachment at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotId {
    /// Index of the network, from 0.
    pub(super) network: usize,
    /// Index in the network, from 0.
    pub(super) index: u64,
}

/// Returns the networks of a load.
pub(super) fn networks(settings: &LoadSettings, chance: &mut SplitMix64) -> Vec<LoadNetwork> {
    let (load, base) = (&settings.load, settings.base);
    let first = u32::try_from(chance.next() % 32).unwrap_or(0);
    // The largest number in the name of any attachment.
    let uses = settings.attachments as u64 + load.size(1);
    let digits = uses.to_string().len();
    let mut from = base;
    load.nets()
        .map(|net| {
            let vni = vni_of(first, net.index);
            let planned = load.subnets(&net, vni, from);
            if let Some(last) = planned.last() {
                from = Ipv4Addr::from(u32::from(last.block.last()).wrapping_add(1));
            }
            let subnets = planned.into_iter().map(|subnet| (subnet.name, subnet.block)).collect();
            LoadNetwork { vni, size: net.size, subnets, digits }
        })
        .collect()
}

/// Returns the slots of all networks, in the order in which they are filled.
pub(super) fn slots(networks: &[LoadNetwork], chance: &mut SplitMix64) -> Vec<SlotId> {
    let of =
        |(network, net): (usize, &LoadNetwork)| (0..net.size).map(move |index| SlotId { network, index });
    let mut slots: Vec<SlotId> = networks.iter().enumerate().flat_map(of).collect();
    chance.shuffle(&mut slots);
    slots
}

impl LoadNetwork {
    pub(super) fn objects(&self, run: &str) -> impl Iterator<Item = Subnet> {
        let subnet = |(name, block): &(String, Cidr)| {
            let mut subnet = Subnet::new(run, name, self.vni.number(), &block.to_string());
            mark(&mut subnet.metadata, run);
            subnet
        };
        self.subnets.iter().map(subnet)
    }

    /// Returns the attachment for the given use of a slot.
    pub(super) fn attachment(
        &self,
        run: &str,
        slot: SlotId,
        use_of_it: u64,
        node: &str,
    ) -> NetworkAttachment {
        let number = number_of(slot.index, use_of_it, self.size);
        let name = LoadShape::attachment(self.vni, number, self.digits);
        let subnet = &self.subnets[usize::try_from(slot.index).unwrap_or(0) % self.subnets.len()].0;
        let mut new = NetworkAttachment::new(run, &name, node, subnet);
        mark(&mut new.metadata, run);
        let place = format!("{:06x}-{}", self.vni.number(), slot.index);
        new.metadata.annotations.get_or_insert_default().insert(SLOT.into(), place);
        new
    }
}

fn mark(metadata: &mut ObjectMeta, run: &str) {
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(APP.0.into(), APP.1.into());
    labels.insert(RUN.into(), run.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::NodeSelection;
    use std::collections::BTreeSet;

    #[test]
    fn blocks_are_disjoint_and_names_unique() {
        let nodes = NodeSelection { names: vec!["node-1".into()], in_turn: true };
        let settings = LoadSettings::new("run", nodes);
        let mut chance = SplitMix64::new(3);
        let networks = networks(&settings, &mut chance);
        let mut blocks: Vec<Cidr> =
            networks.iter().flat_map(|net| net.subnets.iter().map(|(_, block)| *block)).collect();
        assert_eq!((networks.len(), blocks.len()), (10, 20));
        blocks.sort_by_key(|block| u32::from(block.last()));
        assert!(blocks.windows(2).all(|two| !two[0].overlaps(&two[1])));
        let slots = slots(&networks, &mut chance);
        assert_eq!(slots.len() as u64, settings.load.slots());
        let names: BTreeSet<String> = (0..3)
            .flat_map(|time| slots.iter().map(move |slot| (time, slot)))
            .map(|(time, slot)| {
                let new = networks[slot.network].attachment("run", *slot, time, "node-1");
                new.metadata.name.unwrap()
            })
            .collect();
        assert_eq!(names.len(), slots.len() * 3);
    }
}
