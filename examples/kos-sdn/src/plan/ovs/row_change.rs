//! Changes of rows.

use super::super::{AddressKey, LocalInterface};
use crate::drive::ovs::ovsdb::RowUuid;

/// A change of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowChange {
    /// Inserts the root row into a new database.
    CreateRoot,
    /// Creates the bridge with its local port and the tunnel port.
    CreateBridge,
    /// Corrects the settings of the bridge.
    UpdateBridge(RowUuid),
    /// Creates the local port of the bridge.
    CreateLocalPort(RowUuid),
    /// Creates the tunnel port on the bridge.
    CreateTunnel(RowUuid),
    /// Corrects the tunnel port, given with its interface.
    UpdateTunnel(RowUuid, RowUuid),
    /// Creates the port of a local interface on the bridge.
    CreatePort(RowUuid, LocalInterface),
    /// Corrects the port of a local interface, given with its interface row.
    UpdatePort(RowUuid, RowUuid, LocalInterface),
    /// Deletes a port of the bridge.
    DeletePort {
        /// The bridge.
        bridge: RowUuid,
        /// The port.
        port: RowUuid,
        /// Name of the port.
        name: String,
        /// Address of the interface according to its mark.
        key: Option<AddressKey>,
    },
}

impl RowChange {
    /// Returns the address of the interface that the change belongs to.
    #[must_use]
    pub const fn key(&self) -> Option<AddressKey> {
        match self {
            Self::CreatePort(_, local) | Self::UpdatePort(_, _, local) => {
                Some(AddressKey { vni: local.vni, address: local.address })
            }
            Self::DeletePort { key, .. } => *key,
            _ => None,
        }
    }
}
