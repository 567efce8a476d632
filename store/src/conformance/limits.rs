//! Limits, and the errors of exceeding them.

use super::subject::Subject;
use super::tools::{TestStore, fresh, tx};
use crate::{CommitError, KeySpan, Limits, Range, Transaction, WatchError};

fn ops(conditions: usize, puts: usize, deletes: usize) -> Transaction {
    let tx = (0..conditions).fold(tx(), |tx, index| tx.if_absent(format!("c{index}")));
    let tx = (0..puts).fold(tx, |tx, index| tx.put(format!("p{index}"), *b"1"));
    (0..deletes).fold(tx, |tx, index| tx.delete(format!("d{index}")))
}

/// A hundred conditions and operations, in any mix, are accepted.
pub async fn operations_up_to_the_limit_are_accepted(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for (conditions, puts, deletes) in [(100, 0, 0), (0, 100, 0), (0, 0, 100), (40, 30, 30)] {
        store.done(ops(conditions, puts, deletes)).await;
    }
    assert_eq!(Limits::default().operations, 100);
}

/// One operation more than the limit is refused with an error that states both numbers.
pub async fn operations_beyond_the_limit_are_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for (conditions, puts, deletes) in [(101, 0, 0), (0, 101, 0), (0, 0, 101), (41, 30, 30)] {
        let refused = store.refused(ops(conditions, puts, deletes)).await;
        assert_eq!(refused, CommitError::TooManyOperations { count: 101, limit: 100 });
    }
    assert_eq!(store.list("").await, [""; 0]);
}

/// An empty key is refused in every position.
pub async fn an_empty_key_is_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    for asked in [
        tx().put("", *b"1"),
        tx().delete(""),
        tx().put("a", *b"1").delete(""),
        tx().if_absent("").put("a", *b"1"),
        tx().if_unchanged("", first).put("a", *b"1"),
    ] {
        assert_eq!(store.refused(asked).await, CommitError::EmptyKey);
    }
    assert_eq!(store.list("").await, [""; 0]);
}

/// A key of the maximum size is accepted; one byte more is refused.
pub async fn too_large_a_key_is_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let limit = Limits::default().key_bytes;
    let (fits, large) = ("k".repeat(limit), "k".repeat(limit + 1));
    store.put(&fits, "1").await;
    let error = CommitError::TooLarge { what: "key", bytes: limit + 1, limit };
    assert_eq!(store.refused(tx().put(large.as_str(), *b"1")).await, error);
    assert_eq!(store.refused(tx().delete(large.as_str())).await, error);
    assert_eq!(store.refused(tx().if_absent(large.as_str()).put("a", *b"1")).await, error);
    assert_eq!(store.entry(&fits).await.expect("it is there").key.len(), limit);
}

/// A value of the maximum size is stored unchanged; one byte more is refused.
pub async fn too_large_a_value_is_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let limit = Limits::default().value_bytes;
    let fits: Vec<u8> = (0..limit).map(|index| (index * 31 % 251) as u8).collect();
    store.done(tx().put("a", fits.as_slice())).await;
    let refused = store.refused(tx().put("b", vec![0; limit + 1])).await;
    assert_eq!(refused, CommitError::TooLarge { what: "value", bytes: limit + 1, limit });
    assert!(*store.entry("a").await.expect("it is there").value == fits[..], "it comes back whole");
}

/// The keys and values of a transaction have a limit together.
pub async fn too_large_a_transaction_is_refused(subject: &mut dyn Subject) {
    let limits = Limits { transaction_bytes: 1000, ..Limits::default() };
    let store = TestStore(subject.open(limits).await);
    let of = |bytes: usize| tx().put("a", vec![1; 500]).put("b", vec![1; bytes - 502]);
    store.done(of(1000)).await;
    let refused = store.refused(of(1001)).await;
    assert_eq!(refused, CommitError::TooLarge { what: "transaction", bytes: 1001, limit: 1000 });
    assert_eq!(store.entry("b").await.expect("it is there").value.len(), 498);
}

