//! Conditions of transactions.

use machinery_objects::Revision;

use super::subject::Subject;
use super::tools::{fresh, tx};

/// A delete conditional on a revision is applied at that revision only.
pub async fn a_delete_at_a_revision_needs_that_revision(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let old = store.put("a", "1").await;
    let new = store.put("a", "2").await;
    let conflict = store.conflict(tx().if_at("a", old).delete("a")).await;
    assert_eq!(conflict.current.expect("it is there").modified, new);
    assert_eq!(store.list("").await, ["a=2"]);
    store.done(tx().if_at("a", new).delete("a")).await;
    assert_eq!(store.list("").await, [""; 0]);
}

/// Puts and deletes without a condition are always applied.
pub async fn without_a_condition_everything_happens(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for value in ["1", "2", "3"] {
        store.put("a", value).await;
        assert_eq!(store.list("").await, [format!("a={value}")]);
    }
    store.delete("a").await;
    assert_eq!(store.list("").await, [""; 0]);
}

/// `At` compares the revision of the last put: neither the creating revision nor the store's.
pub async fn at_is_the_revision_of_the_value(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let created = store.put("a", "1").await;
    let modified = store.put("a", "2").await;
    let other = store.put("b", "1").await;
    for wrong in [Revision::ZERO, created, other, Revision(other.0 + 1000)] {
        assert_eq!(&*store.conflict(tx().if_at("a", wrong).put("a", *b"3")).await.key, "a");
    }
    store.done(tx().if_at("a", modified).put("a", *b"3")).await;
}

/// `At` does not hold for an absent key, at any revision.
pub async fn at_needs_an_entry(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let put = store.put("a", "1").await;
    let deleted = store.delete("a").await;
    for revision in [Revision::ZERO, put, deleted] {
        let conflict = store.conflict(tx().if_at("a", revision).put("a", *b"2")).await;
        assert_eq!(conflict.current, None);
    }
    let conflict = store.conflict(tx().if_at("never", Revision::ZERO).put("a", *b"2")).await;
    assert_eq!((&*conflict.key, conflict.current), ("never", None));
}

/// A key that was deleted and recreated with the same value fails `At` and `Unchanged`.
pub async fn a_recreated_key_fails_conditions_on_the_old_one(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let put = store.put("a", "1").await;
    store.delete("a").await;
    store.put("a", "1").await;
    store.conflict(tx().if_at("a", put).put("a", *b"2")).await;
    store.conflict(tx().if_unchanged("a", put).put("a", *b"2")).await;
    assert_eq!(store.list("").await, ["a=1"]);
}

/// `Unchanged` holds for revisions from the last put on.
pub async fn unchanged_holds_while_the_entry_is_the_same(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let early = store.put("b", "1").await;
    let put = store.put("a", "1").await;
    let late = store.put("b", "2").await;
    for since in [put, late] {
        assert!(!store.done(tx().if_unchanged("a", since)).await.changed);
    }
    let conflict = store.conflict(tx().if_unchanged("a", early)).await;
    assert_eq!(conflict.current.expect("it is there").modified, put);
    store.done(tx().if_unchanged("a", late).put("a", *b"2")).await;
}

/// `Unchanged` does not hold after a put, even of the same value, nor after a delete.
pub async fn unchanged_fails_after_a_change(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("a", "1").await;
    let seen = store.put("b", "1").await;
    store.put("a", "1").await;
    store.delete("b").await;
    store.conflict(tx().if_unchanged("a", seen).put("c", *b"1")).await;
    let conflict = store.conflict(tx().if_unchanged("b", seen).put("c", *b"1")).await;
    assert_eq!(conflict.current, None);
    assert_eq!(store.list("").await, ["a=1"]);
}

/// `Unchanged` holds for a key that was and is absent, and not once it is created. This guards
/// absence.
pub async fn unchanged_guards_an_absent_key(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let seen = store.put("a", "1").await;
    store.done(tx().if_unchanged("guard", seen).put("b", *b"1")).await;
    store.put("guard", "1").await;
    store.conflict(tx().if_unchanged("guard", seen).put("c", *b"1")).await;
}

