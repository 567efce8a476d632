//! OpenFlow flows: match, priority and actions.

use std::fmt;
use std::net::Ipv4Addr;

use super::Mac;
use crate::model::Vni;

/// One flow of one table. The matching flow of highest priority applies. Two flows of equal
/// priority in one table never match the same frame: OpenFlow leaves open which of them would
/// apply.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// Number of the table.
    pub table: u8,
    /// Priority.
    pub priority: u16,
    /// Cookie: identifies the interface that the flow belongs to.
    pub cookie: u64,
    /// Match fields.
    pub matches: Match,
    /// Actions; none drops the frame.
    pub actions: Vec<Action>,
}

/// An OpenFlow port number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u32);

/// The match fields of a flow, named as in OVS. A field of `None` is a wildcard.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match {
    /// Ingress port.
    pub in_port: Option<Port>,
    /// Whether only untagged frames match. OVS ignores a VLAN tag in all other fields.
    pub untagged: bool,
    /// VNI, from the tunnel or set by a flow of an earlier table; zero for none.
    pub tun_id: Option<u32>,
    /// Tunnel source: underlay address of the sending node.
    pub tun_src: Option<Ipv4Addr>,
    /// Source MAC address.
    pub dl_src: Option<Mac>,
    /// Destination MAC address.
    pub dl_dst: Option<Mac>,
    /// Ethernet type.
    pub dl_type: Option<EtherType>,
    /// IPv4 source address. Only with [`EtherType::Ipv4`].
    pub nw_src: Option<Ipv4Addr>,
    /// ARP sender MAC address. Only with [`EtherType::Arp`].
    pub arp_sha: Option<Mac>,
    /// ARP sender address. Only with [`EtherType::Arp`].
    pub arp_spa: Option<Ipv4Addr>,
    /// ARP target address. Only with [`EtherType::Arp`].
    pub arp_tpa: Option<Ipv4Addr>,
}

/// The Ethernet types that flows match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EtherType {
    /// IPv4.
    Ipv4,
    /// ARP.
    Arp,
}

/// An action on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Sets `tun_id` to the VNI.
    SetTunnel(Vni),
    /// Sets `tun_dst`: underlay address of the receiving node.
    SetTunnelTo(Ipv4Addr),
    /// Sends the frame out of a port, except the ingress port.
    Output(Port),
    /// Continues in a later table, after all other actions.
    GotoTable(u8),
}

impl EtherType {
    const IPV4: u16 = 0x0800;
    const ARP: u16 = 0x0806;

    /// Returns the type of a number, if known.
    #[must_use]
    pub const fn of_number(number: u16) -> Option<Self> {
        match number {
            Self::IPV4 => Some(Self::Ipv4),
            Self::ARP => Some(Self::Arp),
            _ => None,
        }
    }

    /// Returns the number in frames.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::Ipv4 => Self::IPV4,
            Self::Arp => Self::ARP,
        }
    }
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
            field("tun_id", self.tun_id.map(|vni| format!("{vni:#x}"))),
            field("tun_src", self.tun_src.map(|node| node.to_string())),
            field("in_port", self.in_port.map(|port| port.to_string())),
            // The tag's presence bit and VLAN identifier, both zero.
            field("vlan_tci", self.untagged.then(|| "0x0000/0x1fff".into())),
            field("dl_src", self.dl_src.map(|mac| mac.to_string())),
            field("dl_dst", self.dl_dst.map(|mac| mac.to_string())),
            field("nw_src", self.nw_src.map(|address| address.to_string())),
            field("arp_spa", self.arp_spa.map(|address| address.to_string())),
            field("arp_tpa", self.arp_tpa.map(|address| address.to_string())),
            field("arp_sha", self.arp_sha.map(|mac| mac.to_string())),
        ];
        f.write_str(&fields.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetTunnel(vni) => write!(f, "set_field:{:#x}->tun_id", vni.number()),
            Self::SetTunnelTo(node) => write!(f, "set_field:{node}->tun_dst"),
            Self::Output(port) => write!(f, "output:{port}"),
            Self::GotoTable(table) => write!(f, "goto_table:{table}"),
        }
    }
}

/// Formats the flow as `ovs-ofctl dump-flows` does, without statistics; `add-flow` accepts it.
impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cookie={:#x}, table={}, priority={}", self.cookie, self.table, self.priority)?;
        let matches = self.matches.to_string();
        if !matches.is_empty() {
            write!(f, ",{matches}")?;
        }
        let actions: Vec<String> = self.actions.iter().map(Action::to_string).collect();
        write!(f, " actions={}", if actions.is_empty() { "drop".into() } else { actions.join(",") })
    }
}
