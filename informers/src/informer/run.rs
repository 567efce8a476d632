//! Runs an informer: connects the reflector with the cache and the handlers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use machinery_objects::{Bookmark, Object, ObjectKey};
use tokio_util::sync::CancellationToken;

use super::shared::InformerShared;
use crate::cache::{CacheWriter, MapStore};
use crate::drift;
use crate::readable::{log_unreadable, newly_unreadable};
use crate::reflect::{Effect, ReflectorCommand, ReflectorConfig, ReflectorError, Sink, SourceObject, drive};

pub(super) async fn run<T: Object>(shared: &Arc<InformerShared<T>>, stopping: CancellationToken) {
    let can = shared.source.capabilities();
    let config =
        ReflectorConfig { filter: shared.filter.clone(), can, limits: shared.limits, seed: shared.seed };
    let cache = CacheWriter::new(MapStore(shared.map.clone()), shared.seed, can.versions_are_ordered);
    let mut sink = CacheSink { shared, cache };
    let drift_check = async {
        match shared.drift_check {
            Some(every) => drift::run(shared, every).await,
            None => std::future::pending().await,
        }
    };
    let closing = CloseOnDrop(shared);
    tokio::select! {
        biased;
        () = stopping.cancelled() => {}
        () = drive(shared.source.clone(), config, &mut sink) => {}
        () = drift_check => {}
    }
    // First: the tracker waits until it is closed, and the handlers end only then.
    drop(closing);
    shared.tasks.wait().await;
}

/// Closes the informer, also when its run is dropped, so that no waiter waits for ever.
struct CloseOnDrop<'s, T>(&'s InformerShared<T>);

impl<T> Drop for CloseOnDrop<'_, T> {
    fn drop(&mut self) {
        self.0.stopping.cancel();
        self.0.hub.close();
        self.0.progress.close();
        self.0.tasks.close();
    }
}

/// Applies the reflector's effects to the cache and notifies handlers.
struct CacheSink<'s, T> {
    shared: &'s InformerShared<T>,
    cache: CacheWriter<T, MapStore<T>>,
}

impl<T: Object> Sink<T> for CacheSink<'_, T> {
    fn on_event(&mut self) {
        self.shared.report.lock().counts.events += 1;
    }

    fn on_fresh(&mut self, now: Instant) {
        self.shared.progress.mark_fresh(now);
    }

    fn on_command(&mut self, order: &ReflectorCommand) {
        let counts = &mut self.shared.report.lock().counts;
        match order {
            ReflectorCommand::List(_) => counts.lists += 1,
            ReflectorCommand::Watch(_) => counts.watches += 1,
            ReflectorCommand::Wait => {}
        }
    }

    fn fits(&mut self, effects: &mut Vec<Effect<Arc<T>>>) -> bool {
        let capacity = self.shared.limits.objects.saturating_sub(self.shared.map.len());
        let fit = if effects.len() <= capacity || self.cache.is_relisting() {
            effects.len()
        } else {
            fitting_prefix(effects, capacity, |key| self.shared.map.get(key).is_some())
        };
        let fits = fit == effects.len();
        // Cut, not filtered: a cache without one change is no version of the source.
        effects.truncate(fit);
        fits
    }

    /// Handlers register and read only between two calls.
    fn apply(&mut self, now: Instant, effects: &mut Vec<Effect<Arc<T>>>) -> bool {
        let Self { shared, cache } = self;
        let unreadable =
            effects.iter().filter(|effect| matches!(effect, Effect::Unreadable(_))).count() as u64;
        let mut publishing = shared.hub.publishing();
        let outcome = cache.apply(effects, publishing.has_handlers());
        publishing.publish_steps(now, &outcome.changed.notifications, outcome.steps);
        if outcome.first_sync {
            publishing.mark(&Bookmark::Synced);
        }
        if let Some(version) = &outcome.progress {
            publishing.mark(&Bookmark::Progress(version.clone()));
        }
        if let Some(version) = outcome.progress {
            shared.progress.advance(version, outcome.relisted);
        }
        if outcome.recovered || outcome.errors.iter().any(ReflectorError::is_behind) {
            shared.progress.doubt(!outcome.recovered);
        }
        drop(publishing);
        // Outside the lock: the last reference to an object may run user code in its `Drop`.
        drop(outcome.changed);
        shared.progress.changed();
        let mut report = shared.report.lock();
        report.counts.unreadable += unreadable;
        report.counts.troubles += outcome.errors.len() as u64;
        report.counts.late = cache.late();
        report.relisting = cache.is_relisting();
        if outcome.relisted || unreadable > 0 || report.unreadable.len() != cache.unreadable().len() {
            let now: Vec<_> = cache.unreadable().values().cloned().collect();
            let before = std::mem::replace(&mut report.unreadable, now.clone());
            drop(report);
            log_unreadable::<T>(&newly_unreadable(&before, &now));
            report = shared.report.lock();
        }
        if outcome.recovered {
            report.trouble = None;
        } else if let Some(trouble) = outcome.errors.into_iter().last() {
            report.trouble = Some(trouble);
        }
        true
    }

    async fn relist_requested(&self) {
        loop {
            let listener = self.shared.relist_request.changed.listen();
            if std::mem::take(&mut *self.shared.relist_request.requested.lock()) {
                return;
            }
            listener.await;
        }
    }
}

/// Returns how many effects fit into the capacity. Relists do not count here: the reflector limits
/// them.
fn fitting_prefix<T>(
    effects: &[Effect<T>],
    mut capacity: usize,
    is_cached: impl Fn(&ObjectKey) -> bool,
) -> usize {
    let mut changed: BTreeMap<&ObjectKey, bool> = BTreeMap::new();
    for (at, effect) in effects.iter().enumerate() {
        match effect {
            Effect::Put(SourceObject { key, .. }) => {
                if changed.insert(key, true).unwrap_or_else(|| is_cached(key)) {
                    continue;
                }
                if capacity == 0 {
                    return at;
                }
                capacity -= 1;
            }
            Effect::Remove(SourceObject { key, .. }, _) => {
                capacity += usize::from(changed.insert(key, false).unwrap_or_else(|| is_cached(key)));
            }
            Effect::Unreadable(gone) if gone.is_gone => {
                capacity +=
                    usize::from(changed.insert(&gone.key, false).unwrap_or_else(|| is_cached(&gone.key)));
            }
            Effect::BeginRelist => break,
            _ => {}
        }
    }
    effects.len()
}
