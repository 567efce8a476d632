//! The options of a bridge of Open vSwitch.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use crate::drive::ovs::fabric::OvsSettings;
use crate::plan::ovs::{Datapath, SwitchSettings};

/// The bridge of a node; of the fabric ovs only.
#[derive(Debug, clap::Args)]
pub(super) struct SwitchArguments {
    /// The run directory of Open vSwitch, with db.sock and ovs-vswitchd.pid. Of the fabric ovs
    #[arg(long, value_name = "D", default_value = "/var/run/openvswitch")]
    ovs_run: PathBuf,
    /// The bridge, which is created and then belongs to this agent entirely. Of the fabric ovs
    #[arg(long, value_name = "B", default_value = "kos")]
    bridge: String,
    /// The implementation of the data path: netdev (in user space) or system (in the kernel). Of the
    /// fabric ovs
    #[arg(long, value_name = "TYPE", default_value_t = Datapath::Netdev)]
    datapath: Datapath,
    /// The MTU of interfaces. Default: that of the underlay minus 50. Of the fabric ovs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(68..=65535))]
    mtu: Option<u32>,
    /// Move interfaces into network namespaces that are named NAMESPACE.NAME after their attachments,
    /// with address and routes; otherwise they stay on the node without an address. Of the fabric ovs
    #[arg(long, value_enum)]
    into: Option<Into>,
}

/// A place for interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Into {
    Netns,
}

impl SwitchArguments {
    /// Returns the settings of a node's fabric.
    pub(super) fn settings(&self, node: &str, host: Ipv4Addr) -> OvsSettings {
        let mut switch = SwitchSettings::new(node, host);
        switch.bridge.clone_from(&self.bridge);
        (switch.datapath, switch.mtu) = (self.datapath, self.mtu);
        switch.into_namespaces = self.into == Some(Into::Netns);
        OvsSettings::new(switch, &self.ovs_run)
    }
}
