//! Comparison of switches, links and pings with the API's state.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use kos::model::{AttachmentStatus, NetworkAttachment, Vni};
use kos::plan::ovs::{SwitchSettings, bridge_marks, interface_marks, tunnel_marks};
use kos::plan::{LocalInterface, Port, RemoteInterface, default_drop_flows, local_flows, remote_flows};
use machinery::objects::Object as _;
use serde_json::Value;

use super::cloud::{Cloud, PREFIX_LENGTH};
use super::command::try_run;
use super::hosts::Host;
use super::namespace::names;
use super::rows::{Row, table};

const MTU: u64 = 1450;
pub(super) const BRIDGE: &str = "kos";
const TUNNEL: &str = "kos-vtep";

/// An attachment with an interface.
struct Implemented {
    local: LocalInterface,
    node: u8,
    namespace: String,
}

impl Cloud {
    /// Returns the differences between the API's state and the hosts.
    pub(super) fn differences(&self, attachments: &[Arc<NetworkAttachment>]) -> Vec<String> {
        let unready = attachments.iter().filter(|it| !is_ready(&it.status));
        let unready: Vec<_> =
            unready.map(|it| format!("{} has no interface: {:?}", it.key(), it.status)).collect();
        if !unready.is_empty() {
            return unready;
        }
        let all: Vec<_> = attachments.iter().map(|it| self.implemented(it)).collect();
        let mut wrong = Vec::new();
        for host in &self.hosts.hosts {
            wrong.extend(
                self.differences_on(host, &all).into_iter().map(|it| format!("h{}: {it}", host.number)),
            );
        }
        let prefix = format!("{}.", self.namespace());
        let expected: BTreeSet<_> = all.iter().map(|it| it.namespace.clone()).collect();
        let found: BTreeSet<_> = names(&prefix).into_iter().collect();
        if expected != found {
            wrong.push(format!("namespaces are {found:?}, not {expected:?}"));
        }
        wrong.extend(all.iter().filter_map(link_difference));
        if wrong.is_empty() {
            wrong.extend(unanswered_pings(&all));
        }
        wrong
    }

    fn implemented(&self, attachment: &NetworkAttachment) -> Implemented {
        let vni = Vni::new(attachment.status.address_vni).unwrap();
        let local = LocalInterface::new(vni, attachment.status.ipv4.parse().unwrap());
        let node = attachment.spec.node.strip_prefix("node-").unwrap().parse().unwrap();
        Implemented {
            local: local.with_workload(attachment.key(), Some(PREFIX_LENGTH)),
            node,
            namespace: self.workload(attachment.metadata.name.as_deref().unwrap()),
        }
    }

    /// Compares rows and flows.
    fn differences_on(&self, host: &Host, all: &[Implemented]) -> Vec<String> {
        let node = format!("node-{}", host.number);
        let (bridges, interfaces) = match (table(host, "bridge"), table(host, "interface")) {
            (Ok(bridges), Ok(interfaces)) => (bridges, interfaces),
            (Err(error), _) | (_, Err(error)) => return vec![error],
        };
        let Ok(ports) = host.daemons.try_vsctl(&format!("list-ports {BRIDGE}")) else {
            return vec!["the bridge is missing".into()];
        };
        let ports: BTreeSet<_> = ports.lines().map(str::to_owned).collect();
        let (here, elsewhere): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.node == host.number);
        let expected: BTreeSet<_> =
            here.iter().map(|it| it.local.name.clone()).chain([TUNNEL.to_owned()]).collect();
        let mut wrong = Vec::new();
        if ports != expected {
            wrong.push(format!("ports are {ports:?}, not {expected:?}"));
        }
        let mut check = |of: &str, found: Option<String>, expected: String| {
            if found.as_ref() != Some(&expected) {
                wrong.push(format!("{of} is {found:?}, not {expected}"));
            }
        };
        let settings = SwitchSettings::new(&node, self.node_address(host.number));
        let bridge = bridges.iter().find(|row| row.text("name").as_deref() == Some(BRIDGE));
        let bridge = |column: &str| bridge.and_then(|row: &Row| row.text(column));
        check("fail_mode", bridge("fail_mode"), "secure".into());
        check("datapath_type", bridge("datapath_type"), "netdev".into());
        check("protocols", bridge("protocols"), "OpenFlow15".into());
        check("bridge marks", bridge("external_ids"), format!("{:?}", bridge_marks(&node)));
        let row = |name: &str| interfaces.iter().find(|row| row.text("name").as_deref() == Some(name));
        let tunnel = |column: &str| row(TUNNEL).and_then(|row| row.text(column));
        check("tunnel options", tunnel("options"), format!("{:?}", settings.tunnel_options()));
        check("tunnel marks", tunnel("external_ids"), format!("{:?}", tunnel_marks(&node)));
        let port = |name: &str| Some(Port(row(name)?.text("ofport")?.parse().ok()?));
        let mut flows = default_drop_flows();
        for it in &here {
            let name = &it.local.name;
            let marks = format!("{:?}", interface_marks(&node, &it.local));
            check(name, row(name).and_then(|row| row.text("external_ids")), marks);
            check(name, row(name).and_then(|row| row.text("error")), String::new());
            flows.extend(port(name).map(|port| local_flows(&it.local, port)).unwrap_or_default());
        }
        let networks: BTreeSet<_> = here.iter().map(|it| it.local.vni).collect();
        for it in elsewhere.iter().filter(|it| networks.contains(&it.local.vni)) {
            let remote = RemoteInterface::new(it.local.vni, it.local.address, self.node_address(it.node));
            flows.extend(port(TUNNEL).map(|port| remote_flows(&remote, port)).unwrap_or_default());
        }
        let text = flows.iter().fold(String::new(), |mut text, flow| {
            writeln!(text, "{flow}").unwrap();
            text
        });
        wrong.extend(host.daemons.flow_differences(BRIDGE, &text));
        wrong
    }
}

