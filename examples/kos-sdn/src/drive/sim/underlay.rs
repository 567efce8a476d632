//! The underlay: nodes, and the delivery of frames between them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use machinery::sync::Mutex;

use super::fabric::SimFabric;
use super::guest::GuestResponse;
use super::node::{SimNode, TUNNELS};
use crate::drive::packet::Malformed;
use crate::drive::{FabricError, IncomingFrame, Tunnel};
use crate::plan::{AddressKey, Port};

/// A network in memory. Cheap to clone.
#[derive(Clone)]
pub struct Underlay(Arc<Inner>);

struct Inner {
    limits: SimLimits,
    /// Held during the delivery of a frame, which is bounded, and never across an await.
    nodes: Mutex<BTreeMap<Ipv4Addr, SimNode>>,
    /// Sends frames to nodes of other processes.
    out: Option<RemoteSender>,
}

/// Sends a frame to a node of another process without blocking; the tunnel is as the receiver sees
/// it.
pub(super) type RemoteSender = Box<dyn Fn(Tunnel, Ipv4Addr, &[u8]) + Send + Sync>;

/// Limits of a simulated network.
#[derive(Clone, Copy, Debug)]
pub struct SimLimits {
    /// Maximum number of nodes.
    pub nodes: usize,
    /// Maximum number of interfaces per node, local and remote.
    pub interfaces: usize,
    /// Maximum number of forwarding steps of a frame and the replies to it.
    pub steps: usize,
}

/// A frame delivered to a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveredFrame {
    /// The node of the guest.
    pub node: Ipv4Addr,
    /// The guest.
    pub to: AddressKey,
    /// The bytes of the frame.
    pub frame: Vec<u8>,
    /// The reply of the guest, and the echo reply that it received, if any.
    pub response: GuestResponse,
}

/// The reason why a frame was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The interface does not exist.
    #[error("there is no interface {} of network {} on {node}", to.address, to.vni)]
    NoInterface {
        /// The node.
        node: Ipv4Addr,
        /// The interface.
        to: AddressKey,
    },
    /// The node does not exist.
    #[error("there is no node {0}")]
    NoNode(Ipv4Addr),
    /// Replies to replies exceed the limit of steps.
    #[error("a frame and the replies to it exceeded {limit} steps")]
    Storm {
        /// The limit.
        limit: usize,
    },
}

