//! An informer at work.

use std::sync::Arc;
use std::time::Instant;

use machinery_objects::{Mark, Object};
use tokio_util::sync::CancellationToken;

use super::shared::Shared;
use crate::audit;
use crate::cache::{Cache, Objects};
use crate::reflect::{Effect, Order, Plan, Sink, drive};

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
    fn heard(&mut self, now: Instant, of_an_object: bool) {
        self.shared.reached.heard(now);
        if of_an_object {
            self.shared.report.lock().counts.events += 1;
        }
    }

    fn asked(&mut self, order: &Order) {
        let counts = &mut self.shared.report.lock().counts;
        match order {
            Order::List(_) => counts.lists += 1,
            Order::Watch(_) => counts.watches += 1,
            Order::Wait => {}
        }
    }

    /// With nobody coming in between.
    fn take(&mut self, now: Instant, effects: &mut Vec<Effect<Arc<T>>>) {
        let Self { shared, cache } = self;
        let unreadable =
            effects.iter().filter(|effect| matches!(effect, Effect::Unreadable(_))).count() as u64;
        let mut publishing = shared.hub.publishing();
        let outcome = cache.apply(effects, publishing.is_heard());
        publishing.publish(now, &outcome.news);
        if outcome.first {
            publishing.mark(&Mark::Synced);
        }
        if let Some(version) = &outcome.reached {
            publishing.mark(&Mark::Progress(version.clone()));
        }
        if let Some(version) = outcome.reached {
            shared.reached.to(version, outcome.whole);
        }
        drop(publishing);
        drop((outcome.news, outcome.displaced));
        shared.reached.changed();
        let mut report = shared.report.lock();
        report.counts.unreadable += unreadable;
        report.counts.troubles += outcome.troubles.len() as u64;
        report.counts.late = cache.late();
        if outcome.whole || unreadable > 0 || report.unreadable.len() != cache.unreadable().len() {
            report.unreadable = cache.unreadable().values().cloned().collect();
        }
        if outcome.well {
            report.trouble = None;
        } else if let Some(trouble) = outcome.troubles.into_iter().last() {
            report.trouble = Some(trouble);
        }
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
