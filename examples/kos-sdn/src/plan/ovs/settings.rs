//! Settings of a bridge.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// The settings of a node's bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwitchSettings {
    /// Name of the node, as in attachments.
    pub node: String,
    /// Underlay address of the node.
    pub host: Ipv4Addr,
    /// Name of the bridge, at most [`BRIDGE_NAME_LIMIT`](Self::BRIDGE_NAME_LIMIT) bytes.
    pub bridge: String,
    /// Implementation of the data path.
    pub datapath: Datapath,
    /// MTU of interfaces; `None` for the MTU of the underlay minus the overhead of VXLAN.
    pub mtu: Option<u32>,
    /// Whether interfaces are moved into namespaces named after their attachments.
    pub into_namespaces: bool,
}

/// An implementation of the data path of Open vSwitch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Datapath {
    /// In user space.
    #[default]
    Netdev,
    /// In the kernel.
    System,
}

/// The text is no datapath type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no datapath type: netdev and system are")]
pub struct DatapathError(String);

impl SwitchSettings {
    /// Maximum length of a bridge name: the name of the tunnel port has five more bytes, and Linux
    /// limits it to 15.
    pub const BRIDGE_NAME_LIMIT: usize = 10;
    /// Bytes that VXLAN adds to a frame: Ethernet, IPv4, UDP and VXLAN headers.
    pub const OVERHEAD: u32 = 50;

    /// Returns the default settings for a node.
    #[must_use]
    pub fn new(node: &str, host: Ipv4Addr) -> Self {
        Self {
            node: node.into(),
            host,
            bridge: "kos".into(),
            datapath: Datapath::Netdev,
            mtu: None,
            into_namespaces: false,
        }
    }

    /// Returns the name of the tunnel port.
    #[must_use]
    pub fn tunnel_port(&self) -> String {
        format!("{}-vtep", self.bridge)
    }

    /// Returns the options of the tunnel port: VNI and remote address are set by flows.
    #[must_use]
    pub fn tunnel_options(&self) -> BTreeMap<String, String> {
        let options = [
            ("key", "flow".to_owned()),
            ("remote_ip", "flow".to_owned()),
            ("local_ip", self.host.to_string()),
        ];
        options.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

impl Datapath {
    /// Returns the value of `Bridge.datapath_type`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Netdev => "netdev",
            Self::System => "system",
        }
    }
}

impl fmt::Display for Datapath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Datapath {
    type Err = DatapathError;

    fn from_str(text: &str) -> Result<Self, DatapathError> {
        let found = [Self::Netdev, Self::System].into_iter().find(|datapath| datapath.name() == text);
        found.ok_or_else(|| DatapathError(text.into()))
    }
}
