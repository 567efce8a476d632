//! Neighbours of userspace tunnels, so that the first packet to a node is not lost.
//!
//! Open vSwitch resolves the MAC address of a tunnel's other end when a packet is sent to it, and
//! loses that packet. Its trace command sends the ARP request too, but no packet. Entries expire
//! after minutes, and a restarted switch has none, hence the repetition.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use machinery::sync::Mutex;
use machinery::tokio::sync::Notify;
use machinery::tokio::time::timeout;

use crate::drive::ovs::control::{Control, ControlError};
use crate::plan::Port;

/// Interval of checks.
const INTERVAL: Duration = Duration::from_secs(2);

/// The nodes that tunnels lead to. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct TunnelEnds(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<Ends>,
    changed: Notify,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ends {
    hosts: BTreeSet<Ipv4Addr>,
    tunnel: Option<Port>,
}

impl TunnelEnds {
    /// Sets the nodes, and the number of the tunnel port.
    pub(super) fn set(&self, hosts: BTreeSet<Ipv4Addr>, tunnel: Option<Port>) {
        let ends = Ends { hosts, tunnel };
        let mut state = self.0.state.lock();
        if *state != ends {
            *state = ends;
            self.0.changed.notify_one();
        }
    }

    /// Resolves unknown neighbours when nodes are added, and periodically. Never returns.
    pub(super) async fn resolve(&self, control: &dyn Control, bridge: &str) {
        loop {
            // Elapsed or changed: both lead to a check.
            let _ = timeout(INTERVAL, self.0.changed.notified()).await;
            let ends = self.0.state.lock().clone();
            if let Some(tunnel) = ends.tunnel
                && let Err(error) = resolve_missing(control, bridge, &ends.hosts, tunnel).await
            {
                tracing::debug!(%error, "the neighbours of tunnels cannot be resolved; retrying");
            }
        }
    }
}

async fn resolve_missing(
    control: &dyn Control,
    bridge: &str,
    hosts: &BTreeSet<Ipv4Addr>,
    tunnel: Port,
) -> Result<(), ControlError> {
    if hosts.is_empty() {
        return Ok(());
    }
    let table = control.call("tnl/neigh/show", &[]).await?;
    let known: BTreeSet<Ipv4Addr> =
        table.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
    for host in hosts.difference(&known) {
        let actions = format!("set_field:{host}->tun_dst,output:{tunnel}");
        control.call("ofproto/trace-packet-out", &[bridge, "in_port=LOCAL", &actions]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::ovs::control::FakeControl;
    use machinery::tokio;

    #[tokio::test(crate = "machinery::tokio")]
    async fn only_unknown_neighbours_are_resolved() {
        let control = FakeControl::new();
        let table = "IP      MAC    Bridge\n=====\n192.0.2.2   3a:55:3a:54:60:4a   underlay\n";
        control.answer("tnl/neigh/show", Ok(table.into()));
        let hosts = [2, 3].map(|low| Ipv4Addr::new(192, 0, 2, low)).into();
        resolve_missing(&control, "kos", &hosts, Port(1)).await.unwrap();
        let trace =
            ["ofproto/trace-packet-out", "kos", "in_port=LOCAL", "set_field:192.0.2.3->tun_dst,output:1"];
        assert_eq!(control.calls(), [vec!["tnl/neigh/show"], trace.to_vec()]);
    }
}
