//! A switch that runs flows over frames. Pure: a frame in, output ports out.

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
/// It fails secure: a frame without matching flow is dropped, so without flows nothing is
/// forwarded. A frame never leaves by its ingress port.
#[derive(Debug)]
pub struct Switch {
    tunnels: Port,
    tables: BTreeMap<u8, Table>,
    /// The flows of each cookie.
    by_cookie: BTreeMap<u64, BTreeSet<FlowKey>>,
}

/// The key of a flow: table, priority and match.
type FlowKey = (u8, u16, Match);

/// A frame at an ingress port.
#[derive(Clone, Copy, Debug)]
pub struct IncomingFrame<'a> {
    /// Ingress port.
    pub port: Port,
    /// The tunnel, if the ingress port is the tunnel port.
    pub tunnel: Option<Tunnel>,
    /// The bytes of the frame.
    pub frame: &'a [u8],
}

/// An output of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingFrame {
    /// Output port.
    pub port: Port,
    /// The tunnel, if the output port is the tunnel port.
    pub tunnel: Option<Tunnel>,
}

/// The result of tracing a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowTrace<'a> {
    /// The matching flows, in order.
    pub flows: Vec<&'a Flow>,
    /// Ports, and tunnels, to which the flows output the frame.
    pub outputs: Vec<OutgoingFrame>,
}

/// Tunnel metadata of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// VNI of the network.
    pub vni: Vni,
    /// Underlay address of the other end.
    pub node: Ipv4Addr,
}

/// Maximum number of table look-ups per frame, against loops.
const MAX_LOOKUPS: usize = 16;

impl Switch {
    /// Creates a switch without flows.
    #[must_use]
    pub const fn new(tunnels: Port) -> Self {
        Self { tunnels, tables: BTreeMap::new(), by_cookie: BTreeMap::new() }
    }

    /// Adds a flow; replaces one with the same table, priority and match.
    pub fn add(&mut self, flow: Flow) {
        let place = (flow.table, flow.priority, flow.matches.clone());
        let cookie = flow.cookie;
        if let Some(former) = self.tables.entry(flow.table).or_default().put(flow) {
            self.remove_cookie(former.cookie, &place);
        }
        self.by_cookie.entry(cookie).or_default().insert(place);
    }

    /// Removes the flow with the same table, priority and match.
    pub fn remove(&mut self, flow: &Flow) {
        let place = (flow.table, flow.priority, flow.matches.clone());
        if let Some(former) = self.take(&place) {
            self.remove_cookie(former.cookie, &place);
        }
    }

    /// Removes all flows of a cookie.
    pub fn remove_all(&mut self, cookie: u64) {
        for place in self.by_cookie.remove(&cookie).into_iter().flatten() {
            self.take(&place);
        }
    }

    /// Returns all flows.
    #[must_use]
    pub fn flows(&self) -> BTreeSet<Flow> {
        self.tables.values().flat_map(Table::flows).cloned().collect()
    }

    /// Returns the outputs of a frame; a malformed frame is dropped.
    #[must_use]
    pub fn forward(&self, incoming: &IncomingFrame<'_>) -> Vec<OutgoingFrame> {
        self.trace(incoming).outputs
    }

    /// Returns the outputs of a frame, and the flows that matched.
    #[must_use]
    pub fn trace(&self, incoming: &IncomingFrame<'_>) -> FlowTrace<'_> {
        let mut trace = FlowTrace::default();
        let Some(mut fields) = fields_of(incoming) else { return trace };
        let (mut to, mut table) = (None, Some(0));
        for _ in 0..MAX_LOOKUPS {
            let Some(here) = table.take() else { break };
            let Some(flow) = self.tables.get(&here).and_then(|table| table.find(&fields)) else { break };
            trace.flows.push(flow);
            for action in &flow.actions {
                match *action {
                    Action::SetTunnel(vni) => fields.tun_id = Some(vni.number()),
                    Action::SetTunnelTo(node) => to = Some(node),
                    Action::GotoTable(next) => table = Some(next),
                    Action::Output(port) if port == incoming.port => {}
                    Action::Output(port) => trace.outputs.extend(self.output(port, &fields, to)),
                }
            }
        }
        trace
    }

    /// Returns an output; the tunnel port requires a network and a destination node.
    fn output(&self, port: Port, fields: &Match, to: Option<Ipv4Addr>) -> Option<OutgoingFrame> {
        if port != self.tunnels {
            return Some(OutgoingFrame { port, tunnel: None });
        }
        let vni = Vni::new(fields.tun_id?).ok()?;
        Some(OutgoingFrame { port, tunnel: Some(Tunnel { vni, node: to? }) })
    }

    fn take(&mut self, place: &FlowKey) -> Option<Flow> {
        let table = self.tables.get_mut(&place.0)?;
        let flow = table.take(place.1, &place.2);
        if table.is_empty() {
            self.tables.remove(&place.0);
        }
        flow
    }

    fn remove_cookie(&mut self, cookie: u64, place: &FlowKey) {
        if let Some(places) = self.by_cookie.get_mut(&cookie) {
            places.remove(place);
            if places.is_empty() {
                self.by_cookie.remove(&cookie);
            }
        }
    }
}
