//! Limits of the fabric.

use std::time::Duration;

/// The limits of an [`OvsFabric`](super::OvsFabric).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FabricLimits {
    /// Maximum number of interfaces, local and remote.
    pub interfaces: usize,
    /// Maximum number of flow changes in one bundle.
    pub bundle: usize,
    /// Maximum number of row changes in one transaction.
    pub transaction: usize,
    /// Maximum time until ovs-vswitchd has applied a transaction.
    pub apply: Duration,
    /// Maximum time until a new bridge accepts connections.
    pub connect: Duration,
    /// Maximum time to wait for the reply to a ping.
    pub ping: Duration,
}

impl Default for FabricLimits {
    fn default() -> Self {
        Self {
            interfaces: 1 << 18,
            bundle: 1 << 14,
            transaction: 1024,
            apply: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            ping: Duration::from_secs(1),
        }
    }
}
