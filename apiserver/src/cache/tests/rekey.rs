//! Edits of a running watch's keys.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinery_objects::{FieldSelector, LabelSelector, Revision};
use machinery_store::{Backend, Memory, Options, Transaction};
use serde_json::json;
use tokio::time::Instant;

use super::tools::{Running, kind, stored};
use crate::cache::{CacheWatcher, KeyField, ObjectFilter, View, WatchKeys, WatcherItem};
use crate::interest::{self, KeyLookup};
use crate::kind::Kind;
use crate::select::Selection;

fn keys(keys: &[&str]) -> BTreeSet<Arc<str>> {
    keys.iter().map(|key| Arc::from(*key)).collect()
}

fn filter(kind: &Arc<Kind>) -> ObjectFilter {
    let (labels, fields) = (LabelSelector::default(), FieldSelector::default());
    ObjectFilter { selection: Selection { kind: kind.clone(), labels, fields }, namespace: None }
}

/// Starts a watch by name.
async fn begin(running: &Running, kind: &Arc<Kind>, set: &[&str]) -> CacheWatcher {
    let first = WatchKeys { by: KeyField::Name, set: keys(set) };
    let begun = running.cache.view_and_follow(filter(kind), Some(first), None).await;
    begun.unwrap_or_else(|refusal| panic!("{}", refusal.message)).1
}

async fn put(store: &Memory, kind: &Kind, name: &str) -> Revision {
    let object = stored(kind, &json!({"metadata": {"namespace": "n", "name": name}}));
    let put = Transaction::new().put(kind.place.key(Some("n"), name), object);
    store.commit(put).await.unwrap().revision
}

fn names(view: &View, follow: &CacheWatcher) -> usize {
    view.select(follow.filter(), None).entries.len()
}

#[tokio::test]
async fn keys_change_after_pending_events_are_delivered() {
    let (store, kind) = (Memory::new(Options::default()), kind());
    let running = Running::begin(Arc::new(store.clone()), kind.clone(), 16).await;
    let mut follow = begin(&running, &kind, &["a"]).await;
    let at = put(&store, &kind, "a").await;
    running.cache.view(None).await.unwrap();

    assert!(follow.rekey(&keys(&["a"]), &keys(&["b"])).is_none(), "there is something under the old keys");
    let WatcherItem::At(revised, ..) = poll_fn(|cx| follow.poll_next(cx)).await else { panic!("it is told") };
    assert_eq!(revised.revision, at);
    let view = follow.rekey(&keys(&["a"]), &keys(&["b"])).expect("that was all");
    assert_eq!(view.at, at);
    running.stop().await;
}

#[tokio::test]
async fn events_during_indexing_are_not_lost() {
    let (store, kind) = (Memory::new(Options::default()), kind());
    let running = Running::begin(Arc::new(store.clone()), kind.clone(), 16).await;
    let mut follow = begin(&running, &kind, &["a"]).await;
    follow.index_ahead(&keys(&["a", "b", "c"]));
    assert_eq!(running.cache.terms(), 3);
    put(&store, &kind, "b").await;
    running.cache.view(None).await.unwrap();
    assert!(follow.rekey(&keys(&["a"]), &keys(&["b"])).is_none(), "it may be of interest");
    assert!(poll_fn(|cx| std::task::Poll::Ready(follow.poll_next(cx))).await.is_pending(), "it is not");
    let view = follow.rekey(&keys(&["a"]), &keys(&["b"])).expect("that was all");
    assert_eq!(names(&view, &follow), 1, "it is in what is told then");
    assert_eq!(running.cache.terms(), 1, "neither what was removed nor what was not added after all");

    let at = put(&store, &kind, "b").await;
    let WatcherItem::At(revised, ..) = poll_fn(|cx| follow.poll_next(cx)).await else { panic!("it is told") };
    assert_eq!(revised.revision, at);
    follow.index_ahead(&keys(&["d"]));
    drop(follow);
    assert!(running.cache.has_no_watches());
    running.stop().await;
}

/// The lock of a kind is not held while a hundred thousand keys are added and removed.
#[tokio::test]
async fn the_lock_is_released_while_many_keys_change() {
    let (store, kind) = (Memory::new(Options::default()), kind());
    let running = Running::begin(Arc::new(store.clone()), kind.clone(), 16).await;
    let many: BTreeSet<Arc<str>> = (0..50_000).map(|key| Arc::from(format!("k{key}"))).collect();
    let (mut follow, none) = (begin(&running, &kind, &[]).await, BTreeSet::new());
    let mut seen = [false; 4];
    let until = Instant::now() + Duration::from_secs(60);
    while seen != [true; 4] {
        assert!(Instant::now() < until, "coming, going, beginning, ending: {seen:?}");
        seen[0] |=
            is_seen_in_between(&running, || drop(follow.rekey(&none, &many).expect("nothing happens")));
        seen[1] |=
            is_seen_in_between(&running, || drop(follow.rekey(&many, &none).expect("nothing happens")));
        let (mut begun, keys) = (None, Some(WatchKeys { by: KeyField::Name, set: many.clone() }));
        seen[2] |= is_seen_in_between(&running, || {
            begun = Some(running.cache.follow(filter(&kind), keys, Revision(0)));
        });
        seen[3] |= is_seen_in_between(&running, || drop(begun));
    }
    assert_eq!(running.cache.terms(), 0);
    running.stop().await;
}

/// Returns whether another thread observes the index halfway.
fn is_seen_in_between(running: &Running, change: impl FnOnce()) -> bool {
    let (over, cache) = (AtomicBool::new(false), &running.cache);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut seen = false;
            while !over.load(Ordering::Relaxed) {
                seen |= (1..50_000).contains(&cache.terms());
            }
            seen
        });
        change();
        over.store(true, Ordering::Relaxed);
        watching.join().unwrap()
    })
}

#[tokio::test]
async fn a_slow_lookup_retains_only_its_objects() {
    let (store, kind) = (Memory::new(Options::default()), kind());
    let running = Running::begin(Arc::new(store.clone()), kind.clone(), 1).await;
    put(&store, &kind, "a").await;
    put(&store, &kind, "b").await;
    let mut follow = begin(&running, &kind, &[]).await;
    let view = follow.rekey(&keys(&[]), &keys(&["a"])).expect("nothing happens");
    let other = Arc::downgrade(view.get(&kind.place.key(Some("n"), "b")).unwrap());
    let added: BTreeSet<Arc<str>> = keys(&["a"]);
    let mut found = KeyLookup::new(view, KeyField::Name, interest::KeySet::from_iter(&added), 1);
    assert!(found.gather(follow.filter()));
    for _ in 0..3 {
        put(&store, &kind, "a").await;
        put(&store, &kind, "b").await;
    }
    let newest = put(&store, &kind, "c").await;
    running.cache.view(None).await.unwrap();
    assert!(other.upgrade().is_none(), "nobody is told of it");
    let told = found.next().unwrap();
    assert!(told.modified < newest && found.next().is_none(), "as it was then");
    running.stop().await;
}
