//! The control socket of ovs-vswitchd, which `ovs-appctl` uses.
//!
//! [`Control`] is the trait the fabric uses; [`ControlSocket`] finds the socket in a run directory
//! and calls one command per connection; [`FakeControl`] answers from a table.

mod fake;
mod socket;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

pub use fake::FakeControl;
pub use socket::ControlSocket;

use super::json_rpc::RpcError;

/// Commands of ovs-vswitchd.
#[async_trait]
pub trait Control: Send + Sync + 'static {
    /// Calls a command and returns its output. Dropping the future leaves it done or not.
    async fn call(&self, command: &str, arguments: &[&str]) -> Result<String, ControlError>;
}

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The run directory has no process id of ovs-vswitchd.
    #[error("{} names no ovs-vswitchd: start it with --pidfile, or choose its run directory", path.display())]
    NoPid {
        /// The file `ovs-vswitchd.pid`.
        path: PathBuf,
    },
    /// There is no connection.
    #[error("the control socket of ovs-vswitchd cannot be used")]
    Connection(#[from] RpcError),
    /// There was no reply in time.
    #[error("ovs-vswitchd did not answer {command} within {limit:?}: see whether it is busy, and its log")]
    Late {
        /// The command.
        command: String,
        /// The time limit.
        limit: Duration,
    },
    /// The command failed.
    #[error("ovs-vswitchd refused {command}: {text}")]
    Refused {
        /// The command.
        command: String,
        /// Its error text.
        text: String,
    },
}

/// Returns the version of ovs-vswitchd, as text.
///
/// # Errors
/// The call fails.
pub async fn version(control: &dyn Control) -> Result<String, ControlError> {
    control.call("version", &[]).await
}

/// Sets the MAC address of a neighbour for userspace tunnels, so that the first packet to it is not
/// lost. OVS forgets the entry after a time.
///
/// # Errors
/// The call fails, or there is no such bridge.
pub async fn set_neighbour(
    control: &dyn Control,
    bridge: &str,
    address: Ipv4Addr,
    mac: &str,
) -> Result<(), ControlError> {
    control.call("tnl/neigh/set", &[bridge, &address.to_string(), mac]).await.map(drop)
}

/// Traces a packet, given as a flow in the text of `ofproto/trace`, through the tables of a bridge.
///
/// # Errors
/// The call fails, or OVS cannot parse the flow.
pub async fn trace(control: &dyn Control, bridge: &str, packet: &str) -> Result<String, ControlError> {
    control.call("ofproto/trace", &[bridge, packet]).await
}
