//! Connectivity tests of ready attachments: a ping to a tested peer, or a query of their node.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery::objects::{Object as _, ObjectKey};
use machinery::sync::Mutex;
use machinery::tokio::time::{Instant, sleep};

use super::record::TestResult;
use crate::model::NetworkAttachment;
use crate::plan::SplitMix64;
use crate::probe::Prober;

/// The tested attachments, by subnet, and the pending tests. Workloads on switches have no route to
/// other subnets of their network.
pub(super) struct ConnectivityTests {
    prober: Prober,
    pings: u16,
    fraction: f64,
    pending_wait: Duration,
    state: Mutex<TestState>,
}

struct TestState {
    chance: SplitMix64,
    by_subnet: BTreeMap<SubnetOfLoad, SubnetTests>,
}

/// VNI and name of a subnet.
type SubnetOfLoad = (u32, String);

#[derive(Default)]
struct SubnetTests {
    /// Most recent last.
    tested: Vec<Arc<NetworkAttachment>>,
    pending: usize,
}

/// The test chosen for an attachment.
enum TestChoice {
    No,
    /// Wait until a pending first test of the subnet is complete.
    Waits,
    /// Ping this peer; without one, query the node.
    With(Option<Arc<NetworkAttachment>>),
}

/// Interval between frames, and between checks for a peer.
const AGAIN: Duration = Duration::from_millis(100);

impl ConnectivityTests {
    pub(super) fn new(
        prober: Prober,
        pings: u16,
        fraction: f64,
        pending_wait: Duration,
        chance: SplitMix64,
    ) -> Self {
        let state = Mutex::new(TestState { chance, by_subnet: BTreeMap::new() });
        Self { prober, pings: pings.max(1), fraction, pending_wait, state }
    }

    /// Tests an attachment: with frames if a peer exists. Returns `None` if the random choice skips
    /// it.
    pub(super) async fn test(&self, of: &Arc<NetworkAttachment>, began: Instant) -> Option<TestResult> {
        if self.fraction <= 0.0 {
            return None;
        }
        let subnet = (of.status.address_vni, of.spec.subnet.clone());
        let until = Instant::now() + self.pending_wait;
        let peer = loop {
            match self.choose(&subnet, Instant::now() < until) {
                TestChoice::Waits => sleep(AGAIN).await,
                TestChoice::No => return None,
                TestChoice::With(peer) => break peer,
            }
        };
        let (ok, says) = match &peer {
            Some(peer) => self.frames(of, peer).await,
            None => match self.prober.interface(of).await {
                Ok(steps) => (!steps.is_empty(), String::new()),
                Err(error) => (false, error.to_string()),
            },
        };
        let mut state = self.state.lock();
        let tests = state.by_subnet.entry(subnet).or_default();
        tests.pending -= 1;
        if ok {
            tests.tested.push(of.clone());
        }
        drop(state);
        let peer = peer.map(|peer| peer.key().to_string());
        Some(TestResult { peer, ok, seconds: began.elapsed().as_secs_f64(), says })
    }

    fn choose(&self, subnet: &SubnetOfLoad, may_wait: bool) -> TestChoice {
        let mut state = self.state.lock();
        let is_chosen = state.chance.fraction() < self.fraction;
        let tests = state.by_subnet.entry(subnet.clone()).or_default();
        match tests.tested.last().cloned() {
            Some(_) if !is_chosen => TestChoice::No,
            None if tests.pending > 0 && may_wait => TestChoice::Waits,
            peer => {
                tests.pending += 1;
                TestChoice::With(peer)
            }
        }
    }

    /// Excludes an attachment that is about to be deleted as a peer.
    pub(super) fn exclude(&self, key: &ObjectKey) {
        for tests in self.state.lock().by_subnet.values_mut() {
            tests.tested.retain(|tested| tested.key() != *key);
        }
    }

    /// Sends frames until one is answered: nodes learn of each other with a delay.
    async fn frames(&self, from: &NetworkAttachment, to: &NetworkAttachment) -> (bool, String) {
        let mut says = String::new();
        for frame in 0..self.pings {
            if frame > 0 {
                sleep(AGAIN).await;
            }
            match self.prober.ping(from, to, 1).await {
                Ok(status) if !status.round_trips.is_empty() => return (true, String::new()),
                Ok(status) => says = status.error,
                Err(error) => says = error.to_string(),
            }
        }
        (false, says)
    }
}
