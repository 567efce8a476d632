//! A stream for each key: what any source can do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use machinery_objects::{FieldTerm, Filter, InterestBy, ListWatch, Object, Requirement};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::holdings::{Holdings, Name};
use super::progress::Shown;
use super::shared::{Shared, Text};
use super::shelves::{Key, One, Shelved};
use super::texts::text_of;
use super::wanted::Tenure;
use crate::cache::Cache;
use crate::reflect::{Backoff, Effect, Order, Plan, Sink, Trouble, drive};

/// Starts and stops streams as keys are wanted, for ever. When this is dropped they stop, and whoever has `tasks` waits for that.
pub(super) async fn run<F: Text, T: Object>(shared: &Arc<Shared<F, T>>, tasks: &TaskTracker) {
    let all = CancellationToken::new();
    let _stop = all.clone().drop_guard();
    let mut running: BTreeMap<F, CancellationToken> = BTreeMap::new();
    loop {
        let listener = shared.holdings.listen_wants();
        for (key, tenure) in shared.holdings.take_changed() {
            if let Some(stop) = running.remove(&key) {
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

/// Keeps what is under one key up to date, for ever.
async fn stream<F: Text, T: Object>(shared: Arc<Shared<F, T>>, key: F, tenure: Tenure) {
    shared.streams.fetch_add(1, Ordering::Relaxed);
    let _open = Open(&shared, tenure);
    let can = shared.source.capabilities();
    let seed = shared.seed ^ tenure.0;
    let mut backoff = Backoff::new(seed);
    let text = loop {
        match text_of(&key) {
            Ok(text) => break text,
            Err(error) => shared.report.lock().trouble(tenure, Trouble::Watch(error.into())),
        }
        sleep(backoff.next()).await;
    };
    // No key is acquired by which nothing can be selected.
    let Ok(filter) = under(&shared.filter, &shared.by, &text) else { return };
    let plan = Plan { filter, can, limits: shared.limits, seed };
    let ordered = can.versions_are_ordered;
    let shelf = Shelved {
        holdings: shared.holdings.clone(),
        under: One(key.clone()),
        ordered,
        limit: shared.limits.objects,
    };
    let cache = Cache::new(shelf, seed, ordered);
    let source: Arc<dyn ListWatch<Arc<T>>> = shared.source.clone();
    let mut sink = Keeper { shared: &shared, key, tenure, cache };
    drive(source, plan, &mut sink).await;
}

struct Open<'a, F, T>(&'a Shared<F, T>, Tenure);

impl<F, T> Drop for Open<'_, F, T> {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
        self.0.report.lock().over(self.1);
        self.0.progress.over(self.1);
    }
}

/// The same selection, under one key.
pub(super) fn under(
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

/// Keeps what is under a key, as long as it is wanted, and tells of it.
struct Keeper<'s, F: Key, T> {
    shared: &'s Shared<F, T>,
    key: F,
    tenure: Tenure,
    cache: Cache<T, Shelved<F, T, One<F>>>,
}

impl<F: Text, T: Object> Sink<T> for Keeper<'_, F, T> {
    fn came(&mut self) {
        self.shared.report.lock().counts.events += 1;
    }

    fn fresh(&mut self, now: Instant) {
        self.shared.report.lock().heard(now, false);
    }

    fn asked(&mut self, order: &Order) {
        self.shared.report.lock().asked(order);
    }

    fn take(&mut self, now: Instant, effects: &mut Vec<Effect<Arc<T>>>) -> bool {
        let Self { shared, key, tenure, cache } = self;
        let holdings: &Holdings<F, T> = &shared.holdings;
        let outcome = holdings.during(key, *tenure, |publishing| {
            let outcome = cache.apply(effects, publishing.is_heard());
            publishing.publish(now, &outcome.changed.news);
            outcome
        });
        let Some(outcome) = outcome else {
            // Its stop is on its way: what came late is nobody's.
            let fenced =
                effects.drain(..).filter(|effect| matches!(effect, Effect::Put(_) | Effect::Remove(..)));
            let fenced = fenced.count() as u64;
            self.shared.report.lock().counts.fenced += fenced;
            return true;
        };
        let shows_less = outcome.troubles.iter().any(Trouble::is_less);
        let shown = match &outcome.reached {
            Some(version) => Shown::UpTo(version),
            None if shows_less => Shown::Doubtful,
            None => Shown::AsBefore,
        };
        shared.progress.to(*tenure, shown);
        if outcome.whole {
            holdings.complete([(key.clone(), *tenure)].into_iter());
        }
        shared.report.lock().outcome::<Name<F>, T>(*tenure, &outcome, cache.unreadable());
        !outcome.is_full
    }

    /// Nobody asks for that of one key.
    async fn anew(&self) {
        std::future::pending().await
    }
}
