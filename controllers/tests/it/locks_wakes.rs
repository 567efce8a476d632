//! Promise 26: waiters are notified of a release, in order.

use crate::locks_fixture::{Doc, Locks, LocksFixture, PATIENCE, held, key, locks, taken};
use machinery_controllers::{Claim, Controller, LockError, Next, Run, Settings};
use machinery_informers::Informer;
use machinery_objects::{Deletion, Object, Writer};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

/// A run: host, result of its claim, causes.
type Ran = (String, Claim<String>, String);

struct HostController {
    informer: Informer<Doc>,
    ran: UnboundedReceiver<Ran>,
}

/// A controller of hosts that all claim the same name.
fn hosts(plane: &LocksFixture, locks: &Locks) -> HostController {
    let informer = plane.informer(&plane.hosts);
    let settings = Settings { workers: 1, ..Settings::default() };
    let controller = Controller::of("hosts", &informer).settings(settings).build().unwrap();
    let (runs, ran) = unbounded_channel();
    let claims = locks.clone();
    let reconcile = move |host: Arc<Doc>, run: Run| {
        let (locks, runs) = (claims.clone(), runs.clone());
        async move {
            let claim = locks.claim(&*host, &"a".to_owned()).await?;
            let _ = runs.send((host.key().name().to_owned(), claim, format!("{:?}", run.causes)));
            Ok::<_, LockError>(Next::Done)
        }
    };
    let (runs, stopping) = (controller.clone(), plane.stopping.clone());
    plane.tasks.spawn(async move { runs.run(reconcile, stopping).await });
    let (locks, owners, stopping) = (locks.clone(), informer.clone(), plane.stopping.clone());
    plane.tasks.spawn(async move { locks.wake(&controller, &owners, stopping).await });
    HostController { informer, ran }
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it comes to that")
}

impl HostController {
    async fn next(&mut self) -> Ran {
        soon(self.ran.recv()).await.unwrap()
    }
}

/// Paused time advances only when idle, so no elapsed time means at once.
#[tokio::test(start_paused = true)]
async fn p26_waiters_are_requeued_at_once_in_order() {
    let plane = LocksFixture::new().await;
    let locks = plane.locks();
    let mut hosts = hosts(&plane, &locks);
    plane.host("one").await;
    let mut holds = held(hosts.next().await.1);
    let others = ["two", "three", "four"];
    for name in others {
        plane.host(name).await;
        let (who, claim, _) = hosts.next().await;
        assert_eq!((who.as_str(), taken(claim).is_queued), (name, true));
    }
    for (at, next) in others.into_iter().enumerate() {
        let released = Instant::now();
        locks.release(&holds).await.unwrap();
        let (who, claim, why) = hosts.next().await;
        assert_eq!(released.elapsed(), Duration::ZERO);
        assert_eq!(who, next);
        assert!(why.contains("a name is free"), "{why}");
        holds = held(claim);
        for behind in &others[at + 1..] {
            let (who, claim, _) = hosts.next().await;
            assert_eq!((who.as_str(), taken(claim).to_string()), (*behind, format!("Host {next}")));
        }
    }
    assert!(locks.waiters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn p26_a_name_freed_without_an_event_is_noticed() {
    let plane = LocksFixture::new().await;
    let locks = plane.locks();
    let mut hosts = hosts(&plane, &locks);
    plane.host("one").await;
    held(hosts.next().await.1);
    // No event was ever delivered for the lock "b", which blocked a waiter.
    assert!(locks.waiters().enqueue(&key("b"), &key("one")));
    let (who, _, why) = hosts.next().await;
    assert_eq!(who, "one");
    assert!(why.contains("a name is free"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn p26_a_deleted_owner_stops_waiting() {
    let plane = LocksFixture::new().await;
    let locks = plane.locks();
    let mut hosts = hosts(&plane, &locks);
    plane.host("one").await;
    held(hosts.next().await.1);
    plane.host("two").await;
    taken(hosts.next().await.1);
    assert_eq!(locks.waiters().len(), 1);
    let gone = plane.hosts.delete(&key("two"), &Deletion::default()).await.unwrap();
    hosts.informer.wait_for(gone.token(), PATIENCE).await.unwrap();
    soon(async {
        while !locks.waiters().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn p26_a_claim_reports_a_full_wait_queue() {
    let plane = LocksFixture::new().await;
    let (one, other) = (plane.host("one").await, plane.host("other").await);
    let few = locks(&plane.names, Arc::new(plane.names.clone()), |builder| builder.waiters(0));
    held(few.claim(&one, &"a".to_owned()).await.unwrap());
    assert!(!taken(few.claim(&other, &"a".to_owned()).await.unwrap()).is_queued);
}
