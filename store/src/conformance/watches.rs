//! Watches: every change in order, once, whole, from any revision.

use std::sync::Arc;
use std::task::Context;

use futures::future::{Either, join_all, select};
use futures::task::{ArcWake, waker};
use futures::{FutureExt, poll};
use machinery_objects::Revision;
use machinery_sync::atomic::{AtomicBool, Ordering};
use tokio::task::{JoinSet, yield_now};

use super::subject::Subject;
use super::tools::{TestStore, fresh, texts, tx};
use crate::{KeySpan, Limits, Page, Range, Transaction, WatchError};

/// Makes six writes of every kind; returns the expected events.
async fn six_writes(store: &TestStore) -> Vec<(Revision, String)> {
    let mut told = Vec::new();
    let mut make = async |transaction: Transaction, tell: &str| {
        told.push((store.done(transaction).await.revision, tell.to_string()));
    };
    make(tx().put("a", *b"1"), "+a=1").await;
    make(tx().put("b", *b"2"), "+b=2").await;
    make(tx().put("a", *b"3"), "~a=3").await;
    make(tx().delete("b").put("c", *b"4"), "-b +c=4").await;
    make(tx().delete("a"), "-a").await;
    make(tx().put("a", *b"6").put("b", *b"6"), "+a=6 +b=6").await;
    told
}

/// A watch from the first revision yields all changes, and then new ones.
pub async fn a_watch_from_the_first_revision_yields_everything(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut expected = six_writes(&store).await;
    let mut watch = store.follow(KeySpan::all(), first).await;
    assert_eq!(watch.until(store.now().await).await, expected);
    expected = vec![(store.put("z", "7").await, "+z=7".to_string())];
    assert_eq!(watch.until(store.now().await).await, expected);
}

/// A watch from revision zero yields every change, or is refused as compacted. It has no silent
/// gap.
pub async fn a_watch_from_zero_has_no_gap(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let expected = six_writes(&store).await;
    let now = store.now().await;
    let Ok(watch) = store.watch(KeySpan::all(), Revision::ZERO).await else {
        let refused = store.unwatchable(Revision::ZERO).await;
        assert!(matches!(refused, WatchError::Compacted { after: Revision::ZERO, .. }), "{refused}");
        return;
    };
    match super::tools::WatchReader(watch).rest(now).await {
        (told, None) => assert_eq!(told, expected),
        (told, Some(error)) => {
            assert_eq!(told, []);
            assert!(matches!(error, WatchError::Compacted { .. }), "{error}");
        }
    }
}

/// A watch from the newest revision yields later changes only.
pub async fn a_watch_from_now_yields_later_changes_only(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    six_writes(&store).await;
    let mut watch = store.follow(KeySpan::all(), store.now().await).await;
    let expected = six_changes_more(&store).await;
    assert_eq!(watch.until(store.now().await).await, expected);
}

async fn six_changes_more(store: &TestStore) -> Vec<(Revision, String)> {
    let mut told = Vec::new();
    for value in ["7", "8", "9", "10", "11", "12"] {
        told.push((store.put("a", value).await, format!("~a={value}")));
    }
    told
}

/// A watch after any revision yields exactly the later changes.
pub async fn a_watch_resumes_from_every_revision(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let expected = six_writes(&store).await;
    let now = store.now().await;
    for seen in 0..=expected.len() {
        let after = if seen == 0 { first } else { expected[seen - 1].0 };
        let mut watch = store.follow(KeySpan::all(), after).await;
        assert_eq!(watch.until(now).await, expected[seen..], "after {after}");
    }
}

/// A watch that is restarted after each change yields the same as one that runs on.
pub async fn a_watch_that_is_resumed_after_each_change_misses_nothing(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut after = store.now().await;
    let expected = six_writes(&store).await;
    for change in expected {
        let next = store.follow(KeySpan::all(), after).await.next().await;
        after = next.0;
        assert_eq!(next, change);
    }
}

/// A watch of a future revision is refused with the newest revision.
pub async fn a_watch_of_the_future_is_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let current = store.put("a", "1").await;
    for after in [Revision(current.0 + 1), Revision(current.0 + 100), Revision(u64::MAX)] {
        assert_eq!(store.unwatchable(after).await, WatchError::Future { after, current });
    }
}

