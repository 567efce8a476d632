//! Flows: what a switch does with which frames, in the terms of OpenFlow.

use std::fmt;
use std::net::Ipv4Addr;

use super::Mac;
use crate::model::Vni;

/// One flow of one table. Of those that match, the one with the highest priority counts; two of one priority in one table never match the
/// same frame.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// Where it is looked up.
    pub table: u8,
    /// Which counts.
    pub priority: u16,
    /// Whose it is.
    pub cookie: u64,
    /// What it is for.
    pub matches: Match,
    /// What is done; nothing, to drop it.
    pub actions: Vec<Action>,
}

/// A port of a switch, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u32);

/// What a frame must have. What is not named may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match {
    /// The port that it came in by.
    pub in_port: Option<Port>,
    /// The network that it is of: from its tunnel, or from an earlier flow. Zero: of none.
    pub tun_id: Option<u32>,
    /// The node that sent it through the tunnel.
    pub tun_src: Option<Ipv4Addr>,
    /// From whom.
    pub dl_src: Option<Mac>,
    /// To whom.
    pub dl_dst: Option<Mac>,
    /// What is in it.
    pub dl_type: Option<EtherType>,
    /// From which address. Only with [`EtherType::Ipv4`].
    pub nw_src: Option<Ipv4Addr>,
    /// The MAC address that it says is the sender's. Only with [`EtherType::Arp`].
    pub arp_sha: Option<Mac>,
    /// The address that it says is the sender's. Only with [`EtherType::Arp`].
    pub arp_spa: Option<Ipv4Addr>,
    /// The address that it asks for. Only with [`EtherType::Arp`].
    pub arp_tpa: Option<Ipv4Addr>,
}

/// What may be in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EtherType {
    /// A packet.
    Ipv4,
    /// Who has an address.
    Arp,
}

/// What is done with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It is of that network.
    SetTunnel(Vni),
    /// It goes to that node, if it goes through a tunnel.
    SetTunnelTo(Ipv4Addr),
    /// It goes out by that port, unless it came in there.
    Output(Port),
    /// Another table decides.
    Resubmit(u8),
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "ip",
            Self::Arp => "arp",
        })
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = |name: &str, value: Option<String>| value.map(|value| format!("{name}={value}"));
        let fields = [
            self.dl_type.map(|of| of.to_string()),
            field("in_port", self.in_port.map(|port| port.to_string())),
            field("tun_id", self.tun_id.map(|vni| vni.to_string())),
            field("tun_src", self.tun_src.map(|node| node.to_string())),
            field("dl_src", self.dl_src.map(|mac| mac.to_string())),
            field("dl_dst", self.dl_dst.map(|mac| mac.to_string())),
            field("nw_src", self.nw_src.map(|address| address.to_string())),
            field("arp_sha", self.arp_sha.map(|mac| mac.to_string())),
            field("arp_spa", self.arp_spa.map(|address| address.to_string())),
            field("arp_tpa", self.arp_tpa.map(|address| address.to_string())),
        ];
        f.write_str(&fields.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetTunnel(vni) => write!(f, "set_field:{vni}->tun_id"),
            Self::SetTunnelTo(node) => write!(f, "set_field:{node}->tun_dst"),
            Self::Output(port) => write!(f, "output:{port}"),
            Self::Resubmit(table) => write!(f, "resubmit(,{table})"),
        }
    }
}

/// As `ovs-ofctl add-flow` takes it.
impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cookie={:#x},table={},priority={}", self.cookie, self.table, self.priority)?;
        let matches = self.matches.to_string();
        if !matches.is_empty() {
            write!(f, ",{matches}")?;
        }
        let actions: Vec<String> = self.actions.iter().map(Action::to_string).collect();
        write!(f, ",actions={}", if actions.is_empty() { "drop".into() } else { actions.join(",") })
    }
}
