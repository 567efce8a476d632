//! The drift check: compares the cache of an informer with a list from its source.
//!
//! It takes the place of a resync. A difference is checked again once the cache has caught up
//! with the list; the remaining objects are read from the source, and an object that the
//! cache still has in another version has drifted. While the reflector has an error, or a relist
//! runs, no drift is counted: the cache is then known to be out of date.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use machinery_objects::{Freshness, ListAt, ListRequest, Object, ObjectKey, ResourceVersion};
use tokio::time::{sleep, timeout};

use crate::informer::InformerShared;
use crate::reflect::objects_of_page;

/// The minimum time between two drift checks.
pub(crate) const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Number of differing objects that one check reads from the source.
const CONFIRMED_PER_CHECK: usize = 16;
/// Number of objects after which a check yields to other tasks.
const YIELD_EVERY: usize = 1000;
/// Time in which a version that the source has just returned must also arrive by the watch.
const SETTLE_TIME: Duration = Duration::from_secs(10);

/// The differences between a list and the cache.
struct Differences {
    /// The version of the list.
    at: ResourceVersion,
    has: CachedVersions,
}

/// The cached version of each object, `None` where the cache has no such object.
type CachedVersions = BTreeMap<ObjectKey, Option<ResourceVersion>>;

/// Runs a drift check at this interval, for ever.
pub(crate) async fn run<T: Object>(shared: &Arc<InformerShared<T>>, every: Duration) {
    let mut last = None;
    loop {
        sleep(every.max(MIN_INTERVAL)).await;
        if !shared.is_healthy() {
            continue;
        }
        // A failed list is an error of the reflector too, which reports it.
        let Ok(Some(differences)) = timeout(shared.limits.list_time, list_differences(shared)).await else {
            continue;
        };
        let Some(drifts) = count_drifts(shared, differences, &mut last).await else { continue };
        let counts = &mut shared.report.lock().counts;
        counts.drift_checks += 1;
        counts.drifts += drifts;
        if drifts > 0 {
            shared.request_relist();
        }
    }
}

/// Compares the cache with the pages of a list as they arrive. `None` if the list fails or is
/// endless.
async fn list_differences<T: Object>(shared: &InformerShared<T>) -> Option<Differences> {
    let mut has = BTreeMap::new();
    let (mut unlisted, mut turns) = (BTreeSet::new(), YieldCounter::default());
    // Before the list: an object cached during the list may rightly be missing from it.
    for (key, _) in shared.map.snapshot().iter() {
        unlisted.insert(key.clone());
        turns.tick().await;
    }
    let mut request = ListRequest {
        filter: shared.filter.clone(),
        at: ListAt::Fresh(Freshness::Newest),
        limit: Some(shared.limits.page),
        rest: None,
    };
    let (mut at, mut objects, mut empty) = (None, 0, 0);
    loop {
        let page = objects_of_page(shared.source.list(request.clone()).await.ok()?);
        let count = page.items.len() + page.unreadable.len();
        objects += count;
        empty = if count == 0 { empty + 1 } else { 0 };
        if objects > shared.limits.objects || empty > shared.limits.empty_pages {
            return None;
        }
        for unreadable in &page.unreadable {
            // The cache rightly keeps its last readable state.
            unlisted.remove(&unreadable.key);
        }
        for found in page.items {
            unlisted.remove(&found.key);
            let there = shared.version_of(&found.key);
            if there != found.version {
                has.insert(found.key, there);
            }
            turns.tick().await;
        }
        tokio::task::yield_now().await; // even an empty page cost the source a request
        at.get_or_insert(page.version);
        request.rest = page.rest;
        if request.rest.is_none() {
            break;
        }
    }
    for key in unlisted {
        let there = shared.version_of(&key);
        has.insert(key, there);
        turns.tick().await;
    }
    Some(Differences { at: at?, has })
}

