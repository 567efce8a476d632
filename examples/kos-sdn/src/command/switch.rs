//! The options of a bridge of Open vSwitch.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use crate::drive::ovs::fabric::OvsSettings;
use crate::plan::ovs::{Datapath, SwitchSettings};

/// The bridge of a node; of the fabric ovs only.
#[derive(Debug, clap::Args)]
pub(super) struct SwitchArguments {
    /// Of ovs: the run directory of Open vSwitch, with db.sock and ovs-vswitchd.pid
    #[arg(long, value_name = "D", default_value = "/var/run/openvswitch")]
    ovs_run: PathBuf,
    /// Of ovs: the bridge. It is created, and belongs to this agent entirely
    #[arg(long, value_name = "B", default_value = "kos")]
    bridge: String,
    /// Of ovs: the data path, netdev (in user space) or system (in the kernel)
    #[arg(long, value_name = "TYPE", default_value_t = Datapath::Netdev)]
    datapath: Datapath,
    /// Of ovs: the MTU of interfaces. Default: that of the underlay minus 50
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(68..=65535))]
    mtu: Option<u32>,
    /// Of ovs: move interfaces into network namespaces named NAMESPACE.NAME after their
    /// attachments, with an address. Otherwise they stay on the node without an address
    #[arg(long, value_enum)]
    into: Option<InterfacePlace>,
}

/// A place for interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum InterfacePlace {
    Netns,
}

impl SwitchArguments {
    /// Returns the settings of a node's fabric.
    pub(super) fn settings(&self, node: &str, host: Ipv4Addr) -> OvsSettings {
        let mut switch = SwitchSettings::new(node, host);
        switch.bridge.clone_from(&self.bridge);
        (switch.datapath, switch.mtu) = (self.datapath, self.mtu);
        switch.into_namespaces = self.into == Some(InterfacePlace::Netns);
        OvsSettings::new(switch, &self.ovs_run)
    }
}