/// A watch of a compacted revision is refused with the compacted revision.
pub async fn a_watch_of_a_compacted_revision_is_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let revisions: Vec<Revision> =
        six_writes(&store).await.into_iter().map(|(revision, _)| revision).collect();
    let compacted = revisions[3];
    store.compacted(compacted).await;
    for after in &revisions[..3] {
        assert_eq!(store.unwatchable(*after).await, WatchError::Compacted { after: *after, compacted });
    }
    let mut watch = store.follow(KeySpan::all(), compacted).await;
    assert_eq!(watch.next().await.0, revisions[4]);
}

/// The events of a revision are one item, in the order of the transaction.
pub async fn a_revision_is_yielded_whole_and_in_order(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.done(tx().put("d", *b"0").put("b", *b"0")).await;
    let mut watch = store.follow(KeySpan::all(), store.now().await).await;
    let commit = store.done(tx().put("e", *b"1").delete("b").put("a", *b"1").put("d", *b"1")).await;
    assert_eq!(watch.next().await, (commit.revision, "+e=1 -b +a=1 ~d=1".to_string()));
    let next = store.put("a", "2").await;
    assert_eq!(watch.next().await, (next, "~a=2".to_string()));
}

/// A watch of a prefix or a key yields its keys only, also of parts of transactions.
pub async fn a_watch_yields_only_keys_of_its_span(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    store.put("/pods/foobar", "1").await;
    let both = store
        .done(tx().put("/pods/foo", *b"1").put("/pods/foo/x", *b"1").put("/nodes/a", *b"1"))
        .await
        .revision;
    store.put("/pods/fo", "1").await;
    let gone = store.done(tx().delete("/pods/foo").delete("/pods/foobar")).await.revision;
    let now = store.now().await;
    let one = store.follow(KeySpan::one("/pods/foo"), first).await.until(now).await;
    assert_eq!(one, [(both, "+/pods/foo=1".to_string()), (gone, "-/pods/foo".to_string())]);
    let directory = store.follow(KeySpan::prefix("/pods/foo/"), first).await.until(now).await;
    assert_eq!(directory, [(both, "+/pods/foo/x=1".to_string())]);
    let nodes = store.follow(KeySpan::prefix("/nodes/"), first).await.until(now).await;
    assert_eq!(nodes, [(both, "+/nodes/a=1".to_string())]);
    let prefix: Vec<String> = store
        .follow(KeySpan::prefix("/pods/foo"), first)
        .await
        .until(now)
        .await
        .into_iter()
        .map(|seen| seen.1)
        .collect();
    assert_eq!(prefix, ["+/pods/foobar=1", "+/pods/foo=1 +/pods/foo/x=1", "-/pods/foo -/pods/foobar"]);
    assert_eq!(store.follow(KeySpan::prefix("/no"), now).await.until(now).await, []);
    assert_eq!(store.follow(KeySpan::prefix("/nobody"), first).await.until(now).await, []);
}

/// A running watch of a prefix or a key yields its keys only.
pub async fn a_running_watch_yields_only_keys_of_its_span(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut one = store.follow(KeySpan::one("/pods/foo"), first).await;
    let mut directory = store.follow(KeySpan::prefix("/pods/foo/"), first).await;
    let mut nobody = store.follow(KeySpan::prefix("/nobody"), first).await;
    store.put("/pods/foobar", "1").await;
    let both = store
        .done(tx().put("/pods/foo", *b"1").put("/pods/foo/x", *b"1").put("/nodes/a", *b"1"))
        .await
        .revision;
    let gone = store.done(tx().delete("/pods/foobar").delete("/pods/foo")).await.revision;
    assert_eq!(one.until(gone).await, [(both, "+/pods/foo=1".to_string()), (gone, "-/pods/foo".to_string())]);
    assert_eq!(directory.until(gone).await, [(both, "+/pods/foo/x=1".to_string())]);
    assert_eq!(nobody.until(gone).await, []);
}

