//! The first echo request between two hosts, and the second.

use super::cluster::Cluster;
use super::hosts::Hosts;
use super::network::workload;
use super::tools::{inside, run as run_tool};
use crate::measure::Figures;
use crate::scratch::Scratch;
use anyhow::{Context, ensure};

/// Two hosts with an attachment each. Fields are dropped in this order.
pub(super) struct Pair {
    pub(super) cluster: Cluster,
    pub(super) hosts: Hosts,
}

pub(super) fn pair(scratch: &Scratch) -> anyhow::Result<Pair> {
    let hosts = Hosts::start(2)?;
    let mut cluster = Cluster::start(scratch, true)?;
    for number in [1, 2] {
        cluster.start_agent(number, hosts.host(number)?)?;
        cluster.until_adopted(number)?;
    }
    for number in [1, 2] {
        cluster.attach(number, 0..1)?;
    }
    for number in [1, 2] {
        cluster.until_implemented(number, 0..1)?;
        // Its own interface and the other.
        cluster.until_interfaces(number, 2)?;
    }
    Ok(Pair { cluster, hosts })
}

pub(super) fn run(scratch: &Scratch) -> anyhow::Result<Figures> {
    let pair = pair(scratch)?;
    let to = pair.cluster.address(2, 0)?.to_string();
    let sent =
        run_tool(inside(&workload(1, 0), "ping").args(["-n", "-c", "2", "-i", "0.5", "-W", "3", &to]))?;
    let [first, second] = times(&sent).with_context(|| format!("a ping was lost: {sent}"))?;
    ensure!(second > 0.0, "ping measured no time: {sent}");
    Ok(Figures::default().with("ratio", first / second).with("first_ms", first).with("second_ms", second))
}

/// Returns the round-trip times of the first two replies, in milliseconds.
fn times(output: &str) -> Option<[f64; 2]> {
    let time = |sequence: &str| {
        let line = output.lines().find(|line| line.contains(&format!("icmp_seq={sequence} ")))?;
        line.split_once("time=")?.1.split(' ').next()?.parse().ok()
    };
    Some([time("1")?, time("2")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_both_replies_are_read() {
        let reply =
            |sequence, time| format!("64 bytes from 10.0.0.3: icmp_seq={sequence} ttl=64 time={time} ms\n");
        assert_eq!(times(&(reply(1, "1.93") + &reply(2, "0.5"))), Some([1.93, 0.5]));
        assert_eq!(times(&reply(2, "0.5")), None);
        assert_eq!(times(&(reply(12, "1.0") + &reply(2, "0.5"))), None);
    }
}