/// The quota refuses growth with an error of its own; reads, deletes and compaction still work, and
/// free space.
pub async fn the_quota_has_a_way_out(subject: &mut dyn Subject) {
    if !subject.capabilities().quota {
        return;
    }
    let quota = 20_000;
    let store = TestStore(subject.open(Limits { quota_bytes: quota, ..Limits::default() }).await);
    let mut refused = None;
    for index in 0..100 {
        match store.commit(tx().put(format!("k{index:02}"), vec![b'x'; 1000])).await {
            Ok(_) => {}
            Err(error) => {
                refused = Some((index, error));
                break;
            }
        }
    }
    let (count, error) = refused.expect("a hundred values of a thousand bytes are more than the quota");
    assert!((10..20).contains(&count), "{count} values were taken");
    match error {
        CommitError::QuotaExceeded { used, quota: limit } => {
            assert!(limit == quota && used > quota, "{used}, {limit}")
        }
        other => panic!("the quota is exceeded, and not: {other}"),
    }
    assert_eq!(store.page(Range::of(KeySpan::all())).await.entries.len(), count);
    for index in 0..5 {
        store.delete(&format!("k{index:02}")).await;
    }
    let now = store.now().await;
    store.compacted(now).await;
    store.done(tx().put("k00", vec![b'x'; 1000])).await;
    assert_eq!(store.list("").await.len(), count - 4);
}

/// Beyond the quota, existing entries can be changed within the reserve if they hardly grow; new
/// keys are refused.
pub async fn existing_entries_can_be_marked_beyond_the_quota(subject: &mut dyn Subject) {
    if !subject.capabilities().quota {
        return;
    }
    let quota = 200_000;
    let store = TestStore(subject.open(Limits { quota_bytes: quota, ..Limits::default() }).await);
    let value = |bytes: usize| vec![b'x'; bytes];
    for (name, bytes) in [("k", 10_000), ("l", 100), ("m", 1)] {
        for index in 0.. {
            if store.commit(tx().put(format!("{name}{index:02}"), value(bytes))).await.is_err() {
                break;
            }
            assert!(index < 1000, "it is full at last");
        }
    }
    for too_much in [
        tx().put("another", *b""),
        tx().put("k00", value(10)).put("another", *b""),
        tx().put("k00", value(14_097)),
    ] {
        let refused = store.refused(too_much).await;
        assert!(
            matches!(refused, CommitError::QuotaExceeded { used, quota: of } if of == quota && used > quota)
        );
    }
    store.done(tx().put("k00", value(10)).delete("k01")).await;
    store.done(tx().put("k02", value(14_096))).await;
    let mut marks = 0;
    let refused = loop {
        match store.commit(tx().put("k03", value(1000))).await {
            Ok(_) => marks += 1,
            Err(error) => break error,
        }
        assert!(marks < 100, "the reserve ends, too");
    };
    assert!(marks > 5 && matches!(refused, CommitError::QuotaExceeded { .. }), "{marks}: {refused}");
    store.delete("k04").await;
    let now = store.now().await;
    store.compacted(now).await;
    store.done(tx().put("new", value(10_000))).await;
}

/// Old versions count: repeated puts of one key reach the quota, and compaction alone frees space.
pub async fn old_versions_count_for_the_quota(subject: &mut dyn Subject) {
    if !subject.capabilities().quota {
        return;
    }
    let store = TestStore(subject.open(Limits { quota_bytes: 20_000, ..Limits::default() }).await);
    let put = || tx().put("a", vec![b'x'; 1000]);
    let mut taken = 0;
    while store.commit(put()).await.is_ok() {
        taken += 1;
        assert!(taken < 100, "a hundred versions are more than the quota");
    }
    let now = store.now().await;
    store.compacted(now).await;
    store.done(put()).await;
}

/// Watches beyond the limit are refused, and accepted again after one is dropped.
pub async fn watches_beyond_the_limit_are_refused(subject: &mut dyn Subject) {
    if !subject.capabilities().counts_watches {
        return;
    }
    let store = TestStore(subject.open(Limits { watches: 3, ..Limits::default() }).await);
    let first = store.now().await;
    let mut watches = Vec::new();
    for _ in 0..3 {
        watches.push(store.follow(KeySpan::all(), first).await);
    }
    let refused = store.watch(KeySpan::all(), first).await.err();
    assert_eq!(refused, Some(WatchError::TooMany { limit: 3 }));
    watches.pop();
    let mut fourth = store.follow(KeySpan::all(), first).await;
    let put = store.put("a", "1").await;
    assert_eq!(fourth.next().await, (put, "+a=1".to_string()));
}
