//! Typed rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::row_uuid::RowUuid;

/// The rows of a database, by table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Rows of `Open_vSwitch`: one, or none in a database that was not initialised.
    pub roots: BTreeMap<RowUuid, Arc<RootRow>>,
    /// Rows of `Bridge`.
    pub bridges: BTreeMap<RowUuid, Arc<BridgeRow>>,
    /// Rows of `Port`.
    pub ports: BTreeMap<RowUuid, Arc<PortRow>>,
    /// Rows of `Interface`.
    pub interfaces: BTreeMap<RowUuid, Arc<InterfaceRow>>,
}

/// A row of `Open_vSwitch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootRow {
    /// Identity.
    pub uuid: RowUuid,
    /// The bridges.
    pub bridges: BTreeSet<RowUuid>,
    /// Number of the latest requested configuration.
    pub next_cfg: i64,
    /// Number of the latest configuration that ovs-vswitchd has applied.
    pub cur_cfg: i64,
    /// Version of Open vSwitch.
    pub ovs_version: Option<String>,
    /// Supported values of `Bridge.datapath_type`; empty before ovs-vswitchd has started.
    pub datapath_types: BTreeSet<String>,
    /// Supported values of `Interface.type`; empty before ovs-vswitchd has started.
    pub iface_types: BTreeSet<String>,
    /// Marks of clients.
    pub external_ids: BTreeMap<String, String>,
}

/// A row of `Bridge`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeRow {
    /// Identity.
    pub uuid: RowUuid,
    /// Name.
    pub name: String,
    /// `system`, `netdev`, or empty for the default.
    pub datapath_type: String,
    /// Identity of the datapath, once ovs-vswitchd has created the bridge.
    pub datapath_id: Option<String>,
    /// The ports.
    pub ports: BTreeSet<RowUuid>,
    /// Mirrors, which copy frames to another port.
    pub mirrors: BTreeSet<RowUuid>,
    /// OpenFlow controllers.
    pub controller: BTreeSet<RowUuid>,
    /// Permitted versions of OpenFlow; empty for the default.
    pub protocols: BTreeSet<String>,
    /// Behaviour without a controller.
    pub fail_mode: Option<String>,
    /// Settings.
    pub other_config: BTreeMap<String, String>,
    /// Marks of clients.
    pub external_ids: BTreeMap<String, String>,
}

/// A row of `Port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRow {
    /// Identity.
    pub uuid: RowUuid,
    /// Name.
    pub name: String,
    /// The interfaces: several in a bond.
    pub interfaces: BTreeSet<RowUuid>,
    /// VLAN of an access port.
    pub tag: Option<i64>,
    /// VLANs of a trunk.
    pub trunks: BTreeSet<i64>,
    /// VLAN mode.
    pub vlan_mode: Option<String>,
    /// Settings.
    pub other_config: BTreeMap<String, String>,
    /// Marks of clients.
    pub external_ids: BTreeMap<String, String>,
}

/// A row of `Interface`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceRow {
    /// Identity.
    pub uuid: RowUuid,
    /// Name.
    pub name: String,
    /// Type: `internal`, `vxlan`, or empty for a system device.
    pub kind: String,
    /// Options of a tunnel.
    pub options: BTreeMap<String, String>,
    /// OpenFlow port number; −1 if the port cannot be created, `None` before ovs-vswitchd tried.
    pub ofport: Option<i64>,
    /// Requested OpenFlow port number.
    pub ofport_request: Option<i64>,
    /// Index of the device in the namespace of ovs-vswitchd; 0 while it is in another namespace.
    pub ifindex: Option<i64>,
    /// Error text of ovs-vswitchd.
    pub error: Option<String>,
    /// Requested MAC address.
    pub mac: Option<String>,
    /// MAC address of the device.
    pub mac_in_use: Option<String>,
    /// MTU of the device.
    pub mtu: Option<i64>,
    /// Requested MTU.
    pub mtu_request: Option<i64>,
    /// Settings.
    pub other_config: BTreeMap<String, String>,
    /// Marks of clients.
    pub external_ids: BTreeMap<String, String>,
}

impl Rows {
    /// Returns the row of `Open_vSwitch`; `None` in a database that was not initialised.
    #[must_use]
    pub fn root(&self) -> Option<&Arc<RootRow>> {
        self.roots.values().next()
    }

    /// Finds a bridge by its name.
    #[must_use]
    pub fn bridge(&self, name: &str) -> Option<&Arc<BridgeRow>> {
        self.bridges.values().find(|bridge| bridge.name == name)
    }

    /// Finds a port by its name, on any bridge.
    #[must_use]
    pub fn port(&self, name: &str) -> Option<&Arc<PortRow>> {
        self.ports.values().find(|port| port.name == name)
    }

    /// Finds an interface by its name, on any bridge.
    #[must_use]
    pub fn interface(&self, name: &str) -> Option<&Arc<InterfaceRow>> {
        self.interfaces.values().find(|interface| interface.name == name)
    }

    /// Returns the ports of a bridge.
    pub fn ports_of<'a>(&'a self, bridge: &'a BridgeRow) -> impl Iterator<Item = &'a Arc<PortRow>> {
        bridge.ports.iter().filter_map(|uuid| self.ports.get(uuid))
    }

    /// Returns the interfaces of a port.
    pub fn interfaces_of<'a>(&'a self, port: &'a PortRow) -> impl Iterator<Item = &'a Arc<InterfaceRow>> {
        port.interfaces.iter().filter_map(|uuid| self.interfaces.get(uuid))
    }
}
