//! Paged lists, all pages at one revision.

use super::subject::Subject;
use super::tools::{TestStore, fresh, texts, tx};
use crate::{Cursor, KeySpan, Page, Range, ReadError};

async fn letters(store: &TestStore) {
    for key in ["/a", "/b", "/c", "/d", "/e"] {
        store.put(key, "1").await;
    }
}

fn by(limit: usize) -> Range {
    Range::of(KeySpan::prefix("/")).limit(limit)
}

async fn pages(store: &TestStore, limit: usize) -> Vec<Page> {
    let mut pages = vec![store.page(by(limit)).await];
    while let Some(cursor) = pages[pages.len() - 1].next.clone() {
        pages.push(store.page(by(limit).resume(cursor)).await);
    }
    pages
}

/// All pages but the last are full, and the last one has no cursor, even if it is full.
pub async fn a_list_has_as_many_pages_as_it_needs(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    letters(&store).await;
    for (limit, sizes) in [(1, vec![1; 5]), (2, vec![2, 2, 1]), (3, vec![3, 2]), (5, vec![5]), (6, vec![5])] {
        let pages = pages(&store, limit).await;
        let found: Vec<usize> = pages.iter().map(|page| page.entries.len()).collect();
        assert_eq!(found, sizes, "{limit} at a time");
        let all: Vec<String> = pages.iter().flat_map(texts).collect();
        assert_eq!(all, ["/a=1", "/b=1", "/c=1", "/d=1", "/e=1"]);
    }
    assert_eq!(store.page(by(0)).await.entries.len(), 5, "zero is no limit");
}

/// The entries after a page are counted if requested.
pub async fn entries_after_a_page_are_counted(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    letters(&store).await;
    store.put("/z", "1").await;
    store.delete("/z").await;
    store.put("0", "another prefix").await;
    for (limit, behind) in [(1, 4), (4, 1), (5, 0), (9, 0)] {
        assert_eq!(store.page(by(limit).counted()).await.remaining, Some(behind), "{limit} at a time");
    }
    assert_eq!(store.page(by(2)).await.remaining, None);
    let cursor = store.page(by(2)).await.next.expect("there is more");
    assert_eq!(store.page(by(2).resume(cursor).counted()).await.remaining, Some(1));
}

/// All pages are of the first one's revision, while its keys are put, deleted and added.
pub async fn pages_are_of_one_revision_during_writes(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    letters(&store).await;
    let mut page = store.page(by(1)).await;
    let at = page.at;
    let mut listed = texts(&page);
    for step in 0.. {
        let Some(cursor) = page.next else { break };
        assert_eq!(cursor.at, at);
        let add = format!("/b{step}");
        store.done(tx().put("/c", *b"2").put("/e", *b"2").put(add, *b"1").delete("/d").delete("/a")).await;
        page = store.page(by(1).resume(cursor)).await;
        assert_eq!(page.at, at);
        assert!(page.current > at, "the page tells that there is something newer");
        listed.extend(texts(&page));
    }
    assert_eq!(listed, ["/a=1", "/b=1", "/c=1", "/d=1", "/e=1"]);
}

/// A cursor continues after its key, even if that is deleted, and can be reused.
pub async fn a_cursor_outlives_its_key(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    letters(&store).await;
    let cursor = store.page(by(2)).await.next.expect("there is more");
    assert_eq!(&*cursor.after, "/b");
    store.delete("/b").await;
    for _ in 0..2 {
        assert_eq!(texts(&store.page(by(2).resume(cursor.clone())).await), ["/c=1", "/d=1"]);
    }
}

/// A cursor at a compacted revision is refused, and the list can restart after its key at the
/// newest revision.
pub async fn a_cursor_that_was_compacted_is_refused(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    letters(&store).await;
    let cursor = store.page(by(2)).await.next.expect("there is more");
    let last = store.put("/d", "2").await;
    store.compacted(last).await;
    let refused = store.unreadable(by(2).resume(cursor.clone())).await;
    assert_eq!(refused, ReadError::Compacted { requested: cursor.at, compacted: last });
    let anew = Range { after: Some(cursor.after), ..by(2) };
    let page = store.page(anew).await;
    assert_eq!((page.at, texts(&page)), (last, vec!["/c=1".to_string(), "/d=2".to_string()]));
}

/// A cursor at the compacted revision works.
pub async fn a_cursor_at_the_compaction_goes_on(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    letters(&store).await;
    let cursor = store.page(by(2)).await.next.expect("there is more");
    store.put("/d", "2").await;
    store.compacted(cursor.at).await;
    assert_eq!(texts(&store.page(by(9).resume(cursor)).await), ["/c=1", "/d=1", "/e=1"]);
}

/// A range may start after any key, existing or not, in the span or not.
pub async fn a_range_begins_behind_any_key(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    letters(&store).await;
    store.put("!", "before").await;
    store.put("0", "behind").await;
    let behind = async |after: &str| {
        let after = Some(after.into());
        let page = store.page(Range { after, ..Range::of(KeySpan::prefix("/")) }).await;
        page.entries.first().map(|entry| entry.key.to_string())
    };
    assert_eq!(behind("").await.as_deref(), Some("/a"));
    assert_eq!(behind("!").await.as_deref(), Some("/a"));
    assert_eq!(behind("/").await.as_deref(), Some("/a"));
    assert_eq!(behind("/b").await.as_deref(), Some("/c"));
    assert_eq!(behind("/bb").await.as_deref(), Some("/c"));
    assert_eq!(behind("/e").await, None);
    assert_eq!(behind("1").await, None);
    let one = |after: &str| Range { after: Some(after.into()), ..Range::of(KeySpan::one("/b")) };
    assert_eq!(texts(&store.page(one("/a")).await), ["/b=1"]);
    assert_eq!(store.page(one("/b")).await.entries, []);
}

/// One match among a thousand other keys is returned in one page, without a cursor.
pub async fn a_rare_key_is_one_page(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for block in 0..10 {
        let many = (0..100).fold(tx(), |tx, index| tx.put(format!("/m/{block}{index:02}"), *b"1"));
        store.done(many).await;
    }
    store.put("/m/999x", "rare").await;
    let page = store.page(Range::of(KeySpan::prefix("/m/999x")).limit(1).counted()).await;
    assert_eq!((texts(&page), page.next, page.remaining), (vec!["/m/999x=rare".to_string()], None, Some(0)));
    let page = store.page(Range::of(KeySpan::prefix("/m/")).limit(1000).counted()).await;
    let next = Some(Cursor { at: page.at, after: "/m/999".into() });
    assert_eq!((page.entries.len(), page.next, page.remaining), (1000, next, Some(1)));
}

/// Keys that exist only at other revisions neither fill a page nor count after it.
pub async fn keys_of_other_revisions_do_not_count(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for key in ["/a", "/b", "/c", "/d"] {
        store.put(key, "1").await;
    }
    let deleted = store.done(tx().delete("/a").delete("/c").delete("/d")).await.revision;
    store.put("/c", "2").await;
    let page = store.page(by(1).at(deleted).counted()).await;
    assert_eq!((texts(&page), page.next, page.remaining), (vec!["/b=1".to_string()], None, Some(0)));
    let now = store.page(by(1).counted()).await;
    assert_eq!((texts(&now), now.remaining), (vec!["/b=1".to_string()], Some(1)));
}
