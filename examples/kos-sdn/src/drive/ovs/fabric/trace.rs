//! Traces of frames through the bridge, as text with the names of interfaces.

use std::collections::{BTreeMap, BTreeSet};

use crate::drive::FramePath;
use crate::plan::{CookieOwner, Interface, Mac, Port};

/// The ports of a path on this node.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathPorts {
    /// Ingress port: of the source interface, or the tunnel port.
    pub(super) ingress: Port,
    /// Underlay address of this node.
    pub(super) host: std::net::Ipv4Addr,
}

/// Returns the frames of an exchange, the ARP request and the packet, in the syntax of
/// `ofproto/trace`.
pub(super) fn frames(path: &FramePath, ports: PathPorts) -> [(&'static str, String); 2] {
    let FramePath { from, to, host } = *path;
    let (source, target) = (Mac::of(from.vni, from.address), Mac::of(from.vni, to));
    let tunnel = host.map_or_else(String::new, |host| {
        format!(",tun_id={},tun_src={host},tun_dst={}", from.vni, ports.host)
    });
    let ingress = format!("in_port={}{tunnel},dl_src={source}", ports.ingress);
    let address = from.address;
    let arp = format!(
        "{ingress},dl_dst={},arp,arp_op=1,arp_sha={source},arp_spa={address},arp_tpa={to}",
        Mac::BROADCAST
    );
    let packet = format!(
        "{ingress},dl_dst={target},icmp,nw_src={address},nw_dst={to},nw_ttl=64,icmp_type=8,icmp_code=0"
    );
    [("ARP request", arp), ("ICMP packet", packet)]
}

/// Returns the cookies in the output of a trace.
pub(super) fn cookies(output: &str) -> BTreeSet<u64> {
    output.lines().filter_map(cookie).collect()
}

/// Returns the steps of a trace with the owners of flows, and the result.
pub(super) fn steps(output: &str, owners: &BTreeMap<u64, Interface>) -> Vec<String> {
    let mut table = None;
    let mut steps = Vec::new();
    let is_step = |line: &&str| line.starts_with(' ');
    for line in output.lines().filter(is_step) {
        table = table_of(line).or(table);
        let owner = cookie(line).map(|cookie| match (owners.get(&cookie), CookieOwner::of(cookie)) {
            (Some(interface), _) => format!(" ({})", name(interface)),
            (None, Some(CookieOwner::Switch)) => " (default)".into(),
            (None, Some(_)) => " (an unknown interface)".into(),
            (None, None) => " (another program)".into(),
        });
        steps.push(format!("  {}{}", line.trim_end(), owner.unwrap_or_default()));
    }
    let actions = output.lines().find_map(|line| line.strip_prefix("Datapath actions: "));
    let is_unresolved = output.contains("neighbor cache miss");
    steps.push(match (actions, table) {
        (Some("drop"), _) if is_unresolved => {
            "  forwarded; the MAC address of the other node is not resolved yet".into()
        }
        (Some("drop"), Some(table)) => format!("  dropped in table {table}"),
        (Some("drop") | None, _) => "  dropped".into(),
        (Some(actions), _) => format!("  forwarded: {actions}"),
    });
    steps
}

/// Returns the name of an interface: its attachment, or its address.
fn name(interface: &Interface) -> String {
    match interface {
        Interface::Local(local) => match &local.workload {
            Some(workload) => workload.attachment.to_string(),
            None => format!("{} of network {}", local.address, local.vni),
        },
        Interface::Remote(remote) => {
            format!("{} of network {} on {}", remote.address, remote.vni, remote.host)
        }
    }
}

fn cookie(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("cookie 0x")?;
    let digits = rest.split(|character: char| !character.is_ascii_hexdigit()).next()?;
    u64::from_str_radix(digits, 16).ok()
}

/// Returns the number of the table that a line begins with.
fn table_of(line: &str) -> Option<u8> {
    let (number, _) = line.trim_start().split_once(". ")?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Vni;
    use crate::plan::{AddressKey, LocalInterface, local_cookie};

    const OUTPUT: &str = "\
Flow: arp,in_port=7

bridge(\"kos\")
-------------
 0. arp,in_port=7, priority 100, cookie 0x4b4f061800020001
    set_field:0x1->tun_id
    goto_table:1
 1. priority 0, cookie 0x4b4e000000000000
    drop

Final flow: arp
Megaflow: arp
Datapath actions: drop
";

    fn local() -> LocalInterface {
        let key = machinery::objects::ObjectKey::new(Some("default"), "a").unwrap();
        LocalInterface::new(Vni::new(1).unwrap(), [10, 24, 0, 2].into()).with_workload(key, Some(24))
    }

    #[test]
    fn a_trace_names_attachments_and_the_dropping_table() {
        let cookie = local_cookie(local().mac);
        assert!(cookies(OUTPUT).contains(&cookie));
        let steps = steps(OUTPUT, &BTreeMap::from([(cookie, Interface::Local(local()))]));
        assert_eq!(
            steps,
            [
                "   0. arp,in_port=7, priority 100, cookie 0x4b4f061800020001 (default/a)",
                "      set_field:0x1->tun_id",
                "      goto_table:1",
                "   1. priority 0, cookie 0x4b4e000000000000 (default)",
                "      drop",
                "  dropped in table 1",
            ]
        );
    }

    #[test]
    fn an_unresolved_neighbour_is_no_drop() {
        let output = OUTPUT.replace("    drop\n", "     -> neighbor cache miss for 192.0.2.2 on bridge u\n");
        assert!(steps(&output, &BTreeMap::new()).last().unwrap().starts_with("  forwarded"));
    }

    #[test]
    fn frames_from_the_tunnel_have_its_fields() {
        let from = AddressKey { vni: Vni::new(1).unwrap(), address: [10, 24, 0, 2].into() };
        let path = FramePath { from, to: [10, 24, 0, 3].into(), host: Some([192, 0, 2, 2].into()) };
        let [(_, arp), (_, packet)] =
            frames(&path, PathPorts { ingress: Port(1), host: [192, 0, 2, 1].into() });
        let ingress = "in_port=1,tun_id=1,tun_src=192.0.2.2,tun_dst=192.0.2.1,dl_src=06:18:00:02:00:01";
        assert_eq!(
            arp,
            format!(
                "{ingress},dl_dst=ff:ff:ff:ff:ff:ff,arp,arp_op=1,arp_sha=06:18:00:02:00:01,arp_spa=10.24.0.2,arp_tpa=10.24.0.3"
            )
        );
        assert!(packet.starts_with(&format!("{ingress},dl_dst=06:18:00:03:00:01,icmp")));
    }
}
