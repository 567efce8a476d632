//! The cache held against a list: it should differ in nothing but what changes meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery_objects::{Freshness, ListAt, ListRequest, Object, ObjectKey, ResourceVersion};
use tokio::time::{sleep, timeout};

use crate::informer::Shared;

/// So long a difference has to go away by itself. A watch tells within a second, but for one that is just begun again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Compares as often, for ever.
pub(crate) async fn run<T: Object>(shared: &Arc<Shared<T>>, every: Duration) {
    loop {
        sleep(every).await;
        if !shared.reached.now().synced {
            continue;
        }
        // What cannot be listed now is the reflector's trouble, too.
        let Ok(Some(differs)) = timeout(shared.limits.list_time, differing(shared)).await else { continue };
        let mut drifts = 0;
        for (key, listed) in differs {
            drifts += u64::from(!is_explained(shared, &key, listed).await);
        }
        let counts = &mut shared.report.lock().counts;
        counts.audits += 1;
        counts.drifts += drifts;
        if drifts > 0 {
            shared.anew();
        }
    }
}

/// What the list shows otherwise than the cache does as its pages come, by key; `None` if there is no list, or no end of it.
async fn differing<T: Object>(shared: &Shared<T>) -> Option<BTreeMap<ObjectKey, Option<ResourceVersion>>> {
    let mut differs = BTreeMap::new();
    let mut unlisted: BTreeMap<ObjectKey, ()> =
        shared.map.snapshot().iter().map(|(key, _)| (key.clone(), ())).collect();
    let mut request = ListRequest {
        filter: shared.filter.clone(),
        at: ListAt::Fresh(Freshness::Newest),
        limit: Some(shared.limits.page),
        rest: None,
    };
    let (mut objects, mut empty) = (0, 0);
    loop {
        let page = shared.source.list(request.clone()).await.ok()?;
        let came = page.items.len() + page.unreadable.len();
        objects += came;
        empty = if came == 0 { empty + 1 } else { 0 };
        if objects > shared.limits.objects || empty > shared.limits.empty_pages {
            return None;
        }
        for unreadable in &page.unreadable {
            unlisted.remove(&unreadable.key);
        }
        for object in page.items {
            let key = object.key();
            unlisted.remove(&key);
            let there = shared.map.get(&key).and_then(|there| there.version());
            if there != object.version() {
                differs.insert(key, object.version());
            }
        }
        request.rest = page.rest;
        if request.rest.is_none() {
            break;
        }
    }
    differs.extend(unlisted.into_keys().map(|key| (key, None)));
    Some(differs)
}

/// Whether the cache comes to what was listed, or past it, or the source to what the cache has.
async fn is_explained<T: Object>(
    shared: &Shared<T>,
    key: &ObjectKey,
    listed: Option<ResourceVersion>,
) -> bool {
    let first = shared.map.get(key).and_then(|there| there.version());
    let moves = async {
        loop {
            let listener = shared.reached.listen();
            let there = shared.map.get(key).and_then(|there| there.version());
            if there == listed || there != first {
                return;
            }
            listener.await;
        }
    };
    if timeout(PATIENCE, moves).await.is_ok() {
        return true;
    }
    // It was listed before it changed, and the cache heard of that before. A source that cannot say is asked next time.
    shared.listed(key).await.map_or(true, |now| now == first)
}
