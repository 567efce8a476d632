//! The cache held against a list: it should differ in nothing but what changes meanwhile.
//!
//! What differs is looked at again when the cache has come to where the list was, and of what differs still the source is asked
//! object by object; who then stays as it is has drifted. While the reflector is in trouble nothing is judged: the cache is
//! not what it should be, and that is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use machinery_objects::{Freshness, ListAt, ListRequest, Object, ObjectKey, ResourceVersion};
use tokio::time::{sleep, timeout};

use crate::informer::Shared;
use crate::reflect::found_all;

/// No audit begins sooner after the one before.
pub(crate) const OFTEN: Duration = Duration::from_secs(1);
/// Of no more objects the source is asked one by one.
const ASKED: usize = 16;
/// So long what was just asked for has to come by the watch, too.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a list shows otherwise than the cache does.
struct Differs {
    /// As of when it was listed.
    at: ResourceVersion,
    /// In which version the cache has each.
    has: BTreeMap<ObjectKey, Option<ResourceVersion>>,
}

/// Compares as often, for ever.
pub(crate) async fn run<T: Object>(shared: &Arc<Shared<T>>, every: Duration) {
    loop {
        sleep(every.max(OFTEN)).await;
        if !shared.is_well() {
            continue;
        }
        // What cannot be listed now is the reflector's trouble, too.
        let Ok(Some(differs)) = timeout(shared.limits.list_time, differing(shared)).await else { continue };
        let Some(drifts) = drifts(shared, differs).await else { continue };
        let counts = &mut shared.report.lock().counts;
        counts.audits += 1;
        counts.drifts += drifts;
        if drifts > 0 {
            shared.anew();
        }
    }
}

/// As its pages come; `None` if there is no list, or no end of it.
async fn differing<T: Object>(shared: &Shared<T>) -> Option<Differs> {
    let mut has = BTreeMap::new();
    let mut unlisted: BTreeSet<ObjectKey> =
        shared.map.snapshot().iter().map(|(key, _)| key.clone()).collect();
    let mut request = ListRequest {
        filter: shared.filter.clone(),
        at: ListAt::Fresh(Freshness::Newest),
        limit: Some(shared.limits.page),
        rest: None,
    };
    let (mut at, mut objects, mut empty) = (None, 0, 0);
    loop {
        let page = found_all(shared.source.list(request.clone()).await.ok()?);
        let came = page.items.len() + page.unreadable.len();
        objects += came;
        empty = if came == 0 { empty + 1 } else { 0 };
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
        }
        at.get_or_insert(page.version);
        tokio::task::yield_now().await; // a page is many objects
        request.rest = page.rest;
        if request.rest.is_none() {
            break;
        }
    }
    has.extend(unlisted.into_iter().map(|key| {
        let there = shared.version_of(&key);
        (key, there)
    }));
    Some(Differs { at: at?, has })
}

/// How many of them are no difference in time; `None` if that cannot be said now.
async fn drifts<T: Object>(shared: &Shared<T>, differs: Differs) -> Option<u64> {
    let Differs { at, mut has } = differs;
    let can = shared.source.capabilities();
    if can.versions_are_ordered {
        has.retain(|_, has| has.as_ref().is_none_or(|has| *has <= at)); // the others the cache has heard of since
    }
    // Without bookmarks a cache does not know how far it is.
    if can.versions_are_ordered && can.bookmarks {
        let comes = has_moved(shared, &mut has, |shared| {
            shared.reached.now().version.is_some_and(|reached| reached >= at)
        });
        timeout(shared.limits.silence, comes).await.ok()?;
    }
    has.retain(|key, has| shared.version_of(key) == *has);
    timeout(shared.limits.answer_time, confirm(shared, &mut has)).await.ok()?;
    // What the source has now may be on its way.
    let _ = timeout(PATIENCE, has_moved(shared, &mut has, |_| false)).await;
    shared.is_well().then_some(has.len() as u64)
}

/// Returns when all of them have changed in the cache, and leaves those that have not; or when this is so.
async fn has_moved<T: Object>(
    shared: &Shared<T>,
    has: &mut BTreeMap<ObjectKey, Option<ResourceVersion>>,
    is_over: impl Fn(&Shared<T>) -> bool,
) {
    loop {
        let listener = shared.reached.listen();
        has.retain(|key, has| shared.version_of(key) == *has);
        if has.is_empty() || is_over(shared) {
            return;
        }
        listener.await;
    }
}

/// Leaves those that the source has otherwise, of the first few. Of which it cannot say, it is asked next time.
async fn confirm<T: Object>(shared: &Shared<T>, has: &mut BTreeMap<ObjectKey, Option<ResourceVersion>>) {
    for (key, there) in std::mem::take(has).into_iter().take(ASKED) {
        if shared.listed(&key).await.is_ok_and(|now| now != there) {
            has.insert(key, there);
        }
    }
}

impl<T: Object> Shared<T> {
    /// Whether nothing is known to keep the cache from being up to date.
    fn is_well(&self) -> bool {
        self.reached.now().synced && !self.is_troubled()
    }

    fn version_of(&self, key: &ObjectKey) -> Option<ResourceVersion> {
        self.map.get(key).and_then(|there| there.version())
    }
}