/// Each event has the previous and the new entry, and whether it created the key.
pub async fn an_event_has_the_state_before_and_after(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut watch = store.follow(KeySpan::all(), store.now().await).await;
    let mut before = None;
    for step in [Some("1"), Some("2"), Some("2"), None, Some("3")] {
        let commit = match step {
            Some(value) => store.put("a", value).await,
            None => store.delete("a").await,
        };
        let after = store.entry("a").await;
        let (revision, events) = watch.changes().await;
        assert_eq!((revision, events.len()), (commit, 1));
        assert_eq!(events[0].before, before, "at {revision}");
        assert_eq!(events[0].after().cloned(), after, "at {revision}");
        assert_eq!(events[0].is_create(), before.is_none());
        before = after;
    }
}

/// A watch that is read late yields the same events as one that is read at once.
pub async fn a_past_event_has_the_state_before_and_after(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut running = store.follow(KeySpan::all(), store.now().await).await;
    let mut late = store.follow(KeySpan::all(), store.now().await).await;
    let count = six_writes(&store).await.len();
    let mut told = Vec::new();
    for _ in 0..count {
        told.push(running.changes().await);
    }
    store.put("a", "later").await;
    store.delete("b").await;
    for expected in told {
        assert_eq!(late.changes().await, expected);
    }
}

/// A delete event has the last entry, at the deleting revision.
pub async fn a_delete_event_has_the_last_state(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("a", "1").await;
    let put = store.put("a", "2").await;
    let last = store.entry("a").await;
    let deleted = store.delete("a").await;
    let (revision, events) = store.follow(KeySpan::one("a"), put).await.changes().await;
    assert_eq!((revision, &*events[0].key().clone()), (deleted, "a"));
    assert_eq!((events[0].before.clone(), events[0].after()), (last, None));
    assert!(!events[0].is_create());
}

/// A list and a watch after it have no gap and no overlap, with four concurrent writers.
pub async fn a_list_and_a_watch_after_it_have_no_gap(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut writers = JoinSet::new();
    for writer in 0..4 {
        let store = store.clone();
        writers.spawn(async move {
            for step in 0..30 {
                let key = format!("/{}", (writer + step) % 5);
                let change = if step % 4 == 3 {
                    tx().delete(key)
                } else {
                    tx().put(key, format!("{writer}-{step}").into_bytes())
                };
                store.done(change).await;
                yield_now().await;
            }
        });
    }
    let mut views = Vec::new();
    for _ in 0..8 {
        let page = store.page(Range::of(KeySpan::prefix("/"))).await;
        let watch = store.follow(KeySpan::prefix("/"), page.at).await;
        views.push((page, watch));
        yield_now().await;
    }
    while let Some(done) = writers.join_next().await {
        done.expect("the writer is done");
    }
    let now = store.now().await;
    let expected = store.list("/").await;
    for (page, mut watch) in views {
        let mut view: std::collections::BTreeMap<_, _> =
            page.entries.iter().map(|entry| (entry.key.clone(), entry.clone())).collect();
        let mut last = page.at;
        while last < now {
            let (revision, events) = watch.changes().await;
            assert!(revision > last, "{revision} is yielded after {last}");
            last = revision;
            for event in events {
                let before = view.remove(event.key());
                assert_eq!(event.before, before, "what was before {revision} is what the watch knew");
                view.extend(event.after().map(|entry| (entry.key.clone(), entry.clone())));
            }
        }
        let seen = Page { entries: view.into_values().collect(), ..page };
        assert_eq!(texts(&seen), expected);
    }
}

/// All watches yield the same changes in the same order, from any start.
pub async fn all_watches_yield_the_same_changes(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut watches = Vec::new();
    let mut expected = Vec::new();
    for _ in 0..4 {
        watches.push((expected.len(), store.follow(KeySpan::all(), store.now().await).await));
        expected.extend(six_changes_of(&store, &format!("k{}", expected.len())).await);
    }
    let now = store.now().await;
    for (begun, mut watch) in watches {
        assert_eq!(watch.until(now).await, expected[begun..]);
    }
}

async fn six_changes_of(store: &TestStore, key: &str) -> Vec<(Revision, String)> {
    let mut told = Vec::new();
    for round in 0..3 {
        told.push((store.put(key, "x").await, format!("+{key}=x")));
        let deleted = store.delete(key).await;
        told.push((deleted, format!("-{key}")));
        assert!(round < 3);
    }
    told
}

