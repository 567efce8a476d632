//! Pings between attachments, with the expected results.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use machinery::tokio::time::{Instant, sleep};
use serde::Serialize;

use crate::model::NetworkAttachment;
use crate::probe::Prober;

/// Number of concurrent pings.
const AT_ONCE: usize = 16;
/// Interval of retries.
const AGAIN: Duration = Duration::from_millis(50);
/// Up to this number of attachments all pairs are pinged; beyond it, each pings one of its network
/// and one of another.
const ALL_PAIRS: usize = 12;

/// The result of one ping.
#[derive(Clone, Debug, Serialize)]
pub struct PingResult {
    /// Name of the source attachment.
    pub from: String,
    /// Name of the destination attachment.
    pub to: String,
    /// Whether both are in one network, so that a reply is expected.
    pub expected: bool,
    /// Whether there was a reply.
    pub answered: bool,
    /// The error of the probe or of its node; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl PingResult {
    /// Returns true if the result is the expected one.
    #[must_use]
    pub const fn is_right(&self) -> bool {
        self.expected == self.answered
    }
}

/// Returns the pairs to ping.
#[must_use]
pub fn pairs(all: &[Arc<NetworkAttachment>]) -> Vec<(usize, usize)> {
    let others = |from: usize| (0..all.len()).filter(move |to| *to != from);
    if all.len() <= ALL_PAIRS {
        return (0..all.len()).flat_map(|from| others(from).map(move |to| (from, to))).collect();
    }
    let vni = |at: usize| all[at].status.address_vni;
    let after = |from: usize, matches: &dyn Fn(usize) -> bool| {
        (1..all.len()).map(|step| (from + step) % all.len()).find(|to| matches(*to))
    };
    (0..all.len())
        .flat_map(|from| {
            let same = after(from, &|to| vni(to) == vni(from));
            let other = after(from, &|to| vni(to) != vni(from));
            same.into_iter().chain(other).map(move |to| (from, to))
        })
        .collect()
}

/// Pings all pairs. A ping with an expected reply is retried until the time limit, since nodes
/// learn of each other with a delay; pings without come last.
pub async fn ping_pairs(
    prober: &Prober,
    all: &[Arc<NetworkAttachment>],
    pairs: &[(usize, usize)],
    time_limit: Duration,
) -> Vec<PingResult> {
    let until = Instant::now() + time_limit;
    let expected =
        |&&(from, to): &&(usize, usize)| all[from].status.address_vni == all[to].status.address_vni;
    let mut reached = Vec::new();
    for is_expected in [true, false] {
        let chosen = pairs.iter().filter(|pair| expected(pair) == is_expected);
        let pings = chosen.map(|&(from, to)| ping(prober, &all[from], &all[to], is_expected, until));
        reached.extend(stream::iter(pings).buffered(AT_ONCE).collect::<Vec<_>>().await);
    }
    reached
}

async fn ping(
    prober: &Prober,
    from: &NetworkAttachment,
    to: &NetworkAttachment,
    expected: bool,
    until: Instant,
) -> PingResult {
    loop {
        let (answered, reason) = match prober.ping(from, to, 1).await {
            Ok(status) => (!status.round_trips.is_empty(), status.error),
            Err(error) => (false, error.to_string()),
        };
        if answered || !expected || Instant::now() >= until {
            return PingResult { from: name(from), to: name(to), expected, answered, reason };
        }
        sleep(AGAIN).await;
    }
}

fn name(of: &NetworkAttachment) -> String {
    of.metadata.name.clone().unwrap_or_default()
}
