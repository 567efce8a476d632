//! Neighbours of userspace tunnels, so that the first packet to a node is not lost.
//!
//! Open vSwitch resolves the MAC address of a tunnel's other end when a packet is sent to it, and
//! loses that packet. Its trace command sends the ARP request too, but no packet. It learns from
//! ARP replies only as long as none of its cached flows forwards them: after it has flushed its
//! table, ten seconds can pass. So known addresses are set again, and requested at the same time,
//! in case they have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use machinery::sync::Mutex;
use machinery::tokio::sync::Notify;
use machinery::tokio::time::timeout;

use crate::drive::ovs::control::{Control, ControlError};
use crate::plan::Port;

/// Interval of checks.
const INTERVAL: Duration = Duration::from_secs(1);

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
        let mut resolver = NeighbourResolver::default();
        loop {
            // Elapsed or changed: both lead to a check.
            let _ = timeout(INTERVAL, self.0.changed.notified()).await;
            let ends = self.0.state.lock().clone();
            if let Some(tunnel) = ends.tunnel
                && let Err(error) = resolver.resolve(control, bridge, &ends.hosts, tunnel).await
            {
                tracing::debug!(%error, "the neighbours of tunnels cannot be resolved; retrying");
            }
        }
    }
}

/// The neighbours that the switch has known.
#[derive(Debug, Default)]
struct NeighbourResolver(BTreeMap<Ipv4Addr, Neighbour>);

/// A line of the switch's table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Neighbour {
    mac: String,
    bridge: String,
}

impl NeighbourResolver {
    async fn resolve(
        &mut self,
        control: &dyn Control,
        bridge: &str,
        hosts: &BTreeSet<Ipv4Addr>,
        tunnel: Port,
    ) -> Result<(), ControlError> {
        self.0.retain(|host, _| hosts.contains(host));
        if hosts.is_empty() {
            return Ok(());
        }
        let table: BTreeMap<_, _> =
            control.call("tnl/neigh/show", &[]).await?.lines().filter_map(neighbour).collect();
        for host in hosts {
            if let Some(neighbour) = table.get(host) {
                self.0.insert(*host, neighbour.clone());
                continue;
            }
            let actions = format!("set_field:{host}->tun_dst,output:{tunnel}");
            control.call("ofproto/trace-packet-out", &[bridge, "in_port=LOCAL", &actions]).await?;
            if let Some(Neighbour { mac, bridge }) = self.0.get(host) {
                control.call("tnl/neigh/set", &[bridge, &host.to_string(), mac]).await?;
            }
        }
        Ok(())
    }
}

fn neighbour(line: &str) -> Option<(Ipv4Addr, Neighbour)> {
    let mut words = line.split_whitespace();
    let host = words.next()?.parse().ok()?;
    let (mac, bridge) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some((host, Neighbour { mac, bridge }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::ovs::control::FakeControl;
    use machinery::tokio;

    const TABLE: &str = "IP      MAC    Bridge\n=====\n192.0.2.2   3a:55:3a:54:60:4a   underlay\n";

    #[tokio::test(crate = "machinery::tokio")]
    async fn unknown_neighbours_are_resolved_and_lost_ones_set() {
        let control = FakeControl::new();
        control.answer("tnl/neigh/show", Ok(TABLE.into()));
        let hosts = [2, 3].map(|low| Ipv4Addr::new(192, 0, 2, low)).into();
        let mut resolver = NeighbourResolver::default();
        resolver.resolve(&control, "kos", &hosts, Port(1)).await.unwrap();
        let trace = |low: u8| {
            let actions = format!("set_field:192.0.2.{low}->tun_dst,output:1");
            ["ofproto/trace-packet-out", "kos", "in_port=LOCAL", &actions].map(str::to_owned).to_vec()
        };
        let show = vec!["tnl/neigh/show".to_owned()];
        assert_eq!(control.calls(), [show.clone(), trace(3)]);

        control.answer("tnl/neigh/show", Ok(String::new()));
        resolver.resolve(&control, "kos", &hosts, Port(1)).await.unwrap();
        let set = ["tnl/neigh/set", "underlay", "192.0.2.2", "3a:55:3a:54:60:4a"].map(str::to_owned);
        assert_eq!(control.calls()[2..], [show, trace(2), set.to_vec(), trace(3)]);
    }
}
