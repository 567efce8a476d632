//! The connections of the fabric.

use std::fmt;
use std::sync::Arc;

use crate::drive::ovs::control::Control;
use crate::drive::ovs::links::Links;
use crate::drive::ovs::openflow::FlowSwitch;
use crate::drive::ovs::ovsdb::Database;

/// The connections to one switch, real or simulated.
#[derive(Clone)]
pub struct SwitchConnections {
    /// The database.
    pub database: Arc<dyn Database>,
    /// The flows of the bridge.
    pub flows: Arc<dyn FlowSwitch>,
    /// Commands of ovs-vswitchd: traces, and neighbours of tunnels.
    pub control: Arc<dyn Control>,
    /// Links and namespaces.
    pub links: Arc<dyn Links>,
    /// Name of the lock that `database` asserts in each transaction.
    pub lock: String,
}

impl fmt::Debug for SwitchConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwitchConnections").field("lock", &self.lock).finish_non_exhaustive()
    }
}
