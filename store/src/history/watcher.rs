//! A watching client.

use std::sync::Arc;

use machinery_objects::Revision;
use machinery_sync::atomic::Ordering;
use tokio::sync::watch;
use tokio::task::yield_now;

use super::recorder::Client;
use super::traffic::{CompactionPacer, TrafficPlan, around};
use crate::faulty::Dice;
use crate::{Backend, KeySpan, Watch, WatchItem};

pub(super) struct WatchClient {
    client: Client,
    dice: Dice,
    plan: TrafficPlan,
    /// The revision to resume from.
    seen: Revision,
}

impl WatchClient {
    pub(super) fn new(client: Client, dice: Dice, plan: TrafficPlan, seen: Revision) -> Self {
        Self { client, dice, plan, seen }
    }

    pub(super) async fn run(
        mut self,
        pace: Arc<CompactionPacer>,
        mut finished: watch::Receiver<Option<Revision>>,
    ) {
        while finished.borrow().is_none() {
            let after = match self.dice.below(6) {
                0 | 1 => match self.client.revision().await {
                    Ok(now) => around(&mut self.dice, now),
                    Err(_) => self.seen,
                },
                2 => Revision(pace.compacted.load(Ordering::Relaxed)).max(Revision(1)),
                _ => self.seen,
            };
            let span = match self.dice.below(8) {
                0 => KeySpan::one(format!("/k/{}", self.dice.below(self.plan.keys))),
                1 => KeySpan::prefix("/k/1"),
                _ => KeySpan::all(),
            };
            match self.client.watch(span, after).await {
                Ok(watch) => self.follow(watch, &mut finished).await,
                // Compacted or future: continue at the newest revision.
                Err(_) => self.seen = self.client.revision().await.unwrap_or(self.seen),
            }
            yield_now().await;
        }
    }

    /// Reads some items at a varying pace.
    async fn follow(&mut self, mut watch: Watch, finished: &mut watch::Receiver<Option<Revision>>) {
        let (mut left, mut end) = (self.dice.below(80), None);
        while left > 0 || end.is_some() {
            let seen = tokio::select! {
                biased;
                seen = watch.next() => seen,
                _ = finished.changed(), if end.is_none() => {
                    end = *finished.borrow();
                    watch.request_progress();
                    continue;
                }
            };
            self.seen = match seen {
                Ok(WatchItem::Changes { revision, .. } | WatchItem::Progress(revision)) => revision,
                Err(_) => {
                    self.seen = self.client.revision().await.unwrap_or(self.seen);
                    return;
                }
            };
            if end.is_some_and(|end| self.seen >= end) {
                return;
            }
            if end.is_none() && self.dice.chance(100) {
                watch.request_progress();
            }
            let slow = if self.dice.chance(100) { self.dice.below(40) } else { 0 };
            for _ in 0..slow {
                yield_now().await;
            }
            left = left.saturating_sub(1);
        }
    }
}
