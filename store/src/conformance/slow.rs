//! Watches that are read slowly or not at all.

use futures::FutureExt;
use machinery_objects::Revision;
use tokio::task::yield_now;

use super::subject::{Capabilities, Subject};
use super::tools::{TestStore, fresh, tx};
use crate::{KeySpan, WatchError};

/// Puts `a` more often than any watch buffers; returns the expected events.
async fn flood(store: &TestStore, capabilities: Capabilities) -> Vec<(Revision, String)> {
    let mut told = Vec::new();
    for index in 0..capabilities.buffered_revisions + 50 {
        let sign = if told.is_empty() { '+' } else { '~' };
        told.push((store.put("a", &index.to_string()).await, format!("{sign}a={index}")));
    }
    told
}

/// A watch that is read late yields every change in order, if nothing was compacted.
pub async fn a_late_reader_gets_everything(subject: &mut dyn Subject) {
    let capabilities = subject.capabilities();
    let store = fresh(subject).await;
    let watch = store.follow(KeySpan::all(), store.now().await).await;
    let expected = flood(&store, capabilities).await;
    assert_eq!(watch.rest(store.now().await).await, (expected, None));
}

/// A watch behind the compaction ends with an error that has its revision, and never has a gap.
pub async fn a_slow_watch_is_ended_and_has_no_gap(subject: &mut dyn Subject) {
    let capabilities = subject.capabilities();
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut watch = store.follow(KeySpan::all(), first).await;
    let early = store.put("b", "1").await;
    assert_eq!(watch.next().await, (early, "+b=1".to_string()));
    let expected = flood(&store, capabilities).await;
    let now = store.now().await;
    store.compacted(now).await;
    let (told, error) = watch.rest(now).await;
    assert_eq!(told, expected[..told.len()], "the yielded changes have no gap");
    let reached = told.last().map_or(early, |last| last.0);
    match error {
        Some(WatchError::TooSlow { seen, compacted }) => {
            assert!(seen >= reached && seen < now, "seen {seen}, yielded up to {reached}");
            assert_eq!(compacted, now);
        }
        other => panic!("the watch is too slow, and not: {other:?}"),
    }
}

/// After a watch has ended as too slow, a list and a new watch work.
pub async fn a_slow_watch_can_relist_and_restart(subject: &mut dyn Subject) {
    let capabilities = subject.capabilities();
    let store = fresh(subject).await;
    let watch = store.follow(KeySpan::all(), store.now().await).await;
    flood(&store, capabilities).await;
    let now = store.now().await;
    store.compacted(now).await;
    let (_, error) = watch.rest(now).await;
    assert!(matches!(error, Some(WatchError::TooSlow { .. })), "{error:?}");
    let mut anew = store.follow(KeySpan::all(), now).await;
    let put = store.put("b", "1").await;
    assert_eq!(anew.next().await, (put, "+b=1".to_string()));
}

/// A slow watch does not affect another one, which yields every change through all compactions.
pub async fn a_slow_watch_does_not_affect_other_watches(subject: &mut dyn Subject) {
    let capabilities = subject.capabilities();
    let store = fresh(subject).await;
    let first = store.now().await;
    let slow = store.follow(KeySpan::all(), first).await;
    let mut quick = store.follow(KeySpan::all(), first).await;
    for index in 0..capabilities.buffered_revisions + 50 {
        let put = store.put("a", &index.to_string()).await;
        assert_eq!(quick.next().await.0, put);
        if index % 10 == 9 {
            store.compacted(put).await;
        }
    }
    let (_, error) = slow.rest(store.now().await).await;
    assert!(matches!(error, Some(WatchError::TooSlow { .. })), "{error:?}");
}

/// Fifty unread watches block neither writers nor a watch that is read.
pub async fn fifty_unread_watches_block_nobody(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut idle = Vec::new();
    for _ in 0..50 {
        idle.push(store.follow(KeySpan::all(), first).await);
    }
    let mut read = store.follow(KeySpan::all(), first).await;
    for index in 0..22 {
        let put = store.put("a", &index.to_string()).await;
        assert_eq!(read.next().await.0, put);
    }
    let now = store.now().await;
    for watch in idle {
        assert_eq!(watch.rest(now).await.0.len(), 22);
    }
}

/// A watch that has caught up survives any compaction: idle is not slow.
pub async fn an_idle_watch_outlives_compaction(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    // A dropped watch leaves no state that this one could inherit.
    drop(store.follow(KeySpan::prefix("/loud"), store.now().await).await);
    let mut caught_up = store.follow(KeySpan::prefix("/quiet"), store.now().await).await;
    let put = store.put("/quiet/a", "1").await;
    assert_eq!(caught_up.until(put).await, [(put, "+/quiet/a=1".to_string())]);
    for _ in 0..5 {
        for index in 0..20 {
            store.put("/loud", &index.to_string()).await;
        }
        store.compacted(store.now().await).await;
        yield_now().await;
        assert!(caught_up.changes().now_or_never().is_none(), "nothing has happened to it");
    }
    let put = store.put("/quiet/a", "2").await;
    assert_eq!(caught_up.next().await, (put, "~/quiet/a=2".to_string()));
}

/// Watches with different lags yield changes without a gap; only those behind the compaction end.
pub async fn only_watches_behind_the_compaction_end(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut revisions = Vec::new();
    let mut watches = Vec::new();
    for _ in 0..10 {
        watches.push(store.follow(KeySpan::all(), *revisions.last().unwrap_or(&first)).await);
        revisions.push(store.done(tx().put("a", *b"1")).await.revision);
    }
    store.compacted(revisions[4]).await;
    let now = store.now().await;
    for (begun, watch) in watches.into_iter().enumerate() {
        let (told, error) = watch.rest(now).await;
        let told: Vec<Revision> = told.into_iter().map(|seen| seen.0).collect();
        assert_eq!(told, revisions[begun..begun + told.len()], "begun behind {begun}");
        match error {
            None => assert_eq!(told.len(), 10 - begun, "begun behind {begun}"),
            Some(WatchError::TooSlow { .. }) => assert!(begun < 5, "begun behind {begun}"),
            Some(other) => panic!("begun behind {begun}: {other}"),
        }
    }
}
