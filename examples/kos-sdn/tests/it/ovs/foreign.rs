//! A bridge of somebody else on the same daemons, which stays as it is.

use super::hosts::Host;
use super::rows::table;

const BRIDGE: &str = "foreign";

const FLOWS: &str = "\
table=0,priority=7,in_port=LOCAL,actions=drop
cookie=0x4b4e000000000001,table=0,priority=9,arp,actions=NORMAL
table=3,priority=65535,udp,tp_dst=4789,actions=drop
";

/// Creates the bridge, with a tunnel, ports and flows.
pub(super) fn create(host: &Host) {
    host.daemons.vsctl(
        "-- add-br foreign -- set bridge foreign datapath_type=netdev fail_mode=secure protocols=OpenFlow15 \
         external_ids:owner=somebody external_ids:kos-node=node-1 \
         -- add-port foreign f-vxlan -- set interface f-vxlan type=vxlan options:key=77 options:remote_ip=192.0.2.77 \
         -- add-port foreign f-port tag=5 -- set interface f-port type=internal external_ids:kos-vni=71",
    );
    add_flows(host);
}

/// Adds the flows, as their owner does after a restart of the switch.
pub(super) fn add_flows(host: &Host) {
    host.daemons.wait_for_bridge(BRIDGE);
    host.daemons.add_flows(BRIDGE, FLOWS);
}

/// Returns rows and flows of the bridge as text.
pub(super) fn state(host: &Host) -> String {
    let mut shown = Vec::new();
    for name in ["bridge", "port", "interface"] {
        for row in table(host, name).unwrap() {
            let of = row.text("name").unwrap_or_default();
            if of.starts_with("foreign") || of.starts_with("f-") || of == "underlay" || of == "eth0" {
                shown.push(format!("{name} {of} {:?}", row.configuration()));
            }
        }
    }
    shown.sort();
    shown.push(host.daemons.ofctl("dump-flows --no-stats", BRIDGE, &[]).unwrap());
    shown.join("\n")
}
