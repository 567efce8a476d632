//! Facts of the device that a CNF runs on: NICs, and the entries of its status.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The facts of a device.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceFacts {
    /// The NICs, without the loopback.
    pub nics: Vec<NicFact>,
    /// The NIC of the default route; without one, the first NIC.
    pub default_nic: Option<String>,
    /// Connections of IPsec that are up, as `REMOTE-CONNECTION`.
    pub up: BTreeSet<String>,
    /// Connections of IPsec that are being established.
    pub connecting: BTreeSet<String>,
    /// Further modules of the status, by name: `route`, `rule`, `conntrack`, `wan`, `arp`, `dhcp`
    /// and `dns`.
    pub modules: BTreeMap<String, Value>,
}

/// A NIC.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct NicFact {
    /// The name.
    pub name: String,
    /// The addresses.
    pub addresses: Vec<IpAddr>,
    /// The MAC address.
    pub mac: Option<String>,
    /// Whether the link is down.
    pub is_down: bool,
    /// Received packets.
    pub received: u64,
    /// Sent packets.
    pub sent: u64,
}

impl DeviceFacts {
    /// The facts of a device with NICs of these names.
    #[must_use]
    pub fn of_nics(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let nics = names.into_iter().map(|name| NicFact { name: name.into(), ..NicFact::default() });
        Self { nics: nics.collect(), ..Self::default() }
    }

    /// Returns whether there is a NIC of a name.
    #[must_use]
    pub fn has_nic(&self, name: &str) -> bool {
        self.nics.iter().any(|nic| nic.name == name)
    }

    /// Returns the NIC with an address.
    #[must_use]
    pub fn nic_of(&self, address: IpAddr) -> Option<&str> {
        self.nics.iter().find(|nic| nic.addresses.contains(&address)).map(|nic| &*nic.name)
    }

    /// Returns the NIC of the default route.
    #[must_use]
    pub fn default_nic(&self) -> Option<&str> {
        self.default_nic.as_deref().or_else(|| self.nics.first().map(|nic| &*nic.name))
    }

    /// Returns the NIC that a name, `#default` or `#IP` stands for.
    #[must_use]
    pub fn resolve<'a>(&'a self, nic: &'a str) -> Option<&'a str> {
        match nic.strip_prefix('#') {
            Some("default") => self.default_nic(),
            Some(address) => self.nic_of(address.parse().ok()?),
            None => self.has_nic(nic).then_some(nic),
        }
    }
}
