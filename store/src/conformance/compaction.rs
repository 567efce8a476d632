//! Compaction: it drops history only, and reads and watches notice.

use machinery_objects::Revision;
use tokio::task::{JoinSet, yield_now};

use super::reads::eight_writes;
use super::subject::Subject;
use super::tools::{describe, fresh, tx};
use crate::{CompactError, KeySpan, Range, ReadError, WatchError, WatchItem};

/// Reads below the compacted revision are refused with that revision; reads at it and above are
/// unaffected.
pub async fn reads_below_a_compaction_are_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let states = eight_writes(&store).await;
    for (compacted, _) in states.iter().skip(1).step_by(2) {
        store.compacted(*compacted).await;
        for (revision, state) in &states {
            if revision < compacted {
                let refused = store.unreadable(Range::of(KeySpan::all()).at(*revision)).await;
                assert_eq!(refused, ReadError::Compacted { requested: *revision, compacted: *compacted });
            } else {
                assert_eq!(
                    store.list_at("/p/", *revision).await,
                    *state,
                    "at {revision}, compacted {compacted}"
                );
            }
        }
    }
}

/// Compaction takes no revision, and watches yield nothing for it.
pub async fn a_compaction_is_not_a_change(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let put = store.put("a", "1").await;
    let mut watch = store.follow(KeySpan::all(), put).await;
    store.compacted(put).await;
    assert_eq!(store.now().await, put);
    let next = store.put("a", "2").await;
    assert_eq!(watch.until(next).await, [(next, "~a=2".to_string())]);
}

/// Live entries survive any compaction, with their revisions, however old they are.
pub async fn compaction_never_removes_a_live_entry(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("old", "1").await;
    let many = (0..50).fold(tx(), |tx, index| tx.put(format!("k{index:02}"), *b"1"));
    store.done(many).await;
    let before = store.page(Range::of(KeySpan::all())).await.entries;
    for _ in 0..3 {
        for index in 0..10 {
            store.put("z", &index.to_string()).await;
        }
        store.compacted(store.now().await).await;
        let after = store.page(Range::of(KeySpan::all())).await.entries;
        assert_eq!(after[..50], before[..50]);
        assert_eq!(after[50..51], before[50..]);
        assert_eq!(&*after[51].key, "z");
    }
}

/// Compacting again to the same revision or below does nothing and succeeds.
pub async fn a_compaction_can_be_repeated(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let states = eight_writes(&store).await;
    let compacted = states[4].0;
    store.compacted(compacted).await;
    for again in [compacted, states[2].0, first, Revision::ZERO] {
        store.compacted(again).await;
        assert_eq!(store.list_at("/p/", compacted).await, states[4].1);
        let refused = store.unreadable(Range::of(KeySpan::all()).at(states[3].0)).await;
        assert_eq!(
            refused,
            ReadError::Compacted { requested: states[3].0, compacted },
            "it does not go back"
        );
    }
}

/// A future revision cannot be compacted.
pub async fn the_future_cannot_be_compacted(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let current = store.put("a", "1").await;
    for requested in [Revision(current.0 + 1), Revision(u64::MAX)] {
        assert_eq!(store.compact(requested).await, Err(CompactError::Future { requested, current }));
    }
    assert_eq!(store.list_at("", current).await, ["a=1"]);
}

/// A compaction to the newest revision leaves one readable state, and writes continue from it.
pub async fn the_whole_history_can_be_compacted(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let states = eight_writes(&store).await;
    let (last, state) = &states[states.len() - 1];
    store.compacted(*last).await;
    assert_eq!(store.list_at("/p/", *last).await, *state);
    let put = store.put("/p/z", "1").await;
    assert!(put > *last);
    assert_eq!(store.follow(KeySpan::all(), *last).await.until(put).await, [(put, "+/p/z=1".to_string())]);
}

/// A compaction at a delete (etcd #18089): the key is absent at that revision, a running watch
/// yields the delete or ends as too slow, and the next put creates the key.
pub async fn a_compaction_on_a_delete_loses_no_delete(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let put = store.put("a", "1").await;
    let mut before = store.follow(KeySpan::all(), put).await;
    let behind = store.follow(KeySpan::all(), put).await;
    let deleted = store.delete("a").await;
    assert_eq!(before.next().await, (deleted, "-a".to_string()));
    store.compacted(deleted).await;
    assert_eq!(store.list_at("", deleted).await, [""; 0]);
    let refused = store.unreadable(Range::of(KeySpan::one("a")).at(put)).await;
    assert_eq!(refused, ReadError::Compacted { requested: put, compacted: deleted });
    assert_eq!(store.unwatchable(put).await, WatchError::Compacted { after: put, compacted: deleted });
    match behind.rest(deleted).await {
        (told, None) => assert_eq!(told, [(deleted, "-a".to_string())]),
        (told, Some(error)) => {
            assert!(told.len() < 2);
            assert!(matches!(error, WatchError::TooSlow { .. }), "{error}");
        }
    }
    let again = store.put("a", "2").await;
    assert_eq!(before.next().await, (again, "+a=2".to_string()));
    assert_eq!(store.follow(KeySpan::all(), deleted).await.next().await, (again, "+a=2".to_string()));
}

