//! A switch that runs flows over frames. Pure: a frame in, and where it goes.

mod fields;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use fields::fields_of;
use table::Table;

use crate::model::Vni;
use crate::plan::{Action, Flow, Match, Port};

/// A switch with one port for all tunnels.
///
/// It fails secure: what no flow says anything of is dropped, and without flows that is all. A frame never leaves by the port that it came in by.
#[derive(Debug)]
pub struct Switch {
    tunnels: Port,
    tables: BTreeMap<u8, Table>,
    /// Which flows have a cookie.
    by_cookie: BTreeMap<u64, BTreeSet<Place>>,
}

/// Where a flow is: there is one.
type Place = (u8, u16, Match);

/// A frame that comes in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// By which port.
    pub port: Port,
    /// Through which tunnel, if that is the port of the tunnels.
    pub tunnel: Option<Tunnel>,
    /// Its bytes.
    pub frame: &'a [u8],
}

/// The frame goes out, as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// By which port.
    pub port: Port,
    /// Through which tunnel, if that is the port of the tunnels.
    pub tunnel: Option<Tunnel>,
}

/// What becomes of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed<'a> {
    /// The flows that decided, in turn.
    pub flows: Vec<&'a Flow>,
    /// Where it goes.
    pub leaves: Vec<Departure>,
}

/// What a frame in a tunnel has on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// The network that it is of.
    pub vni: Vni,
    /// The node at the other end.
    pub node: Ipv4Addr,
}

/// So many tables in turn may decide about a frame: a flow that leads back to itself ends here.
const TURNS: usize = 16;

impl Switch {
    /// One without flows.
    #[must_use]
    pub const fn new(tunnels: Port) -> Self {
        Self { tunnels, tables: BTreeMap::new(), by_cookie: BTreeMap::new() }
    }

    /// Adds a flow, in place of one with the same table, priority and match.
    pub fn add(&mut self, flow: Flow) {
        let place = (flow.table, flow.priority, flow.matches.clone());
        let cookie = flow.cookie;
        if let Some(former) = self.tables.entry(flow.table).or_default().put(flow) {
            self.unmark(former.cookie, &place);
        }
        self.by_cookie.entry(cookie).or_default().insert(place);
    }

    /// Removes a flow, by its table, priority and match.
    pub fn remove(&mut self, flow: &Flow) {
        let place = (flow.table, flow.priority, flow.matches.clone());
        if let Some(former) = self.take(&place) {
            self.unmark(former.cookie, &place);
        }
    }

    /// Removes all flows with a cookie.
    pub fn remove_all(&mut self, cookie: u64) {
        for place in self.by_cookie.remove(&cookie).into_iter().flatten() {
            self.take(&place);
        }
    }

    /// All its flows.
    #[must_use]
    pub fn flows(&self) -> BTreeSet<Flow> {
        self.tables.values().flat_map(Table::flows).cloned().collect()
    }

    /// Where a frame goes. What is no frame goes nowhere.
    #[must_use]
    pub fn step(&self, arrival: &Arrival<'_>) -> Vec<Departure> {
        self.follow(arrival).leaves
    }

    /// Where a frame goes, and because of which flows.
    #[must_use]
    pub fn follow(&self, arrival: &Arrival<'_>) -> Followed<'_> {
        let mut followed = Followed::default();
        let Some(mut fields) = fields_of(arrival) else { return followed };
        let (mut to, mut table) = (None, Some(0));
        for _ in 0..TURNS {
            let Some(here) = table.take() else { break };
            let Some(flow) = self.tables.get(&here).and_then(|table| table.find(&fields)) else { break };
            followed.flows.push(flow);
            for action in &flow.actions {
                match *action {
                    Action::SetTunnel(vni) => fields.tun_id = Some(vni.number()),
                    Action::SetTunnelTo(node) => to = Some(node),
                    Action::Resubmit(next) => table = Some(next),
                    Action::Output(port) if port == arrival.port => {}
                    Action::Output(port) => followed.leaves.extend(self.departure(port, &fields, to)),
                }
            }
        }
        followed
    }

    /// Out by a port; into a tunnel only with a network and a node.
    fn departure(&self, port: Port, fields: &Match, to: Option<Ipv4Addr>) -> Option<Departure> {
        if port != self.tunnels {
            return Some(Departure { port, tunnel: None });
        }
        let vni = Vni::new(fields.tun_id?).ok()?;
        Some(Departure { port, tunnel: Some(Tunnel { vni, node: to? }) })
    }

    fn take(&mut self, place: &Place) -> Option<Flow> {
        let table = self.tables.get_mut(&place.0)?;
        let flow = table.take(place.1, &place.2);
        if table.is_empty() {
            self.tables.remove(&place.0);
        }
        flow
    }

    fn unmark(&mut self, cookie: u64, place: &Place) {
        if let Some(places) = self.by_cookie.get_mut(&cookie) {
            places.remove(place);
            if places.is_empty() {
                self.by_cookie.remove(&cookie);
            }
        }
    }
}
