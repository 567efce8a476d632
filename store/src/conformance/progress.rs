//! Progress items: every change up to a revision has been yielded.

use machinery_objects::Revision;
use tokio::task::{JoinSet, yield_now};

use super::subject::Subject;
use super::tools::{WatchReader, fresh, tx};
use crate::{KeySpan, WatchItem};

async fn mark(watch: &mut WatchReader) -> Revision {
    watch.0.request_progress();
    loop {
        if let WatchItem::Progress(mark) = watch.0.next().await.expect("the watch goes on") {
            return mark;
        }
    }
}

/// An idle watch yields the requested progress, at the store's revision.
pub async fn an_idle_watch_gets_requested_progress(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut watch = store.follow(KeySpan::prefix("/quiet"), store.now().await).await;
    assert_eq!(mark(&mut watch).await, store.now().await);
    for index in 0..5 {
        let elsewhere = store.put("/loud", &index.to_string()).await;
        assert_eq!(mark(&mut watch).await, elsewhere, "what is of no interest moves the mark");
    }
}

/// A watch that is pending yields progress requested afterwards.
pub async fn progress_follows_a_pending_wait(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let now = store.put("a", "1").await;
    let mut watch = store.follow(KeySpan::all(), now).await;
    assert!(futures::poll!(Box::pin(watch.changes())).is_pending());
    assert_eq!(mark(&mut watch).await, now);
}

/// Progress follows all changes that were committed before its request.
pub async fn progress_follows_all_earlier_changes(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut watch = store.follow(KeySpan::all(), store.now().await).await;
    let mut expected = Vec::new();
    for round in 0..5 {
        for index in 0..5 {
            expected
                .push(store.done(tx().put("a", *b"1").put(format!("{round}{index}"), *b"1")).await.revision);
        }
        watch.0.request_progress();
        let later = store.put("b", "1").await;
        loop {
            match watch.0.next().await.expect("the watch goes on") {
                WatchItem::Changes { revision, .. } if revision == later => {}
                WatchItem::Changes { revision, .. } => assert_eq!(revision, expected.remove(0)),
                WatchItem::Progress(mark) => {
                    assert!(expected.is_empty(), "{mark} is marked, and {expected:?} not told");
                    break;
                }
            }
        }
        watch.until(later).await;
    }
}

/// Progress never decreases, and later changes have later revisions, during concurrent writes.
pub async fn progress_is_ordered_with_the_changes(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut watches = JoinSet::new();
    for span in [KeySpan::all(), KeySpan::prefix("/a"), KeySpan::one("/b"), KeySpan::prefix("/quiet")] {
        let mut watch = store.follow(span, first).await;
        watches.spawn(async move {
            let (mut told, mut marked, mut marks) = (first, first, 0);
            watch.0.request_progress();
            while marked.0 < first.0 + 100 {
                match watch.0.next().await.expect("the watch goes on") {
                    WatchItem::Changes { revision, .. } => {
                        assert!(revision > marked, "{revision} is yielded after the progress {marked}");
                        assert!(revision > told, "{revision} is yielded after {told}");
                        told = revision;
                    }
                    WatchItem::Progress(mark) => {
                        assert!(
                            mark >= marked && mark >= told,
                            "{mark} is reported after {marked} and {told}"
                        );
                        (marked, marks) = (mark, marks + 1);
                        assert!(marks < 300_000, "{marks} marks, and the writes do not come");
                        watch.0.request_progress();
                        yield_now().await;
                    }
                }
            }
            marks
        });
    }
    for index in 0..100 {
        let key = ["/a", "/b", "/a/c", "/d"][index % 4];
        store.put(key, "1").await;
        yield_now().await;
    }
    while let Some(marks) = watches.join_next().await {
        assert!(marks.expect("the watch is in step") > 0);
    }
}

/// A watch resumed from progress yields later changes only, even if its span was idle for long.
pub async fn a_watch_resumes_from_progress(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut watch = store.follow(KeySpan::prefix("/quiet"), store.now().await).await;
    store.put("/quiet/a", "1").await;
    for _ in 0..10 {
        store.put("/loud", "1").await;
    }
    let marked = mark(&mut watch).await;
    store.compacted(marked).await;
    let put = store.put("/quiet/a", "2").await;
    let mut resumed = store.follow(KeySpan::prefix("/quiet"), marked).await;
    assert_eq!(resumed.until(put).await, [(put, "~/quiet/a=2".to_string())]);
}

/// Many progress requests before the first read do not reorder items.
pub async fn repeated_progress_requests_are_harmless(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut watch = store.follow(KeySpan::all(), store.now().await).await;
    for _ in 0..100 {
        watch.0.request_progress();
    }
    let put = store.put("a", "1").await;
    assert_eq!(watch.until(put).await, [(put, "+a=1".to_string())]);
    let next = store.put("a", "2").await;
    assert_eq!(watch.until(next).await, [(next, "~a=2".to_string())]);
}