/// A watch that starts at the compacted revision (etcd #19179) yields the delete right after it,
/// with the last state.
pub async fn a_watch_at_the_compaction_yields_the_next_delete(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("b", "1").await;
    let put = store.put("a", "1").await;
    let last = store.entry("a").await;
    let deleted = store.delete("a").await;
    let also = store.delete("b").await;
    store.compacted(put).await;
    let mut watch = store.follow(KeySpan::all(), put).await;
    let (revision, events) = watch.changes().await;
    assert_eq!((revision, describe(&events)), (deleted, "-a".to_string()));
    assert_eq!(events[0].before, last, "compaction does not take the state that a later event needs");
    assert_eq!(watch.next().await, (also, "-b".to_string()));
    // One revision further: now the watch starts at the delete itself.
    store.compacted(deleted).await;
    assert_eq!(store.follow(KeySpan::all(), deleted).await.next().await, (also, "-b".to_string()));
    assert_eq!(store.unwatchable(put).await, WatchError::Compacted { after: put, compacted: deleted });
}

/// After a compaction every event still has the previous state.
pub async fn events_after_a_compaction_have_the_state_before(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let states = eight_writes(&store).await;
    let mut watch = store.follow(KeySpan::all(), first).await;
    let mut all = Vec::new();
    for _ in 1..states.len() {
        all.push(watch.changes().await);
    }
    for behind in 1..states.len() {
        store.compacted(states[behind].0).await;
        let mut watch = store.follow(KeySpan::all(), states[behind].0).await;
        for expected in &all[behind..] {
            assert_eq!(watch.changes().await, *expected);
        }
    }
}

/// Compaction while watches lag (etcd #17529): with concurrent writes and compactions, fast and
/// slow watches yield every change without a gap, or end as too slow.
pub async fn compaction_while_watches_lag_makes_no_gap(subject: &mut dyn Subject) {
    const WRITES: usize = 120;
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut revisions = Vec::new();
    let mut readers = JoinSet::new();
    for pace in [0, 0, 1, 3, 10] {
        let mut watch = store.follow(KeySpan::prefix("/w"), first).await;
        readers.spawn(async move {
            let mut heard = Vec::new();
            while heard.len() < WRITES {
                match watch.0.next().await {
                    Ok(WatchItem::Changes { revision, events }) => heard.push((revision, events.len())),
                    Ok(WatchItem::Progress(_)) => {}
                    Err(WatchError::TooSlow { seen, compacted }) => {
                        assert!(seen < compacted);
                        return (heard, Some(seen));
                    }
                    Err(other) => panic!("a slow watch is ended as slow, and not: {other}"),
                }
                for _ in 0..pace {
                    yield_now().await;
                }
            }
            (heard, None)
        });
    }
    for index in 0..WRITES {
        let key = format!("/w/{}", index % 3);
        revisions
            .push((store.done(tx().put(key, *b"1").put("/w", *b"1").put("/v", *b"1")).await.revision, 2));
        if index % 7 == 6 {
            store.compacted(revisions[index - 3].0).await;
        }
        yield_now().await;
    }
    while let Some(reader) = readers.join_next().await {
        let (heard, ended) = reader.expect("the reader is content");
        assert_eq!(heard, revisions[..heard.len()], "no gap");
        if let Some(seen) = ended {
            assert!(heard.last().is_none_or(|last| last.0 <= seen), "ended at {seen}");
        }
    }
}

/// Progress during compaction (etcd #15220): a progress item never precedes an earlier change.
pub async fn progress_stays_ordered_during_compaction(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut watch = store.follow(KeySpan::prefix("/w"), first).await;
    let mut marked = first;
    for round in 0..20 {
        store.put("/other", "1").await;
        let put = store.put("/w", &round.to_string()).await;
        watch.0.request_progress();
        // Not beyond the revision of the watch, so that it is not too slow.
        store.compacted(marked).await;
        let mut heard = Vec::new();
        loop {
            match watch.0.next().await.expect("the watch goes on") {
                WatchItem::Changes { revision, .. } => heard.push(revision),
                WatchItem::Progress(mark) if mark >= put => {
                    assert_eq!(heard, [put], "the mark {mark} comes behind the change");
                    marked = mark;
                    break;
                }
                WatchItem::Progress(mark) => assert!(mark >= marked, "the mark {mark} is before {marked}"),
            }
        }
    }
}

/// A read at a revision that is being compacted returns the exact state or is refused.
pub async fn a_read_beside_a_compaction_is_right_or_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut states = Vec::new();
    for index in 0..40 {
        let value = index.to_string().into_bytes();
        let commit = store.done(tx().put("a", value.clone()).put("b", value.clone()).put("c", value)).await;
        states.push((commit.revision, index));
    }
    let mut readers = JoinSet::new();
    for reader in 0..4 {
        let (store, states) = (store.clone(), states.clone());
        readers.spawn(async move {
            for (revision, value) in states.into_iter().skip(reader) {
                match store.range(Range::of(KeySpan::all()).at(revision)).await {
                    Ok(page) => {
                        let expected = [format!("a={value}"), format!("b={value}"), format!("c={value}")];
                        assert_eq!(super::tools::texts(&page), expected, "at {revision}");
                    }
                    Err(ReadError::Compacted { requested, compacted }) => {
                        assert!(requested == revision && compacted > requested)
                    }
                    Err(other) => panic!("{other}"),
                }
                yield_now().await;
            }
        });
    }
    for (revision, _) in states {
        store.compacted(revision).await;
        yield_now().await;
    }
    while let Some(reader) = readers.join_next().await {
        reader.expect("the reader is content");
    }
}
