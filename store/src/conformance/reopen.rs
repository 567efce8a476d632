//! Durability over a reopen. Skipped for backends without one.

use machinery_objects::Revision;

use super::reads::eight_writes;
use super::subject::Subject;
use super::tools::{TestStore, fresh, tx};
use crate::{KeySpan, Range, ReadError, WatchError};

/// A reopened store has all keys, values and revisions.
pub async fn a_reopened_store_has_all_entries(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    eight_writes(&store).await;
    let before = (store.now().await, store.page(Range::of(KeySpan::all())).await);
    drop(store);
    let Some(store) = subject.reopen().await.map(TestStore) else { return };
    assert_eq!((store.now().await, store.page(Range::of(KeySpan::all())).await), before);
}

/// An empty store is reopened empty, at its revision.
pub async fn an_empty_store_is_reopened_empty(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    drop(store);
    let Some(store) = subject.reopen().await.map(TestStore) else { return };
    assert_eq!((store.now().await, store.list("").await), (first, vec![]));
    assert!(store.put("a", "1").await > first);
}

/// A reopened store has its history: reads and watches at every revision return the same.
pub async fn a_reopened_store_has_its_history(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let states = eight_writes(&store).await;
    let now = store.now().await;
    let told = store.follow(KeySpan::all(), first).await.until(now).await;
    drop(store);
    let Some(store) = subject.reopen().await.map(TestStore) else { return };
    for (seen, (revision, state)) in states.iter().enumerate() {
        assert_eq!(store.list_at("/p/", *revision).await, *state, "at {revision}");
        assert_eq!(
            store.follow(KeySpan::all(), *revision).await.until(now).await,
            told[seen..],
            "after {revision}"
        );
    }
}

/// A watch resumes in the reopened store, and yields each change once.
pub async fn a_watch_resumes_in_the_reopened_store(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut watch = store.follow(KeySpan::all(), store.now().await).await;
    let heard = store.put("a", "1").await;
    assert_eq!(watch.next().await.0, heard);
    let missed = store.put("a", "2").await;
    drop((watch, store));
    let Some(store) = subject.reopen().await.map(TestStore) else { return };
    let mut watch = store.follow(KeySpan::all(), heard).await;
    assert_eq!(watch.next().await, (missed, "~a=2".to_string()));
    let deleted = store.delete("a").await;
    assert_eq!(watch.next().await, (deleted, "-a".to_string()));
}

/// Revisions continue after the used ones, over any number of reopens.
pub async fn no_revision_is_used_again(subject: &mut dyn Subject) {
    let gapless = subject.capabilities().gapless;
    let mut store = fresh(subject).await;
    let mut last = store.now().await;
    for round in 0..4 {
        let put = store.put("a", &round.to_string()).await;
        let deleted = store.delete("a").await;
        assert!(last < put && put < deleted);
        assert!(!gapless || (last.next() == put && put.next() == deleted));
        last = deleted;
        drop(store);
        let Some(reopened) = subject.reopen().await else { return };
        store = TestStore(reopened);
        assert_eq!(store.now().await, last);
    }
}

/// The revision never decreases when the store closes after or during a compaction (etcd #17780),
/// even without live entries.
pub async fn a_compaction_does_not_take_the_revision_back(subject: &mut dyn Subject) {
    let mut store = fresh(subject).await;
    for round in 0..3 {
        eight_writes(&store).await;
        for key in ["/p/a", "/p/b", "/q/a"] {
            store.delete(key).await;
        }
        let last = store.now().await;
        if round < 2 {
            store.compacted(last).await;
        } else {
            // Polled and dropped: it may be applied or not.
            let _ = futures::poll!(store.compact(last));
        }
        drop(store);
        let Some(reopened) = subject.reopen().await else { return };
        store = TestStore(reopened);
        assert_eq!(store.now().await, last);
        assert_eq!(store.list("").await, [""; 0]);
        assert!(store.put("x", "1").await > last);
        store.delete("x").await;
    }
}

/// Compacted revisions stay compacted, and others readable.
pub async fn a_compaction_survives_a_reopen(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let states = eight_writes(&store).await;
    let compacted = states[5].0;
    store.compacted(compacted).await;
    drop(store);
    let Some(store) = subject.reopen().await.map(TestStore) else { return };
    let requested = states[4].0;
    assert_eq!(
        store.unreadable(Range::of(KeySpan::all()).at(requested)).await,
        ReadError::Compacted { requested, compacted }
    );
    assert_eq!(store.unwatchable(requested).await, WatchError::Compacted { after: requested, compacted });
    for (revision, state) in &states[5..] {
        assert_eq!(store.list_at("/p/", *revision).await, *state, "at {revision}");
    }
    assert_eq!(store.follow(KeySpan::all(), compacted).await.next().await.0, states[6].0);
}

/// Conditions work as before: by revision, by absence, and unchanged since a revision before the
/// reopen.
pub async fn conditions_work_after_a_reopen(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let a = store.put("a", "1").await;
    let gone = store.put("gone", "1").await;
    store.delete("gone").await;
    drop(store);
    let Some(store) = subject.reopen().await.map(TestStore) else { return };
    store.conflict(tx().if_at("a", Revision(a.0 + 1)).put("b", *b"1")).await;
    store.conflict(tx().if_unchanged("gone", gone).put("b", *b"1")).await;
    store
        .done(
            tx().if_at("a", a)
                .if_unchanged("a", gone)
                .if_unchanged("gone", a)
                .if_absent("gone")
                .put("b", *b"1"),
        )
        .await;
}

/// Transactions of every size are recovered whole.
pub async fn large_and_small_transactions_survive_a_reopen(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    for size in [1, 10, 1000, 5000, 100_000] {
        let several =
            (0..5).fold(tx(), |tx, index| tx.put(format!("{size}/{index}"), vec![index as u8; size]));
        store.done(several.delete("none")).await;
    }
    let now = store.now().await;
    let before = store.page(Range::of(KeySpan::all())).await.entries;
    drop(store);
    let Some(store) = subject.reopen().await.map(TestStore) else { return };
    assert!(store.page(Range::of(KeySpan::all())).await.entries == before, "all values are what they were");
    let mut watch = store.follow(KeySpan::all(), first).await;
    let mut seen = first;
    while seen < now {
        let (revision, events) = watch.changes().await;
        assert_eq!(events.len(), 5, "{revision} is whole");
        seen = revision;
    }
}
