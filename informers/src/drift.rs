//! The cache held against a list: it should differ in nothing but what changes meanwhile.
//!
//! What differs is looked at again when the cache has come to where the list was, and of what differs still the source is asked
//! object by object; who then stays as it is has drifted. While the reflector is in trouble, or all comes anew, nothing is judged: the
//! cache is not what it should be, and that is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use machinery_objects::{Freshness, ListAt, ListRequest, Object, ObjectKey, ResourceVersion};
use tokio::time::{sleep, timeout};

use crate::informer::InformerShared;
use crate::reflect::objects_of_page;

/// No audit begins sooner after the one before.
pub(crate) const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Of no more objects the source is asked one by one.
const CONFIRMED_PER_CHECK: usize = 16;
/// After so many objects that were looked at others have their turn.
const YIELD_EVERY: usize = 1000;
/// So long what was just asked for has to come by the watch, too.
const SETTLE_TIME: Duration = Duration::from_secs(10);

/// What a list shows otherwise than the cache does.
struct Differences {
    /// As of when it was listed.
    at: ResourceVersion,
    has: CachedVersions,
}

/// In which version the cache has each.
type CachedVersions = BTreeMap<ObjectKey, Option<ResourceVersion>>;

/// Compares as often, for ever.
pub(crate) async fn run<T: Object>(shared: &Arc<InformerShared<T>>, every: Duration) {
    let mut last = None;
    loop {
        sleep(every.max(MIN_INTERVAL)).await;
        if !shared.is_healthy() {
            continue;
        }
        // What cannot be listed now is the reflector's trouble, too.
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

/// As its pages come; `None` if there is no list, or no end of it.
async fn list_differences<T: Object>(shared: &InformerShared<T>) -> Option<Differences> {
    let mut has = BTreeMap::new();
    let (mut unlisted, mut turns) = (BTreeSet::new(), YieldCounter::default());
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
        tokio::task::yield_now().await; // however small it is: asking for it was work
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

/// How many of them are no difference in time; `None` if that cannot be said now. `last` is who was asked for last, this time or before.
async fn count_drifts<T: Object>(
    shared: &InformerShared<T>,
    differences: Differences,
    last: &mut Option<ObjectKey>,
) -> Option<u64> {
    let Differences { at, mut has } = differences;
    let can = shared.source.capabilities();
    if can.versions_are_ordered {
        // Of the others the cache has heard since.
        has = retain(has, |_, has| has.as_ref().is_none_or(|has| *has <= at)).await;
    }
    // Without bookmarks a cache does not know how far it is.
    if can.versions_are_ordered && can.bookmarks {
        let comes = wait_until_changed(shared, &mut has, |shared| {
            shared.progress.now().version.is_some_and(|progress| progress >= at)
        });
        timeout(shared.limits.silence, comes).await.ok()?;
    }
    has = retain(has, |key, has| shared.version_of(key) == *has).await;
    timeout(shared.limits.answer_time, confirm(shared, &mut has, last)).await.ok()?;
    // What the source has now may be on its way.
    let _ = timeout(SETTLE_TIME, wait_until_changed(shared, &mut has, |_| false)).await;
    has.retain(|key, has| shared.version_of(key) == *has);
    shared.is_healthy().then_some(has.len() as u64)
}

/// Returns when all of them have changed in the cache, or when this is so. Of many that change it looks no farther than to the first that has
/// not, so some that have may be left.
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

/// Leaves those that the source has otherwise, of the next few. Of which it cannot say, it is asked when their turn comes again.
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

/// Those after the one that was last, and then from the beginning: each has its turn, whoever else differs always.
fn next_batch(
    mut has: CachedVersions,
    last: Option<&ObjectKey>,
) -> impl Iterator<Item = (ObjectKey, Option<ResourceVersion>)> + use<> {
    let mut after = last.map_or_else(BTreeMap::new, |last| has.split_off(last));
    // Whoever was last comes last.
    let again = last.and_then(|last| after.remove_entry(last));
    after.into_iter().chain(has).chain(again).take(CONFIRMED_PER_CHECK)
}

/// Those of them of which this is so.
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

/// Gives others their turn now and then.
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
    /// Whether nothing is known to keep the cache from being up to date.
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
