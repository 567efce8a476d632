//! The frames that the probe has sent and received.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::Station;
use super::mark::{FrameKind, Mark};

/// A frame that arrived and should not have.
#[derive(Clone, Debug)]
pub(crate) struct Leak {
    /// The receiving attachment.
    #[allow(dead_code, reason = "printed")]
    pub(crate) at: Station,
    pub(crate) mark: Mark,
}

/// An interval in which a permitted sender sent frames and none arrived.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "printed")]
pub(crate) struct Gap {
    pub(crate) from: Station,
    pub(crate) to: Station,
    pub(crate) time: Duration,
    pub(crate) rounds: u32,
}

/// Stations, arrivals and violations.
#[derive(Default)]
pub(super) struct Ledger {
    stations: BTreeMap<u32, Station>,
    /// By receiver and sender: the last arrival, and the rounds that the sender has sent since.
    pairs: BTreeMap<(u32, u32), (Option<Instant>, u32)>,
    /// By receiver and sender: those with an ARP request.
    requests: BTreeSet<(u32, u32)>,
    /// Since when the network has to be steady.
    steady: Option<Instant>,
    gaps: BTreeMap<(u32, u32), Gap>,
    leaks: Vec<Leak>,
    sent: u64,
    arrived: u64,
}

/// The longest permitted gap, and the rounds that the sender must have sent in it: a test machine
/// under load may stop the sender itself.
const GAP: (Duration, u32) = (Duration::from_secs(1), 10);

impl Ledger {
    pub(super) fn add(&mut self, number: u32, station: Station) {
        self.stations.insert(number, station);
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.stations.remove(&number);
        self.pairs.retain(|(to, from), _| *to != number && *from != number);
    }

    pub(super) fn stations(&self) -> Vec<Station> {
        self.stations.values().cloned().collect()
    }

    /// Returns the pairs that are permitted, as receiver and sender.
    fn permitted(&self) -> impl Iterator<Item = (u32, u32)> {
        self.stations.iter().flat_map(move |(to, receiver)| {
            let senders =
                self.stations.iter().filter(move |(from, sender)| from != &to && sender.vni == receiver.vni);
            senders.map(move |(from, _)| (*to, *from))
        })
    }

    pub(super) fn sent(&mut self, number: u32, frames: usize) {
        self.sent += u64::try_from(frames).unwrap();
        let pairs: Vec<_> = self.permitted().filter(|(_, from)| *from == number).collect();
        for pair in pairs {
            self.pairs.entry(pair).or_default().1 += 1;
            self.check(pair);
        }
    }

    pub(super) fn arrived(&mut self, number: u32, at: &Station, mark: Mark) {
        let is_honest = matches!(mark.kind, FrameKind::Unicast | FrameKind::ArpRequest);
        let is_own = (mark.vni, mark.to_vni, mark.to) == (at.vni, at.vni, at.address);
        if !is_honest || !is_own {
            self.leaks.push(Leak { at: at.clone(), mark });
            return;
        }
        self.arrived += 1;
        if mark.kind == FrameKind::ArpRequest {
            self.requests.insert((number, mark.sender));
        }
        if self.stations.contains_key(&mark.sender) {
            self.check((number, mark.sender));
            self.pairs.insert((number, mark.sender), (Some(Instant::now()), 0));
        }
    }

    /// Records a gap if the time since the last arrival is too long.
    fn check(&mut self, pair: (u32, u32)) {
        let Some(steady) = self.steady else { return };
        let (last, rounds) = self.pairs.get(&pair).copied().unwrap_or_default();
        let time = last.map_or(steady, |last| last.max(steady)).elapsed();
        if time > GAP.0
            && rounds > GAP.1
            && let (Some(to), Some(from)) = (self.stations.get(&pair.0), self.stations.get(&pair.1))
        {
            self.gaps.insert(pair, Gap { from: from.clone(), to: to.clone(), time, rounds });
        }
    }

    pub(super) fn begin_steady(&mut self) {
        self.steady = Some(Instant::now());
        self.pairs.values_mut().for_each(|(_, rounds)| *rounds = 0);
        self.gaps.clear();
    }

    pub(super) fn end_steady(&mut self) -> Vec<Gap> {
        let mut pairs = Vec::new(); // a check changes the pairs
        pairs.extend(self.permitted());
        pairs.into_iter().for_each(|pair| self.check(pair));
        self.steady = None;
        std::mem::take(&mut self.gaps).into_values().collect()
    }

    /// Returns the permitted pairs without an arrival since an instant, as sender and receiver.
    pub(super) fn silent_since(&self, since: Instant) -> Vec<(Station, Station)> {
        self.permitted_where(|pair| {
            self.pairs.get(pair).and_then(|(last, _)| *last).is_none_or(|last| last < since)
        })
    }

    pub(super) fn forget_requests(&mut self) {
        self.requests.clear();
    }

    /// Returns the permitted pairs without an ARP request, as sender and receiver.
    pub(super) fn without_requests(&self) -> Vec<(Station, Station)> {
        self.permitted_where(|pair| !self.requests.contains(pair))
    }

    fn permitted_where(&self, is_it: impl Fn(&(u32, u32)) -> bool) -> Vec<(Station, Station)> {
        let found = self.permitted().filter(is_it);
        found.map(|(to, from)| (self.stations[&from].clone(), self.stations[&to].clone())).collect()
    }

    pub(super) fn take_leaks(&mut self) -> Vec<Leak> {
        std::mem::take(&mut self.leaks)
    }

    pub(super) const fn counts(&self) -> (u64, u64) {
        (self.sent, self.arrived)
    }
}
