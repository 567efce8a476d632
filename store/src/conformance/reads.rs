//! Reads of the newest and of past revisions.

use machinery_objects::Revision;

use super::subject::Subject;
use super::tools::{TestStore, fresh, texts, tx};
use crate::{KeySpan, Range, ReadError};

/// Makes eight writes of every kind; returns the entries under `/p/` after each.
pub(super) async fn eight_writes(store: &TestStore) -> Vec<(Revision, Vec<&'static str>)> {
    let first = store.now().await;
    let mut states = vec![(first, vec![])];
    states.push((store.put("/p/b", "1").await, vec!["/p/b=1"]));
    states.push((store.put("/p/a", "2").await, vec!["/p/a=2", "/p/b=1"]));
    states.push((store.put("/q/a", "3").await, vec!["/p/a=2", "/p/b=1"]));
    states.push((store.put("/p/b", "4").await, vec!["/p/a=2", "/p/b=4"]));
    states.push((store.delete("/p/a").await, vec!["/p/b=4"]));
    let both = store.done(tx().put("/p/c", *b"6").put("/p/a", *b"6").delete("/p/b")).await;
    states.push((both.revision, vec!["/p/a=6", "/p/c=6"]));
    states.push((store.put("/p/b", "7").await, vec!["/p/a=6", "/p/b=7", "/p/c=6"]));
    states.push((store.delete("/p/c").await, vec!["/p/a=6", "/p/b=7"]));
    states
}

/// A list at each revision returns the entries of that revision.
pub async fn a_list_at_each_revision_matches_the_past_state(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for (revision, state) in eight_writes(&store).await {
        assert_eq!(store.list_at("/p/", revision).await, state, "at {revision}");
    }
}

/// A list at each revision returns the same in pages.
pub async fn a_list_at_each_revision_is_the_same_in_pages(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for (revision, state) in eight_writes(&store).await {
        for limit in 1..4 {
            let range = || Range::of(KeySpan::prefix("/p/")).limit(limit);
            let mut page = store.page(range().at(revision)).await;
            let mut listed = texts(&page);
            while let Some(cursor) = page.next {
                assert_eq!(page.entries.len(), limit);
                page = store.page(range().resume(cursor)).await;
                assert_eq!(page.at, revision);
                assert!(!page.entries.is_empty(), "a cursor leads to something");
                listed.extend(texts(&page));
            }
            assert_eq!(listed, state, "at {revision}, {limit} at a time");
        }
    }
}

/// One key at each revision has the entry and revisions of that time.
pub async fn a_key_at_each_revision_matches_the_past_state(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let revisions: Vec<Revision> =
        eight_writes(&store).await.into_iter().map(|(revision, _)| revision).collect();
    let mut seen = Vec::new();
    for at in &revisions {
        let page = store.page(Range::of(KeySpan::one("/p/b")).at(*at)).await;
        let place = |revision| revisions.iter().position(|known| *known == revision);
        seen.push(page.entries.first().map(|entry| (place(entry.created), place(entry.modified))));
    }
    let (one, four, seven) = ((Some(1), Some(1)), (Some(1), Some(4)), (Some(7), Some(7)));
    let expected =
        [None, Some(one), Some(one), Some(one), Some(four), Some(four), None, Some(seven), Some(seven)];
    assert_eq!(seen, expected);
}

/// Repeated reads at a revision return the same, whatever is written later.
pub async fn a_read_at_a_revision_is_the_same_for_ever(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    eight_writes(&store).await;
    let at = store.now().await;
    let before = store.page(Range::of(KeySpan::all()).at(at)).await.entries;
    for index in 0..10 {
        store.done(tx().put("/p/a", *b"later").put(format!("/p/{index}"), *b"1").delete("/q/a")).await;
        assert_eq!(store.page(Range::of(KeySpan::all()).at(at)).await.entries, before);
    }
}

/// A read of a future revision is refused with the newest revision.
pub async fn a_read_of_the_future_is_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let current = store.put("a", "1").await;
    for requested in [Revision(current.0 + 1), Revision(current.0 + 100), Revision(u64::MAX)] {
        let refused = store.unreadable(Range::of(KeySpan::all()).at(requested)).await;
        assert_eq!(refused, ReadError::Future { requested, current });
    }
    assert_eq!(store.list_at("", current).await, ["a=1"]);
}

