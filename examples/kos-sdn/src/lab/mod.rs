//! A lab: hosts with Open vSwitch on one machine, as network namespaces.
//!
//! Each host is a namespace with a pair of Open vSwitch daemons and a run directory of its own. A
//! virtual cable connects it with a Linux bridge in one more namespace, the underlay:
//!
//! ```text
//! namespace kos-underlay    bridge br0 ── node-1      node-2
//!                                          │           │        virtual cables
//! namespace kos-node-1                    eth0         │
//!   OVS bridge underlay, 192.0.2.1/24 ─────┘          eth0      namespace kos-node-2
//!   OVS bridge kos: made by the agent                  └─────── …
//! ```
//!
//! - Everything that [`Lab::up`] makes is below its directory, inside its own namespaces, or a
//!   process; [`down`] removes all of it, also after `up` was killed at any moment. Each effect is
//!   written to a journal before it takes place.
//! - Namespaces are marked with the lab's id, and processes have it in their environment: nothing
//!   of anybody else is ever deleted or killed.
//! - The address of a host is that of its OVS bridge, because Open vSwitch routes userspace tunnels
//!   itself. The host's own stack would answer ARP from `eth0`, too: nftables drop all that
//!   arrives there. Open vSwitch still receives it.

mod daemons;
mod database;
mod directory;
mod down;
mod error;
mod hosts;
mod journal;
mod process;
mod requirements;
mod running;
mod settings;
mod status;
mod tools;

pub use daemons::Daemon;
pub use down::down;
pub use error::LabError;
pub use requirements::missing_requirements;
pub use running::Lab;
pub use settings::{HOST_LIMIT, LabHost, LabSettings};
pub use status::{LabStatus, ProcessStatus, status};
