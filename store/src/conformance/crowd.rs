//! Concurrent clients.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::poll;
use machinery_objects::Revision;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::subject::Subject;
use super::tools::{TestStore, fresh, tx};
use crate::{CommitError, KeySpan, Range, WatchItem};

/// Increments the number under `key` by optimistic writes until one succeeds.
async fn increment(store: &TestStore, key: &str) -> Revision {
    loop {
        let seen = store.entry(key).await.expect("the counter is there");
        let number: u64 = String::from_utf8_lossy(&seen.value).parse().expect("the counter is a number");
        let more = (number + 1).to_string().into_bytes();
        match store.commit(tx().if_at(key, seen.modified).put(key, more)).await {
            Ok(commit) => return commit.revision,
            Err(CommitError::Conflict(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// Eight clients increment a counter optimistically, and no increment is lost.
pub async fn concurrent_increments_lose_no_update(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    store.put("n", "0").await;
    let mut clients = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        clients.spawn(async move {
            let mut revisions = Vec::new();
            for _ in 0..10 {
                revisions.push(increment(&store, "n").await);
            }
            revisions
        });
    }
    let mut revisions = BTreeSet::new();
    while let Some(client) = clients.join_next().await {
        let own = client.expect("the client is done");
        assert!(own.is_sorted());
        revisions.extend(own);
    }
    assert_eq!(store.list("").await, ["n=80"]);
    assert_eq!(revisions.len(), 80, "each step has its own revision");
}

/// Of many clients that create one key, one succeeds; the others receive its entry.
pub async fn one_of_many_creators_wins(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    for round in 0..10 {
        let key = format!("k{round}");
        let mut clients = JoinSet::new();
        let start = Arc::new(Barrier::new(8));
        for client in 0..8_u8 {
            let (store, key, start) = (store.clone(), key.clone(), Arc::clone(&start));
            clients.spawn(async move {
                start.wait().await;
                match store.commit(tx().if_absent(key.as_str()).put(key.as_str(), [client])).await {
                    Ok(commit) => (Some(commit.revision), client),
                    Err(CommitError::Conflict(conflict)) => {
                        let there = conflict.current.expect("the conflict has the entry");
                        (None, there.value[0])
                    }
                    Err(other) => panic!("{other}"),
                }
            });
        }
        let mut answers = Vec::new();
        while let Some(answer) = clients.join_next().await {
            answers.push(answer.expect("the client is done"));
        }
        let winners: Vec<_> = answers.iter().filter(|answer| answer.0.is_some()).collect();
        assert_eq!(winners.len(), 1, "one wins");
        assert!(answers.iter().all(|answer| answer.1 == winners[0].1), "and all know who");
    }
}

/// Sixty-four clients write concurrently: every acknowledged write is stored, with a revision of
/// its own.
pub async fn sixty_four_clients_lose_nothing(subject: &mut dyn Subject) {
    let gapless = subject.capabilities().gapless;
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut clients = JoinSet::new();
    for client in 0..64 {
        let store = store.clone();
        clients.spawn(async move {
            let mut written = Vec::new();
            for step in 0..8 {
                let key = format!("{client:02}/{step}");
                let revision = store.put(&key, "1").await;
                let entry = store.entry(&key).await.expect("it was acknowledged");
                assert_eq!(entry.modified, revision);
                written.push((revision, format!("+{key}=1")));
            }
            written
        });
    }
    let mut written = Vec::new();
    while let Some(client) = clients.join_next().await {
        written.extend(client.expect("the client is done"));
    }
    written.sort();
    assert!(written.windows(2).all(|pair| pair[0].0 < pair[1].0), "no revision is used twice");
    let now = store.now().await;
    assert!(!gapless || now.0 == first.0 + 512);
    assert_eq!(store.follow(KeySpan::all(), first).await.until(now).await, written);
    assert_eq!(store.list("").await.len(), 512);
}

/// Transfers between accounts keep the sum constant at every revision that a client reads.
pub async fn readers_see_whole_transactions(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let accounts = ["a", "b", "c", "d"];
    store.done(accounts.iter().fold(tx(), |tx, account| tx.put(*account, *b"100"))).await;
    let mut clients = JoinSet::new();
    for client in 0..4_usize {
        let store = store.clone();
        clients.spawn(async move {
            for step in 0..15 {
                let (from, to) = (accounts[(client + step) % 4], accounts[(client + step + 1) % 4]);
                transfer(&store, from, to).await;
            }
        });
    }
    for _ in 0..4 {
        let store = store.clone();
        clients.spawn(async move {
            let mut last = Revision::ZERO;
            for _ in 0..50 {
                let page = store.page(Range::of(KeySpan::all())).await;
                assert!(page.at >= last, "what is read does not go back");
                last = page.at;
                let sum: i64 = page.entries.iter().map(|entry| amount(&entry.value)).sum();
                assert_eq!(sum, 400, "at {last}");
                tokio::task::yield_now().await;
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("the client is content");
    }
}

fn amount(value: &[u8]) -> i64 {
    String::from_utf8_lossy(value).parse().expect("an amount")
}

async fn transfer(store: &TestStore, from: &str, to: &str) {
    loop {
        let page = store.page(Range::of(KeySpan::all())).await;
        let of = |key: &str| {
            page.entries.iter().find(|entry| &*entry.key == key).map(|entry| amount(&entry.value))
        };
        let (source, target) = (of(from).expect("an account"), of(to).expect("an account"));
        let moved = tx()
            .if_unchanged(from, page.at)
            .if_unchanged(to, page.at)
            .put(from, (source - 1).to_string().into_bytes())
            .put(to, (target + 1).to_string().into_bytes());
        match store.commit(moved).await {
            Ok(_) => return,
            Err(CommitError::Conflict(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// A client reads a write that was acknowledged to another client.
pub async fn an_acknowledged_write_is_visible_to_others(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let (tell, mut hear) = tokio::sync::mpsc::channel(1);
    let writer = store.clone();
    let mut clients = JoinSet::new();
    clients.spawn(async move {
        for index in 0..100_u64 {
            let revision = writer.put("a", &index.to_string()).await;
            if tell.send((index, revision)).await.is_err() {
                return;
            }
        }
    });
    while let Some((index, revision)) = hear.recv().await {
        let page = store.page(Range::of(KeySpan::one("a"))).await;
        assert!(page.at >= revision, "{} is read after {revision} was acknowledged", page.at);
        assert!(amount(&page.entries[0].value) >= index as i64);
    }
    clients.join_next().await.expect("there is a writer").expect("the writer is done");
}

/// A cancelled commit is applied whole or not at all, and the store continues.
pub async fn a_cancelled_commit_is_applied_whole_or_not(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    for round in 0..20 {
        let value = format!("{round}").into_bytes();
        let given_up = store.commit(tx().put("a", value.clone()).put("b", value));
        let _ = poll!(given_up);
        let page = store.page(Range::of(KeySpan::all())).await;
        let values: Vec<_> = page.entries.iter().map(|entry| (&entry.value, entry.modified)).collect();
        assert!(values.is_empty() || (values.len() == 2 && values[0] == values[1]), "{values:?}");
    }
    let last = store.put("end", "1").await;
    let mut watch = store.follow(KeySpan::all(), first).await;
    loop {
        match watch.changes().await {
            (revision, events) if revision == last => {
                assert_eq!(events.len(), 1);
                break;
            }
            (revision, events) => assert_eq!(events.len(), 2, "{revision} is whole"),
        }
    }
}

/// Two thousand keys are listed in order, counted, and found individually.
pub async fn many_keys_are_listed_and_found(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let mut keys = Vec::new();
    for block in 0..20_u32 {
        let mut many = tx();
        for index in 0..100 {
            // Scattered: the order of writes differs from the order of keys.
            let key = format!("/{:08x}", (block * 100 + index).wrapping_mul(2_654_435_761));
            many = many.put(key.as_str(), key.as_bytes());
            keys.push(key);
        }
        store.done(many).await;
    }
    keys.sort();
    let page = store.page(Range::of(KeySpan::all())).await;
    let listed: Vec<&str> = page.entries.iter().map(|entry| &*entry.key).collect();
    assert_eq!(listed, keys);
    for (index, key) in keys.iter().enumerate().step_by(37) {
        assert!(store.entry(key).await.is_some());
        let behind =
            Range { after: Some(key.as_str().into()), ..Range::of(KeySpan::all()).limit(1).counted() };
        let page = store.page(behind).await;
        assert_eq!(page.remaining, Some((keys.len() - index).saturating_sub(2) as u64));
    }
}

/// A cancelled read, watch or compaction has no effect on others.
pub async fn cancelled_reads_and_watches_are_harmless(subject: &mut dyn Subject) {
    let store = fresh(subject).await;
    let first = store.now().await;
    let mut watch = store.follow(KeySpan::all(), first).await;
    for index in 0..50 {
        let _ = poll!(store.range(Range::of(KeySpan::all())));
        let _ = poll!(store.watch(KeySpan::all(), first));
        let _ = poll!(store.compact(first));
        let put = store.put("a", &index.to_string()).await;
        match watch.0.next().await.expect("the watch goes on") {
            WatchItem::Changes { revision, .. } => assert_eq!(revision, put),
            WatchItem::Progress(mark) => panic!("nobody asked for the mark {mark}"),
        }
    }
}