/// An attachment that lost its address has an interface until its agent has deleted it.
fn is_ready(status: &AttachmentStatus) -> bool {
    !status.ifc_name.is_empty() && status.address_vni != 0 && !status.ipv4.is_empty()
}

/// Compares the links of a workload's namespace.
fn link_difference(of: &Implemented) -> Option<String> {
    let listed = match try_run(&["ip", "-n", &of.namespace, "-j", "addr", "show"]) {
        Ok(listed) => listed,
        Err(error) => return Some(format!("{}: {error}", of.namespace)),
    };
    let links: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let shown: Vec<_> = links.iter().map(shown_link).collect();
    let LocalInterface { name, mac, address, .. } = &of.local;
    let expected = [
        "lo 00:00:00:00:00:00 65536 up 127.0.0.1/8".into(),
        format!("{name} {mac} {MTU} up {address}/{PREFIX_LENGTH}"),
    ];
    (shown != expected).then(|| format!("{} has {shown:?}, not {expected:?}", of.namespace))
}

fn shown_link(link: &Value) -> String {
    let is_up = link["flags"].as_array().unwrap().iter().any(|flag| flag == "UP");
    let addresses = link["addr_info"].as_array().unwrap().iter().filter(|it| it["family"] == "inet");
    let addresses: Vec<_> =
        addresses.map(|it| format!("{}/{}", it["local"].as_str().unwrap(), it["prefixlen"])).collect();
    let text = |field: &str| link[field].as_str().unwrap_or_default().to_owned();
    let state = if is_up { "up" } else { "down" };
    format!("{} {} {} {state} {}", text("ifname"), text("address"), link["mtu"], addresses.join(" "))
}

/// Pings all pairs of each network concurrently.
fn unanswered_pings(all: &[Implemented]) -> Vec<String> {
    let pairs = all.iter().flat_map(|from| {
        let peers = all
            .iter()
            .filter(move |to| to.local.vni == from.local.vni && to.local.address != from.local.address);
        peers.map(move |to| (from, to))
    });
    let mut children = Vec::new(); // all run before the first is waited for
    for (from, to) in pairs {
        children.push((from, to, ping(&from.namespace, to.local.address).spawn().unwrap()));
    }
    let unanswered = children.into_iter().filter_map(|(from, to, mut child)| {
        let is_answered = child.wait().unwrap().success();
        (!is_answered).then(|| format!("{} gets no reply from {}", from.namespace, to.namespace))
    });
    unanswered.collect()
}

/// One ICMP echo request with a second to answer.
pub(super) fn ping(namespace: &str, to: Ipv4Addr) -> Command {
    let mut ping = Command::new("ip");
    ping.args(["netns", "exec", namespace, "ping", "-n", "-c1", "-W1", &to.to_string()]);
    ping.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ping
}