/// A dropped `next` future loses no change.
pub async fn a_cancelled_wait_loses_no_change(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut watch = store.follow(KeySpan::all(), store.now().await).await;
    for index in 0..20 {
        // Polled once and dropped: before the change, and perhaps concurrently with it.
        assert!(poll!(Box::pin(watch.changes())).is_pending());
        let put = store.put("a", &index.to_string()).await;
        let seen = match select(Box::pin(watch.next()), Box::pin(yield_now())).await {
            Either::Left((seen, _)) => Some(seen),
            Either::Right(_) => None,
        };
        let seen = match seen {
            Some(seen) => seen,
            None => watch.next().await,
        };
        assert_eq!(seen.0, put);
    }
}

/// A pending watch is woken by its change, and by no other.
pub async fn a_pending_watch_is_woken_by_its_change(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut watch = store.follow(KeySpan::one("a"), store.now().await).await;
    let bell = Arc::new(Bell::default());
    let waker = waker(Arc::clone(&bell));
    let mut waiting = Box::pin(watch.next());
    assert!(waiting.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
    store.put("b", "1").await;
    yield_now().await;
    assert!(waiting.poll_unpin(&mut Context::from_waker(&waker)).is_pending(), "nothing has happened to `a`");
    let put = store.put("a", "1").await;
    while !bell.0.load(Ordering::SeqCst) {
        yield_now().await;
    }
    assert_eq!(waiting.await, (put, "+a=1".to_string()));
}

#[derive(Default)]
struct Bell(AtomicBool);

impl ArcWake for Bell {
    fn wake_by_ref(bell: &Arc<Self>) {
        bell.0.store(true, Ordering::SeqCst);
    }
}

/// A watch far behind finds its rare changes among many others.
pub async fn a_rare_change_is_found_among_many(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut told = Vec::new();
    for round in 0..3 {
        join_all((0..300).map(|_| async {
            store.put("/loud", "1").await;
        }))
        .await;
        told.push((store.put(&format!("/quiet/{round}"), "1").await, format!("+/quiet/{round}=1")));
    }
    let now = store.now().await;
    assert_eq!(store.follow(KeySpan::prefix("/quiet/"), first).await.until(now).await, told);
    let mut by_one = store.follow(KeySpan::prefix("/quiet/"), first).await;
    for expected in told {
        assert_eq!(by_one.next().await, expected);
    }
}

/// A dropped watch leaves no state: a thousand are opened and dropped beside a running one.
pub async fn a_watch_that_is_dropped_is_gone(subject: &mut dyn Subject) {
    let limits = Limits { watches: 8, ..Limits::default() };
    let store = TestStore(subject.open(limits).await);
    let first = store.now().await;
    let mut stays = store.follow(KeySpan::all(), first).await;
    for index in 0..1000 {
        let mut watch = store.follow(KeySpan::one("a"), first).await;
        if index % 3 == 0 {
            assert!(watch.changes().now_or_never().is_none());
        }
    }
    let put = store.put("a", "1").await;
    assert_eq!(stays.next().await, (put, "+a=1".to_string()));
}

/// Watches of overlapping keys and prefixes of several lengths yield their own keys only.
pub async fn overlapping_spans_are_distinguished(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let texts = ["", "a", "a/", "a/b", "a/bc", "a/b/", "a/b/c", "b", "ab", "é"];
    let spans: Vec<KeySpan> =
        texts.iter().flat_map(|text| [KeySpan::one(*text), KeySpan::prefix(*text)]).collect();
    let mut watches = Vec::new();
    for span in &spans {
        watches.push(store.follow(span.clone(), first).await);
    }
    let mut expected = vec![Vec::new(); spans.len()];
    for key in texts.into_iter().skip(1).chain(["a/bcd", "a/b/c/d", "c", "éa"]) {
        let put = store.put(key, "1").await;
        for (index, span) in spans.iter().enumerate() {
            if span.contains(key) {
                expected[index].push((put, format!("+{key}=1")));
            }
        }
    }
    let now = store.now().await;
    for (index, watch) in watches.iter_mut().enumerate() {
        assert_eq!(watch.until(now).await, expected[index], "{:?}", spans[index]);
    }
}
