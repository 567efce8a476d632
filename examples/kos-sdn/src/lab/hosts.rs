//! Namespaces and devices of a lab.

use std::fs;
use std::io;

use super::{LabError, LabHost, LabSettings, tools};
use crate::drive::ovs::links::{NamespaceName, OwnedNamespaces};

/// Makes the bridge of the underlay.
pub(super) async fn make_underlay(
    id: &str,
    namespaces: &OwnedNamespaces,
    name: &NamespaceName,
    mtu: u32,
) -> Result<(), LabError> {
    without_ipv6(namespaces, name).await?;
    let commands = format!(
        "link add br0 type bridge forward_delay 0 mcast_snooping 0\nlink set br0 mtu {mtu} up\nlink set lo up\n"
    );
    tools::ip(id, name.as_str(), &commands).await
}

/// Connects a host with the underlay, and keeps the host's own stack off the cable.
pub(super) async fn make_cable(
    id: &str,
    namespaces: &OwnedNamespaces,
    settings: &LabSettings,
    host: &LabHost,
) -> Result<(), LabError> {
    without_ipv6(namespaces, &host.namespace).await?;
    let (underlay, node, mtu) = (settings.underlay()?, &host.node, settings.mtu);
    let rules = "table netdev kos {
        chain ingress { type filter hook ingress device eth0 priority 0; policy drop; }
    }";
    let cable =
        format!("link add {node} mtu {mtu} type veth peer name eth0 mtu {mtu} netns {}\n", host.namespace);
    tools::ip(id, underlay.as_str(), &cable).await?;
    tools::nft(id, host.namespace.as_str(), rules).await?;
    tools::ip(id, host.namespace.as_str(), "link set lo up\nlink set eth0 up\n").await?;
    tools::ip(id, underlay.as_str(), &format!("link set {node} master br0 up\n")).await
}

/// Connects or disconnects the cable of a host, at its other end.
pub(super) async fn set_cable(
    id: &str,
    settings: &LabSettings,
    host: &LabHost,
    up: bool,
) -> Result<(), LabError> {
    let state = if up { "up" } else { "down" };
    tools::ip(id, settings.underlay()?.as_str(), &format!("link set {} {state}\n", host.node)).await
}

/// Gives the bridge of a host its address. Fails until Open vSwitch has made the bridge.
pub(super) async fn set_address(id: &str, host: &LabHost) -> Result<(), LabError> {
    let commands = format!("address replace {}/24 dev underlay\nlink set underlay up\n", host.address);
    tools::ip(id, host.namespace.as_str(), &commands).await
}

/// Captures of the underlay then hold ARP and VXLAN only. Kernels without IPv6 have no such files.
async fn without_ipv6(namespaces: &OwnedNamespaces, name: &NamespaceName) -> Result<(), LabError> {
    let disable = || {
        for which in ["all", "default"] {
            match fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1") {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    };
    Ok(namespaces.run_in(name, disable).await?)
}
