//! One table of flows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::plan::{Flow, Match};

/// The flows of a table, by priority and by what they ask for: a frame is looked up once for each set of fields that flows ask for, however many
/// flows there are.
#[derive(Debug, Default)]
pub(super) struct Table {
    groups: BTreeMap<(Reverse<u16>, Asked), BTreeMap<Match, Flow>>,
}

/// Which fields a flow asks for, in the order of [`Match`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asked([bool; 10]);

impl Table {
    /// Puts a flow where it belongs, and returns the one that was there.
    pub(super) fn put(&mut self, flow: Flow) -> Option<Flow> {
        let group = (Reverse(flow.priority), Asked::by(&flow.matches));
        self.groups.entry(group).or_default().insert(flow.matches.clone(), flow)
    }

    /// Takes the flow of a priority and match away.
    pub(super) fn take(&mut self, priority: u16, matches: &Match) -> Option<Flow> {
        let group = (Reverse(priority), Asked::by(matches));
        let flows = self.groups.get_mut(&group)?;
        let flow = flows.remove(matches);
        if flows.is_empty() {
            self.groups.remove(&group);
        }
        flow
    }

    /// The flow for a frame with these fields.
    pub(super) fn find(&self, fields: &Match) -> Option<&Flow> {
        self.groups.iter().find_map(|((_, asked), flows)| flows.get(&asked.of(fields)))
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.groups.values().flat_map(BTreeMap::values)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

impl Asked {
    fn by(matches: &Match) -> Self {
        let Match { in_port, tun_id, tun_src, dl_src, dl_dst, dl_type, nw_src, arp_sha, arp_spa, arp_tpa } =
            matches;
        Self([
            in_port.is_some(),
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

    /// What a frame has of these.
    fn of(&self, fields: &Match) -> Match {
        let [in_port, tun_id, tun_src, dl_src, dl_dst, dl_type, nw_src, arp_sha, arp_spa, arp_tpa] = self.0;
        Match {
            in_port: fields.in_port.filter(|_| in_port),
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
