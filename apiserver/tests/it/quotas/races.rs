//! Concurrent creators, also through two servers of one store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machinery_store::{Disk, DiskOptions, Memory, Options};
use serde_json::{Value, json};

use super::tools::{
    MAPS, QUOTA, QUOTAS, SECRETS, beside, exceeds, how_many, named, on, quota, records, says,
};
use crate::client::Client;
use crate::interposed::Interposed;

/// Runs that many concurrent creations through two servers; returns the number that succeeded.
async fn crowd(clients: [&Client; 2], come: usize, path: fn(usize) -> &'static str) -> usize {
    let create = |number: usize| {
        let client = clients[number % 2].clone();
        beside(async move { client.post(path(number), &named(&format!("s{number}"))).await })
    };
    let mut got = 0;
    let all: Vec<_> = (0..come).map(create).collect();
    for one in all {
        match one.await.unwrap() {
            answer if answer.code == 201 => got += 1,
            answer => exceeds(&answer),
        }
    }
    got
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creators_fill_a_quota_exactly() {
    let store = Memory::new(Options::default());
    let servers = [on(&store).await, on(&store).await];
    let clients = [Client::of(&servers[0]), Client::of(&servers[1])];
    let both = [&clients[0], &clients[1]];
    clients[0].post(QUOTAS, &quota(&json!({"secrets": "20"}))).await.fine();
    for _ in 0..8 {
        assert_eq!(crowd(both, 64, |_| SECRETS).await, 20);
        assert_eq!(how_many(&clients[1], SECRETS).await, 20);
        let status = json!({"hard": {"secrets": "20"}, "used": {"secrets": "20"}});
        assert_eq!(clients[1].get(QUOTA).await.fine()["status"], status, "whoever has the answer is counted");
        clients[0].delete(SECRETS).await.fine();
    }
    // Separately counted kinds do not use each other's capacity.
    clients[0].merge(QUOTA, &json!({"spec": {"hard": {"secrets": "9", "configmaps": "12"}}})).await.fine();
    let path = |number: usize| if number % 4 < 2 { SECRETS } else { MAPS };
    assert_eq!(crowd(both, 64, path).await, 21);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_disk_it_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let store = Disk::open(directory.path().join("store"), DiskOptions::default()).unwrap();
    let servers = [on(&store).await, on(&store).await];
    let clients = [Client::of(&servers[0]), Client::of(&servers[1])];
    clients[0].post(QUOTAS, &quota(&json!({"secrets": "10"}))).await.fine();
    assert_eq!(crowd([&clients[0], &clients[1]], 64, |_| SECRETS).await, 10);
    for server in servers {
        server.stop().await;
    }
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_quota_applies_to_creations_after_its_response() {
    let store = Memory::new(Options::default());
    let servers = [on(&store).await, on(&store).await];
    let clients = [Client::of(&servers[0]), Client::of(&servers[1])];
    for round in 0..40 {
        let (made, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let creator = |number: usize| {
            let (client, made, over) = (clients[number % 2].clone(), made.clone(), over.clone());
            beside(async move {
                let mut refused = 0;
                for at in 0.. {
                    let (is_made, is_over) = (made.load(Ordering::SeqCst), over.load(Ordering::SeqCst));
                    let answer = client.post(SECRETS, &named(&format!("s{round}-{number}-{at}"))).await;
                    if is_made || answer.code != 201 {
                        exceeds(&answer);
                        refused += 1;
                    }
                    if is_over {
                        return refused;
                    }
                }
                refused
            })
        };
        let creators: Vec<_> = (0..4).map(creator).collect();
        clients[round % 2].post(QUOTAS, &quota(&json!({"secrets": "0"}))).await.fine();
        made.store(true, Ordering::SeqCst);
        let there = how_many(&clients[0], SECRETS).await;
        exceeds(&clients[(round + 1) % 2].post(SECRETS, &named("late")).await);
        over.store(true, Ordering::SeqCst);
        for creator in creators {
            assert!(creator.await.unwrap() > 0, "round {round}: each came once more");
        }
        assert_eq!(how_many(&clients[1], SECRETS).await, there, "round {round}");
        clients[0].delete(QUOTA).await.fine();
    }
    assert_eq!(records(&store).await, 0);
}

#[tokio::test]
async fn a_quota_created_between_count_and_commit_is_enforced() {
    let store = Interposed::over(Memory::new(Options::default()));
    let (server, other) = (on(&store).await, on(&store.inner).await);
    let (client, quick) = (Client::of(&server), Client::of(&other));
    let deed = quick.clone();
    let make = async move {
        deed.post(QUOTAS, &quota(&json!({"secrets": "0"}))).await.fine();
    };
    store.before("/quotas/default", make).await;
    exceeds(&client.post(SECRETS, &named("a")).await);
    // And a quota whose new limit includes the kind, after the check had excluded it.
    quick.merge(QUOTA, &json!({"spec": {"hard": {"secrets": null}}})).await.fine();
    let deed = quick.clone();
    let change = async move {
        deed.merge(QUOTA, &json!({"spec": {"hard": {"secrets": "0"}}})).await.fine();
    };
    store.before("/quotas/default", change).await;
    exceeds(&client.post(SECRETS, &named("a")).await);
}

#[tokio::test]
async fn an_object_created_between_count_and_commit_is_counted() {
    let store = Interposed::over(Memory::new(Options::default()));
    let (server, other) = (on(&store).await, on(&store.inner).await);
    let (client, quick) = (Client::of(&server), Client::of(&other));
    client.post(QUOTAS, &quota(&json!({"secrets": "1"}))).await.fine();
    let status = |used: &str| json!({"hard": {"secrets": "1"}, "used": {"secrets": used}});
    says(&client, QUOTA, status("0")).await;
    let deed = quick.clone();
    let take = async move {
        deed.post(SECRETS, &named("quick")).await.fine();
    };
    store.before("core/resourcequotas/default/q", take).await;
    exceeds(&client.post(SECRETS, &named("slow")).await);
}

#[tokio::test]
async fn concurrent_deletions_of_quotas_delete_the_record() {
    let store = Interposed::over(Memory::new(Options::default()));
    let (server, other) = (on(&store).await, on(&store.inner).await);
    let (client, quick) = (Client::of(&server), Client::of(&other));
    let (r, none) = (format!("{QUOTAS}/r"), json!({"secrets": "0"}));
    client.post(QUOTAS, &quota(&none)).await.fine();
    client.post(QUOTAS, &named("r")).await.fine();
    let (deed, path) = (quick.clone(), r.clone());
    let delete = async move {
        deed.delete(&path).await.fine();
    };
    store.before("/quotas/default", delete).await;
    client.delete(QUOTA).await.fine();
    assert_eq!(records(&store.inner).await, 0);
    // And a creation during the deletion of the last one keeps the record.
    client.post(QUOTAS, &named("r")).await.fine();
    let deed = quick.clone();
    let make = async move {
        deed.post(QUOTAS, &quota(&none)).await.fine();
    };
    store.before("/quotas/default", make).await;
    client.delete(&r).await.fine();
    assert_eq!(records(&store.inner).await, 1);
    exceeds(&client.post(SECRETS, &named("a")).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contended_quota_can_be_changed_and_deleted() {
    let store = Memory::new(Options::default());
    let servers = [on(&store).await, on(&store).await];
    let clients = [Client::of(&servers[0]), Client::of(&servers[1])];
    clients[0].post(QUOTAS, &quota(&json!({"secrets": "1M"}))).await.fine();
    let over = Arc::new(AtomicBool::new(false));
    let creator = |number: usize| {
        let (client, over) = (clients[number % 2].clone(), over.clone());
        beside(async move {
            for at in 0.. {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                client.post(SECRETS, &named(&format!("s{number}-{at}"))).await.fine();
            }
        })
    };
    let creators: Vec<_> = (0..32).map(creator).collect();
    for most in 1..20_u64 {
        let wanted: Value = json!({"spec": {"hard": {"secrets": format!("{}", 1_000_000 + most)}}});
        clients[usize::from(most % 2 == 1)].merge(QUOTA, &wanted).await.fine();
    }
    clients[0].delete(QUOTA).await.fine();
    over.store(true, Ordering::SeqCst);
    for creator in creators {
        creator.await.unwrap();
    }
    assert_eq!(records(&store).await, 0);
}
