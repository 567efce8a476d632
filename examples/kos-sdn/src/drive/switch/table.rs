//! A flow table with tuple space search.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::plan::{Flow, Match};

/// The flows of a table, grouped by priority and set of matched fields: a look-up costs one probe
/// per group, regardless of the number of flows (tuple space search, as in OVS).
#[derive(Debug, Default)]
pub(super) struct Table {
    groups: BTreeMap<(Reverse<u16>, FieldMask), BTreeMap<Match, Flow>>,
}

/// The fields that a flow matches, in the order of [`Match`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FieldMask([bool; 11]);

impl Table {
    /// Inserts a flow. Returns the flow that it replaces.
    pub(super) fn put(&mut self, flow: Flow) -> Option<Flow> {
        let group = (Reverse(flow.priority), FieldMask::by(&flow.matches));
        self.groups.entry(group).or_default().insert(flow.matches.clone(), flow)
    }

    /// Removes the flow of a priority and match.
    pub(super) fn take(&mut self, priority: u16, matches: &Match) -> Option<Flow> {
        let group = (Reverse(priority), FieldMask::by(matches));
        let flows = self.groups.get_mut(&group)?;
        let flow = flows.remove(matches);
        if flows.is_empty() {
            self.groups.remove(&group);
        }
        flow
    }

    /// Returns the matching flow of highest priority.
    pub(super) fn find(&self, fields: &Match) -> Option<&Flow> {
        self.groups.iter().find_map(|((_, mask), flows)| flows.get(&mask.of(fields)))
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.groups.values().flat_map(BTreeMap::values)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

impl FieldMask {
    fn by(matches: &Match) -> Self {
        let Match {
            in_port,
            untagged,
            tun_id,
            tun_src,
            dl_src,
            dl_dst,
            dl_type,
            nw_src,
            arp_sha,
            arp_spa,
            arp_tpa,
        } = matches;
        Self([
            in_port.is_some(),
            *untagged,
            tun_id.is_some(),
            tun_src.is_some(),
            dl_src.is_some(),
            dl_dst.is_some(),
            dl_type.is_some(),
            nw_src.is_some(),
            arp_sha.is_some(),
            arp_spa.is_some(),
            arp_tpa.is_some(),
        ])
    }

    /// Returns the values of these fields, and wildcards for the others.
    fn of(&self, fields: &Match) -> Match {
        let [in_port, untagged, tun_id, tun_src, dl_src, dl_dst, dl_type, nw_src, arp_sha, arp_spa, arp_tpa] =
            self.0;
        Match {
            in_port: fields.in_port.filter(|_| in_port),
            untagged: fields.untagged && untagged,
            tun_id: fields.tun_id.filter(|_| tun_id),
            tun_src: fields.tun_src.filter(|_| tun_src),
            dl_src: fields.dl_src.filter(|_| dl_src),
            dl_dst: fields.dl_dst.filter(|_| dl_dst),
            dl_type: fields.dl_type.filter(|_| dl_type),
            nw_src: fields.nw_src.filter(|_| nw_src),
            arp_sha: fields.arp_sha.filter(|_| arp_sha),
            arp_spa: fields.arp_spa.filter(|_| arp_spa),
            arp_tpa: fields.arp_tpa.filter(|_| arp_tpa),
        }
    }
}