/// The reason why a ping failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PingError {
    /// No ARP reply for the address.
    #[error("no ARP reply for {0}")]
    NoArpReply(Ipv4Addr),
    /// No echo reply.
    #[error("{0} does not answer")]
    NoEchoReply(Ipv4Addr),
    /// The frame was not sent.
    #[error(transparent)]
    SendError(#[from] SendError),
    /// The payload is too long.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// A frame to be forwarded.
struct FrameInFlight {
    node: Ipv4Addr,
    port: Port,
    tunnel: Option<Tunnel>,
    frame: Vec<u8>,
}

impl Default for SimLimits {
    fn default() -> Self {
        Self { nodes: 1024, interfaces: 1 << 16, steps: 1024 }
    }
}

impl Underlay {
    /// Creates a network without nodes.
    #[must_use]
    pub fn new(limits: SimLimits) -> Self {
        Self(Arc::new(Inner { limits, nodes: Mutex::default(), out: None }))
    }

    /// Creates the part of a network that is in this process.
    pub(super) fn part(limits: SimLimits, out: RemoteSender) -> Self {
        Self(Arc::new(Inner { limits, nodes: Mutex::default(), out: Some(out) }))
    }

    /// Returns the fabric of a node, which is created if missing.
    ///
    /// # Errors
    /// The limit of nodes is reached.
    pub fn join(&self, node: Ipv4Addr) -> Result<SimFabric, FabricError> {
        let SimLimits { nodes: limit, interfaces, .. } = self.0.limits;
        let mut nodes = self.0.nodes.lock();
        if !nodes.contains_key(&node) && nodes.len() >= limit {
            let reason = format!("the simulated network has reached its limit of {limit} nodes");
            return Err(FabricError::Failed { what: "joining", reason });
        }
        nodes.entry(node).or_insert_with(|| SimNode::new(interfaces));
        drop(nodes);
        Ok(SimFabric::new(self.clone(), node))
    }

    /// Calls a function with a node.
    pub(super) fn with<T>(
        &self,
        node: Ipv4Addr,
        then: impl FnOnce(&mut SimNode) -> T,
    ) -> Result<T, FabricError> {
        match self.0.nodes.lock().get_mut(&node) {
            Some(node) => Ok(then(node)),
            None => Err(FabricError::Unavailable { reason: SendError::NoNode(node).to_string() }),
        }
    }

    /// Exchanges ARP and ICMP echo with an address.
    ///
    /// # Errors
    /// There was no reply, or a frame was not sent.
    pub fn ping(
        &self,
        node: Ipv4Addr,
        from: AddressKey,
        to: Ipv4Addr,
        sequence: u16,
    ) -> Result<(), PingError> {
        const ID: u16 = 0x6b6f;
        self.send_arp_request(node, from, to)?;
        let delivered =
            self.send_echo_request(node, from, to, (ID, sequence))?.ok_or(PingError::NoArpReply(to))?;
        let answered = |one: &DeliveredFrame| one.to == from && one.response.echo == Some((to, ID, sequence));
        delivered.iter().any(answered).then_some(()).ok_or(PingError::NoEchoReply(to))
    }

    /// Sends an ARP request from a guest.
    pub(super) fn send_arp_request(
        &self,
        node: Ipv4Addr,
        from: AddressKey,
        to: Ipv4Addr,
    ) -> Result<(), SendError> {
        let is_request = self.guest(node, from, |guest| guest.arp_request(to))?;
        self.send(node, from, is_request).map(drop)
    }

    /// Sends an ICMP echo request from a guest, and returns the local deliveries; `None` if the ARP
    /// cache lacks the address.
    pub(super) fn send_echo_request(
        &self,
        node: Ipv4Addr,
        from: AddressKey,
        to: Ipv4Addr,
        (id, sequence): (u16, u16),
    ) -> Result<Option<Vec<DeliveredFrame>>, PingError> {
        let request = self.guest(node, from, |guest| guest.echo_request(to, id, sequence, b"kos"))??;
        Ok(request.map(|frame| self.send(node, from, frame)).transpose()?)
    }

    /// Sends any frame from a guest, and the replies of guests. Returns the deliveries.
    ///
    /// # Errors
    /// The guest does not exist, or the limit of steps is reached.
    pub fn send(
        &self,
        node: Ipv4Addr,
        from: AddressKey,
        frame: Vec<u8>,
    ) -> Result<Vec<DeliveredFrame>, SendError> {
        let mut nodes = self.0.nodes.lock();
        let port = nodes.get(&node).ok_or(SendError::NoNode(node))?.port(&from);
        let port = port.ok_or(SendError::NoInterface { node, to: from })?;
        self.run(&mut nodes, FrameInFlight { node, port, tunnel: None, frame })
    }

    /// Delivers a frame from a tunnel to a node. Returns the deliveries.
    ///
    /// # Errors
    /// The node does not exist, or the limit of steps is reached.
    pub fn deliver(
        &self,
        node: Ipv4Addr,
        tunnel: Tunnel,
        frame: Vec<u8>,
    ) -> Result<Vec<DeliveredFrame>, SendError> {
        let mut nodes = self.0.nodes.lock();
        if !nodes.contains_key(&node) {
            return Err(SendError::NoNode(node));
        }
        self.run(&mut nodes, FrameInFlight { node, port: TUNNELS, tunnel: Some(tunnel), frame })
    }

    /// Disconnects a node from the underlay, or reconnects it.
    ///
    /// # Errors
    /// The node does not exist.
    pub fn disconnect(&self, node: Ipv4Addr, is_disconnected: bool) -> Result<(), FabricError> {
        self.with(node, |node| node.is_disconnected = is_disconnected)
    }

    /// Replaces the switch of a node by one without flows, as a restart does.
    ///
    /// # Errors
    /// The node does not exist.
    pub fn restart_switch(&self, node: Ipv4Addr) -> Result<(), FabricError> {
        self.with(node, |node| node.switch = crate::drive::Switch::new(TUNNELS))
    }

    fn guest<T>(
        &self,
        node: Ipv4Addr,
        key: AddressKey,
        then: impl FnOnce(&mut super::Guest) -> T,
    ) -> Result<T, SendError> {
        let mut nodes = self.0.nodes.lock();
        let at = nodes.get_mut(&node).ok_or(SendError::NoNode(node))?;
        let guest = at.port(&key).and_then(|port| at.guest(port));
        guest.map(|(_, guest)| then(guest)).ok_or(SendError::NoInterface { node, to: key })
    }
}

impl Underlay {
    /// Forwards a frame and the replies to it.
    fn run(
        &self,
        nodes: &mut BTreeMap<Ipv4Addr, SimNode>,
        first: FrameInFlight,
    ) -> Result<Vec<DeliveredFrame>, SendError> {
        let limit = self.0.limits.steps;
        // A queue, not recursion: replies of guests are frames, too, and their number is bounded.
        let (mut in_flight, mut delivered) = (VecDeque::from([first]), Vec::new());
        for _ in 0..limit {
            let Some(FrameInFlight { node: here, port, tunnel, frame }) = in_flight.pop_front() else {
                return Ok(delivered);
            };
            let Some(node) = nodes.get_mut(&here) else {
                if let (Some(out), Some(tunnel)) = (&self.0.out, tunnel) {
                    out(tunnel, here, &frame);
                }
                continue;
            };
            let is_disconnected = node.is_disconnected;
            if is_disconnected && port == TUNNELS {
                continue;
            }
            for outputs in node.switch.forward(&IncomingFrame { port, tunnel, frame: &frame }) {
                match outputs.tunnel {
                    Some(Tunnel { vni, node: there }) if !is_disconnected => {
                        let tunnel = Some(Tunnel { vni, node: here });
                        in_flight.push_back(FrameInFlight {
                            node: there,
                            port: TUNNELS,
                            tunnel,
                            frame: frame.clone(),
                        });
                    }
                    Some(_) => {}
                    None => {
                        let Some((to, guest)) = node.guest(outputs.port) else { continue };
                        let response = guest.receive(&frame);
                        if let Some(answer) = response.answer.clone() {
                            in_flight.push_back(FrameInFlight {
                                node: here,
                                port: outputs.port,
                                tunnel: None,
                                frame: answer,
                            });
                        }
                        delivered.push(DeliveredFrame { node: here, to, frame: frame.clone(), response });
                    }
                }
            }
        }
        if in_flight.is_empty() { Ok(delivered) } else { Err(SendError::Storm { limit }) }
    }
}

impl fmt::Debug for Underlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Underlay({} nodes)", self.0.nodes.lock().len())
    }
}
