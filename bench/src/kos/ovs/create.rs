//! Attachments of one node: together, and one alone.

use super::cli;
use super::cluster::{Cluster, Times};
use super::hosts::{Hosts, add_bridge};
use crate::measure::{Figures, count};
use crate::scratch::Scratch;
use anyhow::Context;
use std::time::Duration;

const NODE: u8 = 1;

/// Ours: attachments created at once, in the switch's namespace and in namespaces of their own.
pub(super) fn together(scratch: &Scratch, attachments: usize) -> anyhow::Result<Figures> {
    let figures = |into_namespaces| {
        let times = create(scratch, into_namespaces, |cluster| {
            cluster.attach(NODE, 0..attachments)?;
            cluster.until_implemented(NODE, 0..attachments)
        })?;
        let first = times.iter().map(|times| times.addressed).fold(f64::INFINITY, f64::min);
        let last = times.iter().map(|times| times.implemented).fold(f64::NEG_INFINITY, f64::max);
        anyhow::Ok(last - first)
    };
    Ok(Figures::default().with("ms", figures(false)?).with("moved_ms", figures(true)?))
}

/// Ours: attachments that are each created when the one before it is implemented; the median.
pub(super) fn alone(scratch: &Scratch, attachments: usize) -> anyhow::Result<Figures> {
    let figures = |into_namespaces| {
        let times = create(scratch, into_namespaces, |cluster| {
            let mut times = Vec::new();
            for number in 0..attachments {
                cluster.attach(NODE, number..number + 1)?;
                times.extend(cluster.until_implemented(NODE, number..number + 1)?);
            }
            Ok(times)
        })?;
        median(times.iter().map(|times| times.implemented - times.addressed).collect())
    };
    Ok(Figures::default().with("ms", figures(false)?).with("moved_ms", figures(true)?))
}

/// The peer `cli`.
pub(super) fn by_cli(interfaces: usize) -> anyhow::Result<Vec<Duration>> {
    let hosts = Hosts::start(1)?;
    let host = hosts.host(NODE)?;
    add_bridge(host)?;
    cli::create(host, interfaces)
}

pub(super) fn sum(times: &[Duration]) -> Figures {
    Figures::default().with("ms", times.iter().sum::<Duration>().as_secs_f64() * 1e3)
}

pub(super) fn median_of(times: &[Duration]) -> anyhow::Result<Figures> {
    let ms = median(times.iter().map(|time| time.as_secs_f64() * 1e3).collect())?;
    Ok(Figures::default().with("ms", ms))
}

fn create(
    scratch: &Scratch,
    into_namespaces: bool,
    work: impl FnOnce(&mut Cluster) -> anyhow::Result<Vec<Times>>,
) -> anyhow::Result<Vec<Times>> {
    let hosts = Hosts::start(1)?;
    let mut cluster = Cluster::start(scratch, into_namespaces)?;
    cluster.start_agent(NODE, hosts.host(NODE)?)?;
    cluster.until_adopted(NODE)?;
    // Else the first attachment would include the bridge.
    cluster.reconcile(NODE)?;
    work(&mut cluster)
}

fn median(mut values: Vec<f64>) -> anyhow::Result<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied();
    middle.with_context(|| format!("{} values", count(values.len())))
}
