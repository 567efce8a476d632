//! Faults of a real Open vSwitch: each is repaired without a restart of the fabric.

use std::time::Duration;

use machinery::tokio;
use machinery::tokio::time::{Instant, sleep};

use super::real::RealBench;

use super::real_switch::{RealHost, is_available, output};

/// Ten times the promise for changes by hand.
const BY_HAND: Duration = Duration::from_secs(20);
/// Ten times the promise after a killed daemon is back.
const KILLED: Duration = Duration::from_secs(100);

/// The state of a host in its own tools: ports, and flows without counters and numbers of ports.
/// None while the tools fail.
fn state(bench: &RealBench) -> Option<(Vec<String>, Vec<String>)> {
    let (host, name) = (bench.host(0), bench.local(1, 2).name);
    let port = host.try_vsctl(&["get", "interface", &name, "ofport"])?;
    let named = |line: &str| {
        let line = format!("{line},").replace(&format!("in_port={},", port.trim()), "in_port=own,");
        line.replace(&format!("output:{},", port.trim()), "output:own,")
    };
    let mut flows: Vec<_> = host.try_ofctl("dump-flows", &["--no-stats"])?.lines().map(named).collect();
    flows.sort();
    let mut ports: Vec<_> = host.try_vsctl(&["list-ports", "kos"])?.lines().map(str::to_owned).collect();
    ports.sort();
    Some((ports, flows))
}

impl RealBench {
    /// Causes a fault on the first host, and waits until all is as before.
    async fn survives(&self, fault: &str, limit: Duration, cause: impl FnOnce(&RealHost)) {
        let before = state(self).unwrap();
        cause(self.host(0));
        let began = Instant::now();
        while state(self).as_ref() != Some(&before) {
            assert!(began.elapsed() < limit, "{fault}: {:?} instead of {before:?}", state(self));
            sleep(Duration::from_millis(20)).await;
        }
        self.until_pings().await;
        let took = began.elapsed();
        eprintln!("{fault}: repaired and pinged after {took:?}");
        assert!(took < limit, "{fault}: {took:?}");
        assert_eq!(self.fabrics[0].actuator.status().broken.len(), 0, "{fault}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2, crate = "machinery::tokio")]
async fn faults_of_a_real_switch_are_repaired() {
    if !is_available("faults_of_a_real_switch_are_repaired") {
        return;
    }
    let bench = RealBench::start().await;
    bench.pair().await;
    bench.until_pings().await;
    let name = bench.local(1, 2).name;
    let namespace = format!("{}.w1-2", bench.host(0).namespace);
    bench
        .survives("a flow is deleted", BY_HAND, |host| {
            host.ofctl("del-flows", &["table=1,arp"]);
        })
        .await;
    bench
        .survives("a flow is changed", BY_HAND, |host| {
            host.ofctl("mod-flows", &["table=1,actions=drop"]);
        })
        .await;
    bench
        .survives("a flow NORMAL is added", BY_HAND, |host| {
            host.ofctl("add-flow", &["table=0,priority=65535,actions=NORMAL"]);
        })
        .await;
    bench
        .survives("a port is deleted, and its number reused", BY_HAND, |host| {
            host.vsctl(&["del-port", "kos", &name]);
            host.vsctl(&["add-port", "kos", "x", "--", "set", "interface", "x", "type=internal"]);
        })
        .await;
    bench
        .survives("fail_mode is changed", BY_HAND, |host| {
            host.vsctl(&["set", "bridge", "kos", "fail_mode=standalone"]);
        })
        .await;
    bench
        .survives("tunnel options are changed", BY_HAND, |host| {
            host.vsctl(&["set", "interface", "kos-vtep", "options:remote_ip=192.0.2.77"]);
        })
        .await;
    bench
        .survives("a namespace is deleted", BY_HAND, |_| {
            output("ip", &["netns", "delete", &namespace]);
        })
        .await;
    bench
        .survives("a link is set down", BY_HAND, |_| {
            output("ip", &["-n", &namespace, "link", "set", &name, "down"]);
        })
        .await;
    bench
        .survives("the bridge is deleted", BY_HAND, |host| {
            host.vsctl(&["del-br", "kos"]);
        })
        .await;
    bench
        .survives("ovs-vswitchd is killed", KILLED, |host| {
            host.kill("ovs-vswitchd");
            host.restart_switch();
        })
        .await;
    bench
        .survives("ovsdb-server is killed", KILLED, |host| {
            host.kill("ovsdb-server");
            host.start_database();
        })
        .await;
    bench
        .survives("both are killed", KILLED, |host| {
            host.kill("ovsdb-server");
            host.kill("ovs-vswitchd");
            host.start_database();
            host.restart_switch();
        })
        .await;
    bench
        .survives("the database is lost", KILLED, |host| {
            host.lose_database();
        })
        .await;
    bench.stop_fabrics().await;
}
