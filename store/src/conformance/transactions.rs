//! Transactions of several keys.

use super::subject::Subject;
use super::tools::{fresh, tx};
use crate::{CommitError, Condition, KeySpan, Operation, Transaction};

/// All changes of a transaction have one revision, and the answer has the previous entry of each
/// operation.
pub async fn a_transaction_has_one_revision(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("a", "1").await;
    store.put("c", "1").await;
    let (a, c) = (store.entry("a").await, store.entry("c").await);
    let commit = store.done(tx().put("b", *b"2").delete("c").delete("x").put("a", *b"2")).await;
    assert_eq!(commit.before, [None, c, None, a]);
    for key in ["a", "b"] {
        assert_eq!(store.entry(key).await.expect("it is there").modified, commit.revision);
    }
    assert_eq!(store.list("").await, ["a=2", "b=2"]);
}

/// Deletes of absent keys in a transaction yield no events.
pub async fn no_op_operations_yield_no_events(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let commit = store.done(tx().delete("x").put("a", *b"1").delete("y")).await;
    assert!(commit.changed);
    let told = store.follow(KeySpan::all(), first).await.until(commit.revision).await;
    assert_eq!(told, [(commit.revision, "+a=1".to_string())]);
}

/// A transaction with a failed condition, in any position, has no effect.
pub async fn a_refused_transaction_has_no_effect(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let a = store.put("a", "1").await;
    let before = (store.now().await, store.list("").await);
    for place in 0..3 {
        let mut asked = tx().if_at("a", a).if_absent("b").put("a", *b"2").put("b", *b"2").delete("c");
        asked.conditions.insert(place, Condition::Absent("a".into()));
        assert_eq!(store.conflict(asked).await.condition, place);
    }
    assert_eq!((store.now().await, store.list("").await), before);
    let next = store.put("z", "1").await;
    let told = store.follow(KeySpan::all(), a).await.until(next).await;
    assert_eq!(told, [(next, "+z=1".to_string())], "nobody hears of what was refused");
}

/// Two keys are swapped in one step, and no read sees an intermediate state.
pub async fn keys_can_be_swapped(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let both = store.done(tx().put("a", *b"1").put("b", *b"2")).await.revision;
    let swap = tx().if_at("a", both).if_at("b", both).put("a", *b"2").put("b", *b"1");
    let swapped = store.done(swap).await.revision;
    assert_eq!(store.list_at("", both).await, ["a=1", "b=2"]);
    assert_eq!(store.list_at("", swapped).await, ["a=2", "b=1"]);
}

/// Two operations on one key are refused, whatever they are.
pub async fn a_repeated_key_is_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("a", "1").await;
    let put = || Operation::Put("a".into(), (*b"2").into());
    let delete = || Operation::Delete("a".into());
    let other = || Operation::Put("b".into(), (*b"2").into());
    for operations in [
        vec![put(), put()],
        vec![put(), other(), delete()],
        vec![delete(), other(), put()],
        vec![other(), delete(), delete()],
    ] {
        let refused = store.refused(Transaction { conditions: vec![], operations }).await;
        assert_eq!(refused, CommitError::RepeatedKey { key: "a".into() });
    }
    assert_eq!(store.list("").await, ["a=1"]);
}

/// A transaction of the maximum size stores every key and value.
pub async fn a_transaction_at_the_limit_is_applied_whole(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let full =
        (0..100).fold(tx(), |full, index| full.put(format!("k{index:02}"), format!("v{index}").into_bytes()));
    let commit = store.done(full).await;
    assert_eq!(commit.before, vec![None; 100]);
    let expected: Vec<String> = (0..100).map(|index| format!("k{index:02}=v{index}")).collect();
    assert_eq!(store.list("").await, expected);
    let (revision, events) = store.follow(KeySpan::all(), first).await.changes().await;
    assert_eq!((revision, events.len()), (commit.revision, 100));
}