/// A page has its own revision and the newest one.
pub async fn a_page_has_its_revision_and_the_newest(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let old = store.put("a", "1").await;
    let new = store.put("b", "1").await;
    let page = store.page(Range::of(KeySpan::one("a"))).await;
    assert_eq!((page.at, page.current), (new, new));
    let page = store.page(Range::of(KeySpan::one("a")).at(old)).await;
    assert_eq!((page.at, page.current), (old, new));
}

/// An empty list is at a revision that includes every earlier write.
pub async fn an_empty_list_is_at_the_newest_revision(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for index in 0..10 {
        let written = store.put("a", &index.to_string()).await;
        let page = store.page(Range::of(KeySpan::prefix("/nothing/"))).await;
        assert!(page.at >= written && page.entries.is_empty());
    }
}

/// A read after an acknowledged write returns it.
pub async fn a_read_sees_every_write_before_it(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for index in 0..50 {
        let written = store.put("a", &index.to_string()).await;
        assert_eq!(store.list("").await, [format!("a={index}")]);
        assert_eq!(store.now().await, written);
    }
}

/// A span of one key excludes its prefixes and its extensions.
pub async fn one_key_is_not_a_prefix(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for key in ["/pods", "/pods/foo", "/pods/foobar", "/pods/foo/x"] {
        store.put(key, "1").await;
    }
    let page = store.page(Range::of(KeySpan::one("/pods/foo"))).await;
    assert_eq!(texts(&page), ["/pods/foo=1"]);
    assert_eq!(store.page(Range::of(KeySpan::one("/pods/fo"))).await.entries, []);
    assert_eq!(store.page(Range::of(KeySpan::one(""))).await.entries, []);
}

/// A prefix is compared by bytes: `/pods/foobar` has the prefix `/pods/foo`, but not `/pods/foo/`.
pub async fn a_prefix_ends_where_it_ends(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let keys = [
        "/pod",
        "/pods/fo",
        "/pods/foo",
        "/pods/foo/a",
        "/pods/foo/b",
        "/pods/foo0",
        "/pods/foobar",
        "/podt",
    ];
    for key in keys {
        store.put(key, "1").await;
    }
    let under = async |prefix: &str| -> Vec<String> {
        let page = store.page(Range::of(KeySpan::prefix(prefix))).await;
        page.entries.iter().map(|entry| entry.key.to_string()).collect()
    };
    assert_eq!(under("/pods/foo/").await, ["/pods/foo/a", "/pods/foo/b"]);
    assert_eq!(under("/pods/foo").await, keys[2..7]);
    assert_eq!(under("/pods/").await, keys[1..7]);
    assert_eq!(under("/pods/foobar").await, ["/pods/foobar"]);
    assert_eq!(under("/pods/foobarx").await, [""; 0]);
    assert_eq!(under("").await, keys);
}

/// A prefix that ends in the highest character of its length excludes later keys.
pub async fn a_prefix_of_high_bytes_ends_too(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let keys =
        ["a\u{7f}", "a\u{7f}x", "a\u{7ff}", "a\u{7ff}x", "a\u{10ffff}", "a\u{10ffff}x", "b", "\u{10ffff}"];
    for key in keys {
        store.put(key, "1").await;
    }
    for prefix in ["a\u{7f}", "a\u{7ff}", "a\u{10ffff}", "a", "\u{10ffff}"] {
        let page = store.page(Range::of(KeySpan::prefix(prefix))).await;
        let listed: Vec<&str> = page.entries.iter().map(|entry| &*entry.key).collect();
        let expected: Vec<&str> = keys.into_iter().filter(|key| key.starts_with(prefix)).collect();
        assert_eq!(listed, expected, "{prefix:?}");
    }
}

/// A deleted key is not listed, and is readable at the revisions at which it existed.
pub async fn a_deleted_key_is_readable_at_past_revisions(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let put = store.put("a", "1").await;
    let deleted = store.delete("a").await;
    let again = store.put("a", "2").await;
    assert_eq!(store.list_at("", put).await, ["a=1"]);
    assert_eq!(store.list_at("", deleted).await, [""; 0]);
    assert_eq!(store.list_at("", again).await, ["a=2"]);
}
