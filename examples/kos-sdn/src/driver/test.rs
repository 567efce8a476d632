//! Tests of attachments that are ready: with frames to one that was tested before, or by asking their node.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery::objects::{Object as _, ObjectKey};
use machinery::sync::Mutex;
use machinery::tokio::time::{Instant, sleep};

use crate::model::NetworkAttachment;
use crate::plan::{Chance, Tested};
use crate::probe::Asks;

/// Who was tested, and who is being.
pub(super) struct Tests {
    asks: Asks,
    pings: u16,
    fraction: f64,
    pending_wait: Duration,
    state: Mutex<State>,
}

struct State {
    chance: Chance,
    by_network: BTreeMap<u32, Network>,
}

#[derive(Default)]
struct Network {
    /// The latest last.
    tested: Vec<Arc<NetworkAttachment>>,
    pending: usize,
}

/// Whether one is tested, and how.
enum Chosen {
    No,
    /// When it is known with whom.
    Waits,
    /// With frames, if there is one to send them to.
    With(Option<Arc<NetworkAttachment>>),
}

/// Between two frames that a node may not know the way for yet, and two looks.
const AGAIN: Duration = Duration::from_millis(100);

impl Tests {
    pub(super) fn new(asks: Asks, pings: u16, fraction: f64, pending_wait: Duration, chance: Chance) -> Self {
        let state = Mutex::new(State { chance, by_network: BTreeMap::new() });
        Self { asks, pings: pings.max(1), fraction, pending_wait, state }
    }

    /// Tests one, if it is to be: with frames, if there is one to send them to; nothing, if chance says so.
    pub(super) async fn test(&self, of: &Arc<NetworkAttachment>, began: Instant) -> Option<Tested> {
        if self.fraction <= 0.0 {
            return None;
        }
        let vni = of.status.address_vni;
        let until = Instant::now() + self.pending_wait;
        let peer = loop {
            match self.chosen(vni, Instant::now() < until) {
                Chosen::Waits => sleep(AGAIN).await,
                Chosen::No => return None,
                Chosen::With(peer) => break peer,
            }
        };
        let (ok, says) = match &peer {
            Some(peer) => self.frames(of, peer).await,
            None => match self.asks.interface(of).await {
                Ok(steps) => (!steps.is_empty(), String::new()),
                Err(error) => (false, error.to_string()),
            },
        };
        let mut state = self.state.lock();
        let network = state.by_network.entry(vni).or_default();
        network.pending -= 1;
        if ok {
            network.tested.push(of.clone());
        }
        drop(state);
        let peer = peer.map(|peer| peer.key().to_string());
        Some(Tested { peer, ok, seconds: began.elapsed().as_secs_f64(), says })
    }

    fn chosen(&self, vni: u32, may_wait: bool) -> Chosen {
        let mut state = self.state.lock();
        let is_chosen = state.chance.fraction() < self.fraction;
        let network = state.by_network.entry(vni).or_default();
        match network.tested.last().cloned() {
            Some(_) if !is_chosen => Chosen::No,
            None if network.pending > 0 && may_wait => Chosen::Waits,
            peer => {
                network.pending += 1;
                Chosen::With(peer)
            }
        }
    }

    /// One is to go: nobody is tested with it any more.
    pub(super) fn goes(&self, key: &ObjectKey) {
        for network in self.state.lock().by_network.values_mut() {
            network.tested.retain(|tested| tested.key() != *key);
        }
    }

    /// Up to so many frames, one after the other: nodes hear of each other a moment later.
    async fn frames(&self, from: &NetworkAttachment, to: &NetworkAttachment) -> (bool, String) {
        let mut says = String::new();
        for frame in 0..self.pings {
            if frame > 0 {
                sleep(AGAIN).await;
            }
            match self.asks.ping(from, to, 1).await {
                Ok(status) if !status.round_trips.is_empty() => return (true, String::new()),
                Ok(status) => says = status.error,
                Err(error) => says = error.to_string(),
            }
        }
        (false, says)
    }
}
