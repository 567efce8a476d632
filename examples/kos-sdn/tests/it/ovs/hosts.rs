//! Hosts on one underlay: each a network namespace with the daemons of Open vSwitch.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};

use kos::plan::Mac;
use tempfile::TempDir;

use super::command::{run, run_with};
use super::daemons::Daemons;
use super::namespace::{Namespace, disable_ipv6};

/// A host: a namespace with daemons, and an address on the underlay.
pub(crate) struct Host {
    pub(crate) number: u8,
    pub(crate) daemons: Daemons,
    pub(crate) namespace: Namespace,
}

/// The hosts of a test and their underlay, removed on drop.
pub(crate) struct Hosts {
    // Daemons end before their namespaces.
    pub(crate) hosts: Vec<Host>,
    pub(crate) underlay: Namespace,
    pub(crate) folder: TempDir,
    /// Distinguishes the names of this test from those of others.
    pub(crate) tag: String,
}

/// The hosts' stack must not answer for the addresses of the bridge: Open vSwitch does.
const FILTER: &str = "\
table netdev underlay {
    chain discard {
        type filter hook ingress device \"eth0\" priority 0; policy drop;
    }
}
";

static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Hosts {
    pub(crate) fn start(number: u8) -> Self {
        let tag = format!("proofs-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let underlay = Namespace::new(&format!("{tag}-underlay"));
        disable_ipv6(underlay.name());
        // With snooping the bridge itself sends IGMP, which is in captures.
        underlay.ip("link add fabric type bridge mcast_snooping 0");
        underlay.ip("link set fabric up");
        let folder = tempfile::tempdir().unwrap();
        let mut hosts = Self { hosts: Vec::new(), underlay, folder, tag };
        for number in 1..=number {
            let host = hosts.host(number);
            hosts.hosts.push(host);
        }
        hosts
    }

    fn host(&self, number: u8) -> Host {
        let namespace = Namespace::new(&format!("{}-h{number}", self.tag));
        let (underlay, name) = (&self.underlay, namespace.name());
        disable_ipv6(name);
        underlay.ip(&format!("link add h{number} type veth peer name eth0 netns {name}"));
        underlay.ip(&format!("link set h{number} master fabric up"));
        namespace.ip("link set eth0 up");
        run_with(&["ip", "netns", "exec", name, "nft", "-f", "-"], FILTER);
        let daemons = Daemons::start(name, &self.folder.path().join(format!("h{number}")));
        let host = Host { number, daemons, namespace };
        host.connect();
        host
    }
}

impl Host {
    pub(crate) const fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(192, 0, 2, self.number)
    }

    /// Creates the bridge that connects the host to the underlay. Needed again after the database
    /// was lost.
    pub(crate) fn connect(&self) {
        self.daemons.vsctl(
            "-- add-br underlay -- set bridge underlay datapath_type=netdev -- add-port underlay eth0",
        );
        self.namespace.ip(&format!("addr replace {}/24 dev underlay", self.address()));
        self.namespace.ip("link set underlay up");
    }

    /// Returns the MAC address at the end of tunnels.
    pub(crate) fn mac(&self) -> Mac {
        let links = run(&["ip", "-n", self.namespace.name(), "-j", "link", "show", "underlay"]);
        let links: serde_json::Value = serde_json::from_str(&links).unwrap();
        let bytes: Vec<_> = links[0]["address"]
            .as_str()
            .unwrap()
            .split(':')
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect();
        Mac(bytes.try_into().unwrap())
    }

    /// Gives the host another address on the underlay.
    pub(crate) fn move_to(&self, address: Ipv4Addr) {
        self.namespace.ip("addr flush dev underlay");
        self.namespace.ip(&format!("addr add {address}/24 dev underlay"));
    }
}
