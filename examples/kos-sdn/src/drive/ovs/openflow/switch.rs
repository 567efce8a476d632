//! The port through which a fabric changes and observes the flows of a bridge.

use std::fmt;

use async_trait::async_trait;
use machinery::tokio::sync::watch;

use super::OpenFlowError;
use crate::plan::{Flow, Port};

/// The flows of one bridge.
///
/// # Observation without polling
///
/// [`status`](Self::status) counts connections and changes by others. Flows equal those of an
/// earlier [`dump`](Self::dump) and of later [`apply`](Self::apply) calls as long as
/// [`SwitchStatus::flow_version`] has not changed since *before* the dump. `None` means that they
/// must be dumped.
///
/// Dropping a future of `apply` leaves the outcome unknown; other requests change nothing.
#[async_trait]
pub trait FlowSwitch: Send + Sync + 'static {
    /// Applies changes in order as one atomic bundle, then awaits a barrier.
    ///
    /// # Errors
    /// No change was applied, except after [`OpenFlowError::UnknownOutcome`].
    async fn apply(&self, changes: Vec<FlowChange>) -> Result<(), OpenFlowError>;

    /// Returns all flows, including those of other programs.
    ///
    /// # Errors
    /// The switch is unreachable, silent or sent nonsense.
    async fn dump(&self) -> Result<Vec<FoundFlow>, OpenFlowError>;

    /// Returns the ports of the bridge.
    ///
    /// # Errors
    /// The switch is unreachable, silent or sent nonsense.
    async fn ports(&self) -> Result<Vec<SwitchPort>, OpenFlowError>;

    /// Returns the state of the connection, as a channel that reports its changes.
    fn status(&self) -> watch::Receiver<SwitchStatus>;
}

/// A change of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowChange {
    /// Adds a flow, or replaces the one of the same table, priority and match.
    Add(Flow),
    /// Deletes the flow of this table, priority and match, whatever its cookie and actions.
    Delete(Flow),
    /// Deletes a flow that [`Flow`] cannot express.
    DeleteOpaque(OpaqueFlow),
    /// Deletes all flows of all tables whose cookie equals this one in the bits of the mask.
    DeleteByCookie {
        /// The cookie.
        cookie: u64,
        /// Its relevant bits.
        mask: u64,
    },
}

/// A flow of a dump.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FoundFlow {
    /// A flow in the terms of [`crate::plan`], without time limits or flags.
    Known(Flow),
    /// Any other flow.
    Opaque(OpaqueFlow),
}

/// A flow that [`Flow`] cannot express: of another program, or changed by hand.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpaqueFlow {
    /// Number of the table.
    pub table: u8,
    /// Priority.
    pub priority: u16,
    /// Cookie.
    pub cookie: u64,
    /// The match as OXM fields, in the bytes of the switch.
    pub oxm: Vec<u8>,
}

/// A port of the bridge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SwitchPort {
    /// OpenFlow port number.
    pub number: Port,
    /// Name of the interface; the switch cuts names after 15 bytes.
    pub name: String,
}

/// The state of a connection to a switch. All numbers only grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchStatus {
    /// Whether the connection is established.
    pub is_connected: bool,
    /// Number of connections established so far: flows and port numbers of an earlier one are void.
    pub epoch: u64,
    /// Whether a flow monitor reports changes by others. Without one, dump the flows from time to
    /// time.
    pub is_monitored: bool,
    /// Number of changes of flows by others, or of lost reports of such changes.
    pub foreign_changes: u64,
    /// Number of port status messages.
    pub port_changes: u64,
    /// The error that ended the last connection, or prevents one.
    pub last_error: Option<String>,
}

impl SwitchStatus {
    /// Returns a number pair that is equal as long as nobody else changed flows; `None` if unknown.
    #[must_use]
    pub const fn flow_version(&self) -> Option<(u64, u64)> {
        if self.is_connected && self.is_monitored { Some((self.epoch, self.foreign_changes)) } else { None }
    }
}

impl FoundFlow {
    /// Returns the cookie.
    #[must_use]
    pub const fn cookie(&self) -> u64 {
        match self {
            Self::Known(flow) => flow.cookie,
            Self::Opaque(flow) => flow.cookie,
        }
    }

    /// Returns the change that deletes the flow.
    #[must_use]
    pub fn deletion(&self) -> FlowChange {
        match self.clone() {
            Self::Known(flow) => FlowChange::Delete(flow),
            Self::Opaque(flow) => FlowChange::DeleteOpaque(flow),
        }
    }
}

impl fmt::Display for OpaqueFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cookie={:#x}, table={}, priority={}", self.cookie, self.table, self.priority)?;
        if !self.oxm.is_empty() {
            f.write_str(",oxm=")?;
            self.oxm.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for FlowChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(flow) | Self::Delete(flow) => flow.fmt(f),
            Self::DeleteOpaque(flow) => flow.fmt(f),
            Self::DeleteByCookie { cookie, mask } => write!(f, "cookie={cookie:#x}/{mask:#x}"),
        }
    }
}
