//! Rare events: simultaneous alarms, a lost store watch, a load without waiters.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use machinery_objects::{FieldSelector, LabelSelector, Revision};
use machinery_store::{Backend, Memory, Options, Transaction};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::tools::{Running, kind, stored};
use crate::cache::{ObjectFilter, WatchCaches};
use crate::guard::CrossGuards;
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::select::Selection;
use crate::server::Limits;
use crate::storage::Objects;
use crate::watch::{End, Feed, Item, Plan};

fn everything(kind: &Arc<Kind>) -> ObjectFilter {
    let (labels, fields) = (LabelSelector::default(), FieldSelector::default());
    ObjectFilter { selection: Selection { kind: kind.clone(), labels, fields }, namespace: None }
}

async fn put(store: &Memory, kind: &Kind, name: &str) -> Revision {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "namespace": "a"}});
    let transaction = Transaction::new().put(kind.place.key(Some("a"), name), stored(kind, &object));
    store.commit(transaction).await.expect("it is committed").revision
}

/// Each watch ends at its deadline, between any two ticks and next to other alarms.
#[tokio::test(start_paused = true)]
async fn watches_with_close_deadlines_all_end() {
    let (store, kind) = (Memory::new(Options::default()), kind());
    let running = Running::begin(Arc::new(store.clone()), kind.clone(), 64).await;
    let now = Instant::now();
    let mut feeds = Vec::new();
    for after in [1000, 1001, 1050, 1099, 1100, 1101, 1250, 61_000, 61_099, 130_050] {
        let until = now + Duration::from_millis(after);
        let follow = running.cache.follow(everything(&kind), None, Revision(1));
        let bookmarks = after % 2 == 0;
        feeds.push((after, until, Feed::after(follow, Revision(1), Plan { bookmarks, until })));
    }
    // Each in its own task, which is polled only when woken.
    let mut ends = JoinSet::new();
    let end = |(after, until, feed): (u64, Instant, Feed)| async move {
        let marks = feed.filter(|item| std::future::ready(matches!(item, Ok(Item::Changed(_))))).count();
        let marks = tokio::time::timeout(Duration::from_secs(600), marks);
        assert_eq!(marks.await.unwrap_or_else(|_| panic!("{after} ms: it does not end")), 0);
        let late = Instant::now().duration_since(until);
        assert!(late <= Duration::from_millis(200), "{after} ms: it ends {late:?} late");
        assert!(Instant::now() >= until, "{after} ms: it ends before its time");
    };
    feeds.into_iter().for_each(|feed| drop(ends.spawn(end(feed))));
    // Advances the clock to times between ticks.
    let ticking = async {
        loop {
            tokio::time::advance(Duration::from_millis(37)).await;
        }
    };
    tokio::select! {
        biased;
        _ = ends.join_all() => {}
        () = ticking => {}
    }
    assert!(running.cache.has_no_watches());
    running.stop().await;
}

/// A bookmark is sent once a minute and before the end, only if requested.
#[tokio::test(start_paused = true)]
async fn bookmarks_are_sent_each_minute_and_before_the_end() {
    let (store, kind) = (Memory::new(Options::default()), kind());
    let running = Running::begin(Arc::new(store.clone()), kind.clone(), 64).await;
    let until = Instant::now() + Duration::from_secs(150);
    for (bookmarks, until, expected) in [(true, until, 3), (false, until + Duration::from_secs(150), 0)] {
        let mut told = Vec::new();
        let after = store.revision().await.expect("it is open");
        let follow = running.cache.follow(everything(&kind), None, after);
        let mut feed = Feed::after(follow, after, Plan { bookmarks, until });
        // A write of another kind advances the revision without events for this watch.
        let other = async {
            for at in 0..14 {
                tokio::time::sleep(Duration::from_secs(10)).await;
                let put = Transaction::new().put("other", vec![at]);
                store.commit(put).await.expect("it is committed");
            }
        };
        let watch = async {
            while let Some(Ok(item)) = feed.next().await {
                match item {
                    Item::Bookmark(revision, false) => told.push(revision),
                    _ => panic!("nothing else happens"),
                }
            }
        };
        tokio::join!(other, watch);
        assert_eq!(told.len(), expected, "{told:?}");
        assert!(told.is_sorted_by(|a, b| a < b), "{told:?}");
    }
    running.stop().await;
}

/// A cache that was too slow for the store stops, its watches end without an error, and the next
/// request gets a new cache.
#[tokio::test]
async fn a_cache_whose_store_watch_is_lost_is_replaced() {
    let (store, kind) = (Memory::new(Options::default()), kind());
    let (tasks, stopping, limits) = (TaskTracker::new(), CancellationToken::new(), Limits::default());
    let objects = Objects::new(Arc::new(store.clone()));
    let caches =
        WatchCaches::new((objects, CrossGuards::default()), &limits, tasks.clone(), stopping.clone(), 7);
    let metrics = Metrics::new(&limits);
    let cache = caches.of(&kind, &metrics).await.unwrap_or_else(|refusal| panic!("{}", refusal.message));
    let filter = everything(&kind);
    let plan = Plan { bookmarks: false, until: Instant::now() + Duration::from_secs(3600) };
    let begun = caches.view_and_follow(&filter, None, &metrics, None).await;
    let (view, follow) = begun.unwrap_or_else(|refusal| panic!("{}", refusal.message));
    let mut feed = Feed::with_state(follow, Vec::new(), view.at, End::Silent, plan);

    // The cache's task does not run in between.
    let before = put(&store, &kind, "one").await;
    let last = put(&store, &kind, "two").await;
    store.compact(last).await.expect("it is compacted");

    let view =
        caches.view(&kind, &metrics, None).await.unwrap_or_else(|refusal| panic!("{}", refusal.message));
    assert!(view.at >= last && before < last);
    assert_eq!(view.select(&filter, None).entries.len(), 2, "what is there is listed");
    assert!(cache.is_ended(), "it missed what was compacted");
    assert!(feed.next().await.is_none(), "a watch ends, and its client goes on from where it was");

    drop((feed, cache));
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    assert!(caches.is_empty(), "nothing is kept of what ended");
}

/// Loading a cache continues without its first caller.
#[tokio::test]
async fn a_cache_loads_without_waiters() {
    let (store, kind) = (Memory::new(Options::default()), kind());
    for at in 0..2000 {
        put(&store, &kind, &format!("w{at}")).await;
    }
    let (tasks, stopping, limits) = (TaskTracker::new(), CancellationToken::new(), Limits::default());
    let caches = WatchCaches::new(
        (Objects::new(Arc::new(store)), CrossGuards::default()),
        &limits,
        tasks.clone(),
        stopping.clone(),
        7,
    );
    let metrics = Metrics::new(&limits);
    for _ in 0..3 {
        // Each caller is dropped after one poll.
        let asked = futures::FutureExt::now_or_never(caches.of(&kind, &metrics));
        assert!(asked.is_none(), "it takes longer than that");
    }
    let view =
        caches.view(&kind, &metrics, None).await.unwrap_or_else(|refusal| panic!("{}", refusal.message));
    assert_eq!(view.select(&everything(&kind), None).entries.len(), 2000);

    // The cache stops with its kind, also if requested late.
    let _ = kind.replaced.set(view.at);
    for _ in 0..2 {
        let cache = caches.of(&kind, &metrics).await.unwrap_or_else(|refusal| panic!("{}", refusal.message));
        while !cache.is_ended() {
            tokio::task::yield_now().await;
        }
    }
    tasks.close();
    tasks.wait().await;
    assert!(caches.is_empty(), "nothing is kept of a kind that is no more");
}
