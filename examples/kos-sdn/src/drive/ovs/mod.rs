//! Open vSwitch: the connections of a node agent to the daemons of its node.
//!
//! - [`fabric`]: the fabric of Open vSwitch.
//! - [`ovsdb`]: the client of ovsdb-server, with a cache of the rows a fabric needs.
//! - [`openflow`]: the flows of a bridge.
//! - [`links`]: network interfaces and namespaces of the kernel.
//! - [`control`]: the client of the control socket of ovs-vswitchd.
//! - [`json_rpc`]: JSON-RPC 1.0 over a unix socket, of ovsdb-server and ovs-vswitchd.

pub mod control;
pub mod fabric;
pub mod json_rpc;
pub mod links;
pub mod openflow;
pub mod ovsdb;