/// Returns how many differences persist; `None` if that cannot be decided now. `last` is the object
/// that was read from the source last, in this check or an earlier one.
async fn count_drifts<T: Object>(
    shared: &InformerShared<T>,
    differences: Differences,
    last: &mut Option<ObjectKey>,
) -> Option<u64> {
    let Differences { at, mut has } = differences;
    let can = shared.source.capabilities();
    if can.versions_are_ordered {
        // The cache received a newer version of the others after the list.
        has = retain(has, |_, has| has.as_ref().is_none_or(|has| *has <= at)).await;
    }
    // Without bookmarks a cache does not know its version.
    if can.versions_are_ordered && can.bookmarks {
        let comes = wait_until_changed(shared, &mut has, |shared| {
            shared.progress.now().version.is_some_and(|progress| progress >= at)
        });
        timeout(shared.limits.silence, comes).await.ok()?;
    }
    has = retain(has, |key, has| shared.version_of(key) == *has).await;
    timeout(shared.limits.answer_time, confirm(shared, &mut has, last)).await.ok()?;
    // The watch may not have delivered the confirmed version yet.
    let _ = timeout(SETTLE_TIME, wait_until_changed(shared, &mut has, |_| false)).await;
    has.retain(|key, has| shared.version_of(key) == *has);
    shared.is_healthy().then_some(has.len() as u64)
}

/// Waits until all of these objects have changed in the cache, or `is_over` returns true. Removes
/// changed objects from the front only: some may remain behind an unchanged one.
async fn wait_until_changed<T: Object>(
    shared: &InformerShared<T>,
    has: &mut CachedVersions,
    is_over: impl Fn(&InformerShared<T>) -> bool,
) {
    loop {
        let listener = shared.progress.listen();
        while let Some(first) = has.first_entry()
            && shared.version_of(first.key()) != *first.get()
        {
            first.remove();
        }
        if has.is_empty() || is_over(shared) {
            return;
        }
        listener.await;
    }
}

/// Reads the next batch from the source and keeps the objects that differ there. An object that
/// cannot be read is read again when its turn comes.
async fn confirm<T: Object>(
    shared: &InformerShared<T>,
    has: &mut CachedVersions,
    last: &mut Option<ObjectKey>,
) {
    for (key, there) in next_batch(std::mem::take(has), last.as_ref()) {
        *last = Some(key.clone());
        if shared.source_version(&key).await.is_ok_and(|now| now != there) {
            has.insert(key, there);
        }
    }
}

/// Returns the objects after `last` and then those from the beginning, so that each has its turn
/// even if others always differ.
fn next_batch(
    mut has: CachedVersions,
    last: Option<&ObjectKey>,
) -> impl Iterator<Item = (ObjectKey, Option<ResourceVersion>)> + use<> {
    let mut after = last.map_or_else(BTreeMap::new, |last| has.split_off(last));
    // The object that was read last has its turn last.
    let again = last.and_then(|last| after.remove_entry(last));
    // Each one costs the source a request.
    after.into_iter().chain(has).chain(again).take(CONFIRMED_PER_CHECK)
}

/// Returns the entries that satisfy the predicate.
async fn retain(
    has: CachedVersions,
    is_so: impl Fn(&ObjectKey, &Option<ResourceVersion>) -> bool,
) -> CachedVersions {
    let (mut retain, mut turns) = (CachedVersions::new(), YieldCounter::default());
    for (key, has) in has {
        if is_so(&key, &has) {
            retain.insert(key, has);
        }
        turns.tick().await;
    }
    retain
}

/// Yields to other tasks at intervals.
#[derive(Default)]
struct YieldCounter(usize);

impl YieldCounter {
    async fn tick(&mut self) {
        self.0 += 1;
        if self.0.is_multiple_of(YIELD_EVERY) {
            tokio::task::yield_now().await;
        }
    }
}

impl<T: Object> InformerShared<T> {
    /// Returns whether the cache is synced, and no error or relist is known.
    fn is_healthy(&self) -> bool {
        let report = self.report.lock();
        let is_healthy = report.trouble.is_none() && !report.relisting;
        drop(report);
        is_healthy && self.progress.now().synced
    }

    fn version_of(&self, key: &ObjectKey) -> Option<ResourceVersion> {
        self.map.get(key).and_then(|there| there.version())
    }
}