/// `Unchanged` compares states and ignores changes between: absent then and absent now is
/// unchanged.
pub async fn unchanged_is_about_the_state(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let absent = store.put("other", "1").await;
    let there = store.put("a", "1").await;
    let gone = store.delete("a").await;
    store.done(tx().if_unchanged("a", absent)).await;
    store.conflict(tx().if_unchanged("a", there)).await;
    store.done(tx().if_unchanged("a", gone)).await;
    store.done(tx().if_unchanged("a", absent).put("a", *b"2")).await;
}

/// `Unchanged` since a compacted revision still holds for an older entry, and never for a changed
/// one.
pub async fn unchanged_since_a_compacted_revision_is_never_wrong(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("old", "1").await;
    store.put("gone", "1").await;
    store.put("twice", "1").await;
    let seen = store.put("new", "1").await;
    store.put("new", "2").await;
    store.delete("gone").await;
    store.delete("twice").await;
    store.put("twice", "1").await;
    let last = store.put("created", "1").await;
    store.compacted(last).await;
    store.delete("twice").await;
    store.done(tx().if_unchanged("old", seen)).await;
    for key in ["new", "gone", "twice", "created"] {
        assert_eq!(&*store.conflict(tx().if_unchanged(key, seen).put("x", *b"1")).await.key, key);
    }
}

/// `Unchanged` since the compacted revision itself is exact, since its state is still known.
pub async fn unchanged_since_the_compaction_is_exact(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("a", "1").await;
    store.put("gone", "1").await;
    let seen = store.delete("gone").await;
    store.put("late", "1").await;
    store.compacted(seen).await;
    for key in ["a", "gone", "never"] {
        store.done(tx().if_unchanged(key, seen)).await;
    }
    store.conflict(tx().if_unchanged("late", seen)).await;
}

/// `Unchanged` since a future revision does not hold: the revision is of another store.
pub async fn unchanged_since_the_future_does_not_hold(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let put = store.put("a", "1").await;
    for key in ["a", "never"] {
        store.conflict(tx().if_unchanged(key, Revision(put.0 + 1000)).put("b", *b"1")).await;
    }
}

/// The error names the first of several failed conditions.
pub async fn the_first_failed_condition_is_reported(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let a = store.put("a", "1").await;
    store.put("b", "1").await;
    let asked = tx().if_at("a", a).if_absent("c").if_absent("b").if_absent("a").put("d", *b"1");
    let conflict = store.conflict(asked).await;
    assert_eq!((conflict.condition, &*conflict.key), (2, "b"));
    assert_eq!(conflict.current, store.entry("b").await);
}

/// Conditions are checked against the state before the transaction, also for keys that it changes.
pub async fn conditions_are_about_the_state_before(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let a = store.put("a", "1").await;
    let moved = tx().if_at("a", a).if_absent("b").if_unchanged("b", a).delete("a").put("b", *b"1");
    store.done(moved.clone()).await;
    assert_eq!(store.list("").await, ["b=1"]);
    assert_eq!(store.conflict(moved).await.condition, 0);
}

/// A key may have several conditions, even contradictory ones.
pub async fn a_key_may_have_several_conditions(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let a = store.put("a", "1").await;
    store.done(tx().if_at("a", a).if_unchanged("a", a).if_at("a", a)).await;
    assert_eq!(store.conflict(tx().if_at("a", a).if_absent("a")).await.condition, 1);
}

/// A key that has only a condition is not modified.
pub async fn a_guard_is_not_touched(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let guard = store.put("guard", "1").await;
    let before = store.entry("guard").await;
    store.done(tx().if_at("guard", guard).put("a", *b"1")).await;
    store.done(tx().if_unchanged("guard", guard).delete("a")).await;
    assert_eq!(store.entry("guard").await, before);
}
