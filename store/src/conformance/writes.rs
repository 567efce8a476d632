//! Writes of one key.

use super::subject::Subject;
use super::tools::{TestStore, bytes, fresh, tx};
use crate::{KeySpan, Limits, Range};

/// A new store is empty, and its revision can be read and watched from.
pub async fn a_new_store_is_empty(subject: &mut dyn Subject) {
    let gapless = subject.capabilities().gapless;
    let store = fresh(subject).await;
    let first = store.now().await;
    assert!(first.0 >= 1, "zero is the revision of nothing");
    assert!(!gapless || first.0 == 1, "a new store is at revision 1");
    let page = store.page(Range::of(KeySpan::all()).counted()).await;
    assert_eq!((page.at, page.current, page.entries, page.next), (first, first, vec![], None));
    assert_eq!(page.remaining, Some(0));
    assert_eq!(store.list_at("", first).await, [""; 0]);
    assert_eq!(store.follow(KeySpan::all(), first).await.until(first).await, []);
}

/// Two stores of one subject share no data.
pub async fn a_new_store_shares_nothing_with_an_older_one(subject: &mut dyn Subject) {
    let older = fresh(subject).await;
    older.put("a", "1").await;
    let newer = TestStore(subject.open(Limits::default()).await);
    assert_eq!(newer.list("").await, [""; 0]);
}

/// A put of an absent key creates it: both revisions of its entry are the commit's.
pub async fn create_if_absent_creates(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let commit = store.done(tx().if_absent("a").put("a", *b"1")).await;
    assert!(commit.revision > first && commit.changed);
    assert_eq!(commit.before, [None]);
    let entry = store.entry("a").await.expect("it was created");
    assert_eq!((&*entry.key, &*entry.value), ("a", &b"1"[..]));
    assert_eq!((entry.created, entry.modified), (commit.revision, commit.revision));
    assert_eq!(store.now().await, commit.revision);
}

/// A create of an existing key is refused with its entry and the store's revision.
pub async fn create_of_an_existing_key_returns_the_current_entry(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("a", "1").await;
    store.put("b", "1").await;
    let conflict = store.conflict(tx().if_absent("a").put("a", *b"2")).await;
    assert_eq!((conflict.condition, &*conflict.key), (0, "a"));
    assert_eq!(conflict.current, store.entry("a").await);
    assert_eq!(conflict.revision, store.now().await);
    assert_eq!(store.list("").await, ["a=1", "b=1"]);
}

/// A put of an existing key keeps its creating revision, and returns the previous entry.
pub async fn a_put_over_a_key_keeps_its_creation(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let created = store.put("a", "1").await;
    let old = store.entry("a").await;
    let commit = store.done(tx().put("a", *b"2")).await;
    assert_eq!(commit.before, [old]);
    let entry = store.entry("a").await.expect("it is there");
    assert_eq!((entry.created, entry.modified), (created, commit.revision));
    assert_eq!(entry.value, bytes("2"));
}

/// A put after a delete is a creation.
pub async fn a_put_after_a_delete_is_a_creation(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("a", "1").await;
    store.delete("a").await;
    let commit = store.done(tx().put("a", *b"1")).await;
    assert_eq!(commit.before, [None]);
    let entry = store.entry("a").await.expect("it is there");
    assert_eq!((entry.created, entry.modified), (commit.revision, commit.revision));
}

/// A put of the same value takes a revision: the caller decides whether it is a change.
pub async fn a_put_of_the_same_value_takes_a_revision(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.put("a", "1").await;
    let second = store.put("a", "1").await;
    assert!(second > first);
    assert_eq!(store.entry("a").await.expect("it is there").modified, second);
    let told = store.follow(KeySpan::all(), first).await.until(second).await;
    assert_eq!(told, [(second, "~a=1".to_string())]);
}

/// A delete takes a revision, and returns the last entry.
pub async fn a_delete_returns_the_last_state(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let put = store.put("a", "1").await;
    let last = store.entry("a").await;
    let commit = store.done(tx().delete("a")).await;
    assert!(commit.changed && commit.revision > put);
    assert_eq!(commit.before, [last]);
    assert_eq!(store.entry("a").await, None);
    assert_eq!(store.now().await, commit.revision);
}

/// A delete of an absent key changes nothing, takes no revision and succeeds.
pub async fn a_delete_of_an_absent_key_takes_no_revision(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let put = store.put("a", "1").await;
    let commit = store.done(tx().delete("b").delete("c")).await;
    assert_eq!((commit.revision, commit.changed), (put, false));
    assert_eq!(commit.before, [None, None]);
    assert_eq!(store.now().await, put);
    let next = store.put("a", "2").await;
    let told = store.follow(KeySpan::all(), put).await.until(next).await;
    assert_eq!(told, [(next, "~a=2".to_string())], "nobody hears of what changed nothing");
}

/// A transaction without operations checks its conditions and changes nothing.
pub async fn a_transaction_without_operations_only_checks_conditions(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let put = store.put("a", "1").await;
    let commit = store.done(tx()).await;
    assert_eq!((commit.revision, commit.changed, commit.before), (put, false, vec![]));
    let commit = store.done(tx().if_at("a", put).if_absent("b")).await;
    assert_eq!((commit.revision, commit.changed), (put, false));
    assert_eq!(store.conflict(tx().if_at("a", put).if_absent("a")).await.condition, 1);
}

/// Revisions increase with each commit, by one if the backend is gapless.
pub async fn revisions_rise(subject: &mut dyn Subject) {
    let gapless = subject.capabilities().gapless;
    let store = fresh(subject).await;
    let mut last = store.now().await;
    for step in 0..20 {
        let revision = if step % 3 == 2 { store.delete("a").await } else { store.put("a", "1").await };
        assert!(revision > last, "{revision} comes after {last}");
        assert!(!gapless || revision == last.next(), "{revision} comes right after {last}");
        assert_eq!(store.now().await, revision);
        last = revision;
    }
}

/// Any bytes are a value: none, zeros, and invalid UTF-8.
pub async fn any_bytes_are_a_value(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let values: [&[u8]; 4] = [b"", b"\0", b"\xff\xfe\0\x80", &[0; 300]];
    for (index, value) in values.into_iter().enumerate() {
        let key = format!("k{index}");
        store.done(tx().put(key.as_str(), value)).await;
        assert_eq!(&*store.entry(&key).await.expect("it is there").value, value);
    }
    let entry = store.entry("k0").await.expect("an empty value is a value");
    assert!(entry.value.is_empty());
}

/// Any text is a key: slashes, dots and case have no meaning.
pub async fn any_text_is_a_key(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let keys = [
        "/",
        "//",
        ".",
        "..",
        "/a/../b",
        "/b",
        "a b",
        "A",
        "a",
        "a\0",
        "a\n",
        "é",
        "e\u{301}",
        "日本",
        "\u{10ffff}",
    ];
    for key in keys {
        let commit = store.done(tx().if_absent(key).put(key, key.as_bytes())).await;
        assert!(commit.changed);
    }
    for key in keys {
        assert_eq!(store.entry(key).await.expect("it is there").value, bytes(key), "{key:?}");
    }
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    let page = store.page(Range::of(KeySpan::all())).await;
    let listed: Vec<&str> = page.entries.iter().map(|entry| &*entry.key).collect();
    assert_eq!(listed, sorted, "in the order of their bytes");
}
