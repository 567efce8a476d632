//! The nodes, and what is between them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use machinery::sync::Mutex;

use super::fabric::SimFabric;
use super::guest::Heard;
use super::node::{Node, TUNNELS};
use crate::drive::packet::Malformed;
use crate::drive::{Arrival, FabricError, Tunnel};
use crate::plan::{AddressKey, Port};

/// A network in memory. Cheap to clone.
#[derive(Clone)]
pub struct Underlay(Arc<Inner>);

struct Inner {
    limits: SimLimits,
    /// Held while frames go round, which is bounded, and for nothing that waits.
    nodes: Mutex<BTreeMap<Ipv4Addr, Node>>,
    /// Where frames go that are for nodes which are not here.
    out: Option<Out>,
}

/// Sends a frame through a tunnel, of which it is said what the other end sees, to a node elsewhere; and does not wait.
pub(super) type Out = Box<dyn Fn(Tunnel, Ipv4Addr, &[u8]) + Send + Sync>;

/// How much there may be.
#[derive(Clone, Copy, Debug)]
pub struct SimLimits {
    /// So many nodes.
    pub nodes: usize,
    /// So many interfaces on each, and on others as it knows them.
    pub interfaces: usize,
    /// So many steps that one frame and the answers to it take.
    pub steps: usize,
}

/// A frame that came to a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// On which node.
    pub node: Ipv4Addr,
    /// To whom.
    pub to: AddressKey,
    /// Its bytes.
    pub frame: Vec<u8>,
    /// What was made of it.
    pub heard: Heard,
}

/// No frame could be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// There is no such interface.
    #[error("there is no interface {} of network {} on {node}", to.address, to.vni)]
    NoInterface {
        /// On this node.
        node: Ipv4Addr,
        /// Which.
        to: AddressKey,
    },
    /// There is no such node.
    #[error("there is no node {0}")]
    NoNode(Ipv4Addr),
    /// Answers and answers to them go round without an end.
    #[error("a frame and the answers to it took {limit} steps and more")]
    Storm {
        /// How many.
        limit: usize,
    },
}

/// A ping was not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PingError {
    /// Nobody said that the address is theirs.
    #[error("nobody answers who has {0}")]
    NobodyThere(Ipv4Addr),
    /// Nobody echoed.
    #[error("{0} does not answer")]
    NoAnswer(Ipv4Addr),
    /// It was not sent.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// There is too much in it.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// A frame on its way.
struct Underway {
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
    /// One without nodes.
    #[must_use]
    pub fn new(limits: SimLimits) -> Self {
        Self(Arc::new(Inner { limits, nodes: Mutex::default(), out: None }))
    }

    /// A part of one, whose other nodes are elsewhere.
    pub(super) fn part(limits: SimLimits, out: Out) -> Self {
        Self(Arc::new(Inner { limits, nodes: Mutex::default(), out: Some(out) }))
    }

    /// The fabric of a node, which is there from now on; one that was there is as it was.
    ///
    /// # Errors
    /// There are too many.
    pub fn join(&self, node: Ipv4Addr) -> Result<SimFabric, FabricError> {
        let SimLimits { nodes: limit, interfaces, .. } = self.0.limits;
        let mut nodes = self.0.nodes.lock();
        if !nodes.contains_key(&node) && nodes.len() >= limit {
            let reason = format!("the simulated network has {limit} nodes, and takes no more");
            return Err(FabricError::Failed { what: "joining", reason });
        }
        nodes.entry(node).or_insert_with(|| Node::new(interfaces));
        drop(nodes);
        Ok(SimFabric::new(self.clone(), node))
    }

    /// Does something to a node.
    pub(super) fn with<T>(
        &self,
        node: Ipv4Addr,
        then: impl FnOnce(&mut Node) -> T,
    ) -> Result<T, FabricError> {
        match self.0.nodes.lock().get_mut(&node) {
            Some(node) => Ok(then(node)),
            None => Err(FabricError::Unavailable { reason: Lost::NoNode(node).to_string() }),
        }
    }

    /// A real exchange: who has the address, and an echo from it.
    ///
    /// # Errors
    /// It did not come to be, and why.
    pub fn ping(
        &self,
        node: Ipv4Addr,
        from: AddressKey,
        to: Ipv4Addr,
        sequence: u16,
    ) -> Result<(), PingError> {
        const ID: u16 = 0x6b6f;
        self.asks(node, from, to)?;
        let delivered = self.pings(node, from, to, (ID, sequence))?.ok_or(PingError::NobodyThere(to))?;
        let answered = |one: &Delivered| one.to == from && one.heard.echo == Some((to, ID, sequence));
        delivered.iter().any(answered).then_some(()).ok_or(PingError::NoAnswer(to))
    }

    /// Lets a guest ask who has an address.
    pub(super) fn asks(&self, node: Ipv4Addr, from: AddressKey, to: Ipv4Addr) -> Result<(), Lost> {
        let asks = self.guest(node, from, |guest| guest.asks(to))?;
        self.send(node, from, asks).map(drop)
    }

