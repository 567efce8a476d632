//! Who should hear whom: pings between attachments, and what is expected of each.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use machinery::tokio::time::{Instant, sleep};
use serde::Serialize;

use crate::model::NetworkAttachment;
use crate::probe::Asks;

/// So many pings are under way at once.
const AT_ONCE: usize = 16;
/// Between two tries of one.
const AGAIN: Duration = Duration::from_millis(50);
/// Up to so many attachments every one pings every other; of more, each pings the next of its network, and one of another.
const ALL_PAIRS: usize = 12;

/// What came of one ping.
#[derive(Clone, Debug, Serialize)]
pub struct Reached {
    /// Who asked.
    pub from: String,
    /// Who was asked.
    pub to: String,
    /// They are in one network, so there should be an answer; else there should be none.
    pub expected: bool,
    /// There was one.
    pub answered: bool,
    /// What the node said, if it was not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Reached {
    /// It is as it should be.
    #[must_use]
    pub const fn is_right(&self) -> bool {
        self.expected == self.answered
    }
}

/// The pairs that are tried.
#[must_use]
pub fn pairs(all: &[Arc<NetworkAttachment>]) -> Vec<(usize, usize)> {
    let others = |from: usize| (0..all.len()).filter(move |to| *to != from);
    if all.len() <= ALL_PAIRS {
        return (0..all.len()).flat_map(|from| others(from).map(move |to| (from, to))).collect();
    }
    let vni = |at: usize| all[at].status.address_vni;
    let after = |from: usize, wanted: &dyn Fn(usize) -> bool| {
        (1..all.len()).map(|step| (from + step) % all.len()).find(|to| wanted(*to))
    };
    (0..all.len())
        .flat_map(|from| {
            let same = after(from, &|to| vni(to) == vni(from));
            let other = after(from, &|to| vni(to) != vni(from));
            same.into_iter().chain(other).map(move |to| (from, to))
        })
        .collect()
}

/// Has all of these pings sent, by the nodes they begin at. What should be answered is tried again for as long as said: nodes hear of each
/// other a moment later. What should not is tried when all else was.
pub async fn reach(
    asks: &Asks,
    all: &[Arc<NetworkAttachment>],
    pairs: &[(usize, usize)],
    patience: Duration,
) -> Vec<Reached> {
    let until = Instant::now() + patience;
    let expected =
        |&&(from, to): &&(usize, usize)| all[from].status.address_vni == all[to].status.address_vni;
    let mut reached = Vec::new();
    for is_expected in [true, false] {
        let chosen = pairs.iter().filter(|pair| expected(pair) == is_expected);
        let pings = chosen.map(|&(from, to)| ping(asks, &all[from], &all[to], is_expected, until));
        reached.extend(stream::iter(pings).buffered(AT_ONCE).collect::<Vec<_>>().await);
    }
    reached
}

async fn ping(
    asks: &Asks,
    from: &NetworkAttachment,
    to: &NetworkAttachment,
    expected: bool,
    until: Instant,
) -> Reached {
    loop {
        let (answered, reason) = match asks.ping(from, to, 1).await {
            Ok(status) => (!status.round_trips.is_empty(), status.error),
            Err(error) => (false, error.to_string()),
        };
        if answered || !expected || Instant::now() >= until {
            return Reached { from: name(from), to: name(to), expected, answered, reason };
        }
        sleep(AGAIN).await;
    }
}

fn name(of: &NetworkAttachment) -> String {
    of.metadata.name.clone().unwrap_or_default()
}
