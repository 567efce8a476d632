//! A stream per key, for sources without interest streams.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use machinery_objects::{FieldTerm, Filter, InterestBy, ListWatch, Object, Requirement};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::interest_counts::Tenure;
use super::keyed_cache::{KeyedCache, Name};
use super::keyed_store::{Key, KeyedStore, SingleKey};
use super::progress::ShownVersion;
use super::selector_text::text_of;
use super::shared::{KeyedShared, REFUSED, SelectorKey};
use crate::cache::CacheWriter;
use crate::readable::log_unreadable;
use crate::reflect::{Backoff, Effect, ReflectorCommand, ReflectorConfig, ReflectorError, Sink, drive};

/// Opens and closes streams as keys are acquired and released, for ever. Dropping the future
/// cancels them; `tasks` waits for their end.
pub(super) async fn run<F: SelectorKey, T: Object>(shared: &Arc<KeyedShared<F, T>>, tasks: &TaskTracker) {
    let all = CancellationToken::new();
    let _stop = all.clone().drop_guard();
    let mut running: BTreeMap<F, CancellationToken> = BTreeMap::new();
    loop {
        let listener = shared.keyed_cache.listen_interests();
        for (key, tenure) in shared.keyed_cache.take_changed() {
            if let Some(stop) = running.remove(&key) {
                // Its end is not awaited: events of an ended tenure change nothing.
                stop.cancel();
            }
            let Some(tenure) = tenure else { continue };
            let stop = all.child_token();
            running.insert(key.clone(), stop.clone());
            let stream = stream(shared.clone(), key, tenure);
            tasks.spawn(async move {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {}
                    () = stream => {}
                }
            });
        }
        listener.await;
    }
}

/// Keeps the objects under one key up to date, for ever.
async fn stream<F: SelectorKey, T: Object>(shared: Arc<KeyedShared<F, T>>, key: F, tenure: Tenure) {
    shared.streams.fetch_add(1, Ordering::Relaxed);
    let _open = OpenStream(&shared, tenure);
    let can = shared.source.capabilities();
    // Different jitter: the streams of all keys break at the same moment.
    let seed = shared.seed ^ tenure.0;
    let mut backoff = Backoff::new(seed);
    let text = loop {
        match text_of(&key) {
            Ok(text) => break text,
            Err(error) => shared.report.lock().record_error(tenure, ReflectorError::Watch(error.into())),
        }
        sleep(backoff.next()).await;
    };
    // `acquire` has checked that the key is valid in a selector.
    let Ok(filter) = filter_for_key(&shared.filter, &shared.by, &text) else { return };
    let config = ReflectorConfig { filter, can, limits: shared.limits, seed };
    let ordered = can.versions_are_ordered;
    let store = KeyedStore {
        keyed_cache: shared.keyed_cache.clone(),
        assignment: SingleKey(key.clone()),
        ordered,
        limit: shared.limits.objects,
    };
    let cache = CacheWriter::new(store, seed, ordered);
    let source: Arc<dyn ListWatch<Arc<T>>> = shared.source.clone();
    let mut sink = PerKeySink { shared: &shared, key, tenure, cache };
    drive(source, config, &mut sink).await;
}

struct OpenStream<'a, F, T>(&'a KeyedShared<F, T>, Tenure);

impl<F, T> Drop for OpenStream<'_, F, T> {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
        self.0.report.lock().remove_stream(self.1);
        self.0.progress.remove(self.1);
    }
}

/// Returns the filter restricted to one key.
pub(super) fn filter_for_key(
    filter: &Filter,
    by: &InterestBy,
    key: &str,
) -> Result<Filter, machinery_objects::RequirementError> {
    let mut filter = filter.clone();
    match by {
        InterestBy::Field(field) => {
            let term = FieldTerm::equals(field, key)?;
            filter.fields = filter.fields.terms().iter().cloned().chain([term]).collect();
        }
        InterestBy::Label(label) => {
            let equals = Ok(Requirement::equals(label, key)?);
            let requirements = filter.labels.requirements().iter().cloned().map(Ok);
            filter.labels = requirements.chain([equals]).collect::<Result<_, _>>()?;
        }
    }
    Ok(filter)
}

/// Applies the effects of a stream while the tenure of its key lasts, and notifies handlers.
struct PerKeySink<'s, F: Key, T> {
    shared: &'s KeyedShared<F, T>,
    key: F,
    tenure: Tenure,
    cache: CacheWriter<T, KeyedStore<F, T, SingleKey<F>>>,
}

impl<F: SelectorKey, T: Object> Sink<T> for PerKeySink<'_, F, T> {
    fn on_event(&mut self) {
        self.shared.report.lock().counts.events += 1;
    }

    fn on_fresh(&mut self, now: Instant) {
        self.shared.report.lock().record_event(now, false);
    }

    fn on_command(&mut self, order: &ReflectorCommand) {
        self.shared.report.lock().count_command(order);
    }

    fn apply(&mut self, now: Instant, effects: &mut Vec<Effect<Arc<T>>>) -> bool {
        let Self { shared, key, tenure, cache } = self;
        let keyed_cache: &KeyedCache<F, T> = &shared.keyed_cache;
        let outcome = keyed_cache.with_tenure(key, *tenure, |publishing| {
            let outcome = cache.apply(effects, publishing.has_handlers());
            publishing.publish_steps(now, &outcome.changed.notifications, outcome.steps);
            outcome
        });
        let Some(outcome) = outcome else {
            // The tenure is over, and the cancellation of this stream in flight.
            let fenced =
                effects.drain(..).filter(|effect| matches!(effect, Effect::Put(_) | Effect::Remove(..)));
            let fenced = fenced.count() as u64;
            self.shared.report.lock().counts.fenced += fenced;
            return true;
        };
        let shows_less = outcome.errors.iter().any(ReflectorError::is_behind);
        let shown = match &outcome.progress {
            Some(version) => ShownVersion::UpTo(version),
            None if shows_less => ShownVersion::Doubtful,
            None => ShownVersion::AsBefore,
        };
        shared.progress.update(*tenure, shown);
        if outcome.relisted {
            keyed_cache.complete([(key.clone(), *tenure)].into_iter());
        }
        let mut report = shared.report.lock();
        let was_refused = report.refusal(*tenure).is_some();
        let unreadable = report.outcome::<Name<F>, T>(*tenure, &outcome, cache.unreadable());
        let refusal = report.refusal(*tenure);
        drop(report);
        log_unreadable::<T>(&unreadable);
        if let Some(error) = refusal.filter(|_| !was_refused) {
            if error.is_refusal() {
                tracing::error!(by = ?shared.by, %error, "{REFUSED}");
            }
            keyed_cache.notify_waiters();
        }
        !outcome.is_full
    }

    /// A single key is never relisted on request.
    async fn relist_requested(&self) {
        std::future::pending().await
    }
}