    /// Lets a guest ask for an echo: what came of it here. Nothing, if it does not know who has the address.
    pub(super) fn pings(
        &self,
        node: Ipv4Addr,
        from: AddressKey,
        to: Ipv4Addr,
        (id, sequence): (u16, u16),
    ) -> Result<Option<Vec<Delivered>>, PingError> {
        let pings = self.guest(node, from, |guest| guest.pings(to, id, sequence, b"kos"))??;
        Ok(pings.map(|frame| self.send(node, from, frame)).transpose()?)
    }

    /// Sends a frame from a guest, whatever it is, and lets the guests answer: who heard what.
    ///
    /// # Errors
    /// There is no such guest, or there is no end to the answers.
    pub fn send(&self, node: Ipv4Addr, from: AddressKey, frame: Vec<u8>) -> Result<Vec<Delivered>, Lost> {
        let mut nodes = self.0.nodes.lock();
        let port = nodes.get(&node).ok_or(Lost::NoNode(node))?.port(&from);
        let port = port.ok_or(Lost::NoInterface { node, to: from })?;
        self.run(&mut nodes, Underway { node, port, tunnel: None, frame })
    }

    /// Lets a frame come out of a tunnel at a node, from whoever sent it there: who heard what.
    ///
    /// # Errors
    /// There is no such node, or there is no end to the answers.
    pub fn arrive(&self, node: Ipv4Addr, tunnel: Tunnel, frame: Vec<u8>) -> Result<Vec<Delivered>, Lost> {
        let mut nodes = self.0.nodes.lock();
        if !nodes.contains_key(&node) {
            return Err(Lost::NoNode(node));
        }
        self.run(&mut nodes, Underway { node, port: TUNNELS, tunnel: Some(tunnel), frame })
    }

    /// Cuts the wire of a node, or mends it.
    ///
    /// # Errors
    /// There is no such node.
    pub fn cut(&self, node: Ipv4Addr, is_cut: bool) -> Result<(), FabricError> {
        self.with(node, |node| node.is_cut = is_cut)
    }

    /// The switch of a node begins anew, and has no flows: as when its program is restarted.
    ///
    /// # Errors
    /// There is no such node.
    pub fn restart_switch(&self, node: Ipv4Addr) -> Result<(), FabricError> {
        self.with(node, |node| node.switch = crate::drive::Switch::new(TUNNELS))
    }

    fn guest<T>(
        &self,
        node: Ipv4Addr,
        who: AddressKey,
        then: impl FnOnce(&mut super::Guest) -> T,
    ) -> Result<T, Lost> {
        let mut nodes = self.0.nodes.lock();
        let at = nodes.get_mut(&node).ok_or(Lost::NoNode(node))?;
        let guest = at.port(&who).and_then(|port| at.guest(port));
        guest.map(|(_, guest)| then(guest)).ok_or(Lost::NoInterface { node, to: who })
    }
}

impl Underlay {
    /// Lets a frame go where it goes, and the answers to it.
    fn run(&self, nodes: &mut BTreeMap<Ipv4Addr, Node>, first: Underway) -> Result<Vec<Delivered>, Lost> {
        let limit = self.0.limits.steps;
        let (mut underway, mut delivered) = (VecDeque::from([first]), Vec::new());
        for _ in 0..limit {
            let Some(Underway { node: here, port, tunnel, frame }) = underway.pop_front() else {
                return Ok(delivered);
            };
            let Some(node) = nodes.get_mut(&here) else {
                if let (Some(out), Some(tunnel)) = (&self.0.out, tunnel) {
                    out(tunnel, here, &frame);
                }
                continue;
            };
            let is_cut = node.is_cut;
            if is_cut && port == TUNNELS {
                continue;
            }
            for leaves in node.switch.step(&Arrival { port, tunnel, frame: &frame }) {
                match leaves.tunnel {
                    Some(Tunnel { vni, node: there }) if !is_cut => {
                        let tunnel = Some(Tunnel { vni, node: here });
                        underway.push_back(Underway {
                            node: there,
                            port: TUNNELS,
                            tunnel,
                            frame: frame.clone(),
                        });
                    }
                    Some(_) => {}
                    None => {
                        let Some((to, guest)) = node.guest(leaves.port) else { continue };
                        let heard = guest.hears(&frame);
                        if let Some(answer) = heard.answer.clone() {
                            underway.push_back(Underway {
                                node: here,
                                port: leaves.port,
                                tunnel: None,
                                frame: answer,
                            });
                        }
                        delivered.push(Delivered { node: here, to, frame: frame.clone(), heard });
                    }
                }
            }
        }
        if underway.is_empty() { Ok(delivered) } else { Err(Lost::Storm { limit }) }
    }
}

impl fmt::Debug for Underlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Underlay({} nodes)", self.0.nodes.lock().len())
    }
}
