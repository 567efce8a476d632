//! An informer at work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use machinery_objects::{Mark, Object, ObjectKey};
use tokio_util::sync::CancellationToken;

use super::shared::Shared;
use crate::audit;
use crate::cache::{Cache, Objects};
use crate::reflect::{Effect, Found, Order, Plan, Sink, Trouble, drive};

pub(super) async fn run<T: Object>(shared: &Arc<Shared<T>>, stopping: CancellationToken) {
    let can = shared.source.capabilities();
    let plan = Plan { filter: shared.filter.clone(), can, limits: shared.limits, seed: shared.seed };
    let cache = Cache::new(Objects(shared.map.clone()), shared.seed, can.versions_are_ordered);
    let mut sink = Keeper { shared, cache };
    let audit = async {
        match shared.audit {
            Some(every) => audit::run(shared, every).await,
            None => std::future::pending().await,
        }
    };
    let closing = Closing(shared);
    tokio::select! {
        biased;
        () = stopping.cancelled() => {}
        () = drive(shared.source.clone(), plan, &mut sink) => {}
        () = audit => {}
    }
    drop(closing);
    shared.tasks.wait().await;
}

/// Nothing changes any more, also where the run was dropped: nobody is to wait for ever.
struct Closing<'s, T>(&'s Shared<T>);

impl<T> Drop for Closing<'_, T> {
    fn drop(&mut self) {
        self.0.stopping.cancel();
        self.0.hub.close();
        self.0.reached.close();
        self.0.tasks.close();
    }
}

/// Keeps the cache, and tells of it.
struct Keeper<'s, T> {
    shared: &'s Shared<T>,
    cache: Cache<T, Objects<T>>,
}

impl<T: Object> Sink<T> for Keeper<'_, T> {
    fn came(&mut self) {
        self.shared.report.lock().counts.events += 1;
    }

    fn fresh(&mut self, now: Instant) {
        self.shared.reached.heard(now);
    }

    fn asked(&mut self, order: &Order) {
        let counts = &mut self.shared.report.lock().counts;
        match order {
            Order::List(_) => counts.lists += 1,
            Order::Watch(_) => counts.watches += 1,
            Order::Wait => {}
        }
    }

    fn fits(&mut self, effects: &mut Vec<Effect<Arc<T>>>) -> bool {
        let room = self.shared.limits.objects.saturating_sub(self.shared.map.len());
        let fit = if effects.len() <= room || self.cache.is_renewing() {
            effects.len()
        } else {
            fitting(effects, room, |key| self.shared.map.get(key).is_some())
        };
        let fits = fit == effects.len();
        effects.truncate(fit);
        fits
    }

    /// With nobody coming in between.
    fn take(&mut self, now: Instant, effects: &mut Vec<Effect<Arc<T>>>) -> bool {
        let Self { shared, cache } = self;
        let unreadable =
            effects.iter().filter(|effect| matches!(effect, Effect::Unreadable(_))).count() as u64;
        let mut publishing = shared.hub.publishing();
        let outcome = cache.apply(effects, publishing.is_heard());
        publishing.publish(now, &outcome.changed.news);
        if outcome.first {
            publishing.mark(&Mark::Synced);
        }
        if let Some(version) = &outcome.reached {
            publishing.mark(&Mark::Progress(version.clone()));
        }
        if let Some(version) = outcome.reached {
            shared.reached.to(version, outcome.whole);
        }
        if outcome.well || outcome.troubles.iter().any(Trouble::is_less) {
            shared.reached.doubt(!outcome.well);
        }
        drop(publishing);
        drop(outcome.changed);
        shared.reached.changed();
        let mut report = shared.report.lock();
        report.counts.unreadable += unreadable;
        report.counts.troubles += outcome.troubles.len() as u64;
        report.counts.late = cache.late();
        report.renewing = cache.is_renewing();
        if outcome.whole || unreadable > 0 || report.unreadable.len() != cache.unreadable().len() {
            report.unreadable = cache.unreadable().values().cloned().collect();
        }
        if outcome.well {
            report.trouble = None;
        } else if let Some(trouble) = outcome.troubles.into_iter().last() {
            report.trouble = Some(trouble);
        }
        true
    }

    async fn anew(&self) {
        loop {
            let listener = self.shared.anew.told.listen();
            if std::mem::take(&mut *self.shared.anew.wanted.lock()) {
                return;
            }
            listener.await;
        }
    }
}

/// How many of them leave the cache with no more than there is room for. How much comes anew is not for here: the reflector counts it.
fn fitting<T>(effects: &[Effect<T>], mut room: usize, is_there: impl Fn(&ObjectKey) -> bool) -> usize {
    let mut changed: BTreeMap<&ObjectKey, bool> = BTreeMap::new();
    for (at, effect) in effects.iter().enumerate() {
        match effect {
            Effect::Put(Found { key, .. }) => {
                if changed.insert(key, true).unwrap_or_else(|| is_there(key)) {
                    continue;
                }
                if room == 0 {
                    return at;
                }
                room -= 1;
            }
            Effect::Remove(Found { key, .. }, _) => {
                room += usize::from(changed.insert(key, false).unwrap_or_else(|| is_there(key)));
            }
            Effect::Unreadable(gone) if gone.is_gone => {
                room += usize::from(changed.insert(&gone.key, false).unwrap_or_else(|| is_there(&gone.key)));
            }
            Effect::Begin => break,
            _ => {}
        }
    }
    effects.len()
}
