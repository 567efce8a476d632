//! Promises of the allocator, in one process without crashes.

use crate::allocator_fixture::{AllocatorFixture, CrashGate, port_of};
use crate::locks_fixture::{doc, key};
use machinery_controllers::{AllocateError, AllocationRequest, Controller, Next, Pool, Run};
use machinery_objects::{Deletion, Writer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::yield_now;
use tokio::time::Instant;

fn no_crash() -> Arc<CrashGate> {
    CrashGate::new(|_, _| false)
}

async fn one_process(pools: &[(&str, u16, u16)]) -> Arc<AllocatorFixture> {
    let fixture = AllocatorFixture::new(pools).await;
    fixture.spawn(no_crash());
    fixture
}

#[tokio::test(start_paused = true)]
async fn p29_each_owner_gets_one_member_of_its_pool() {
    let fixture = one_process(&[("p", 1, 3), ("q", 7, 7)]).await;
    for (name, pool) in [("a", "p"), ("b", "p"), ("c", "q"), ("d", "p")] {
        fixture.attach(name, pool).await;
    }
    let mut ports = Vec::new();
    for name in ["a", "b", "d"] {
        ports.push(fixture.has_port(name).await);
    }
    ports.sort_unstable();
    assert_eq!((ports, fixture.has_port("c").await), (vec![1, 2, 3], 7));
}

/// Paused time advances only when idle, so a short time means without any timer.
#[tokio::test(start_paused = true)]
async fn p30_waiters_get_freed_members_at_once_and_in_order() {
    let fixture = one_process(&[("p", 1, 1)]).await;
    fixture.attach("holder", "p").await;
    fixture.has_port("holder").await;
    // Not the order of their names.
    let order = ["c", "a", "d", "b"];
    for name in order {
        fixture.attach(name, "p").await;
        fixture.waits(name).await;
    }
    let mut holder = "holder";
    for (at, next) in order.into_iter().enumerate() {
        let freed = Instant::now();
        fixture.detach(holder).await;
        assert_eq!(fixture.has_port(next).await, 1);
        assert!(freed.elapsed() < Duration::from_millis(10), "{:?}", freed.elapsed());
        for behind in &order[at + 1..] {
            assert!(fixture.get(behind).await.is_some_and(|host| port_of(&host).is_none()));
        }
        holder = next;
    }
}

#[tokio::test(start_paused = true)]
async fn p30_a_deleted_waiter_passes_its_turn_on() {
    let fixture = one_process(&[("p", 1, 1)]).await;
    fixture.attach("holder", "p").await;
    fixture.has_port("holder").await;
    for name in ["first", "second"] {
        fixture.attach(name, "p").await;
        fixture.waits(name).await;
    }
    fixture.detach("first").await;
    fixture.detach("holder").await;
    assert_eq!(fixture.has_port("second").await, 1);
}

/// A lock by hand, without an owner: it blocks its member, and is created and deleted at any time.
#[tokio::test(start_paused = true)]
async fn p31_a_lock_of_another_client_blocks_its_member() {
    let fixture = one_process(&[("p", 1, 1)]).await;
    fixture.plane.names.create(&doc(&key("1")), None).await.unwrap();
    fixture.attach("a", "p").await;
    fixture.waits("a").await;
    fixture.plane.names.delete(&key("1"), &Deletion::default()).await.unwrap();
    assert_eq!(fixture.has_port("a").await, 1);
}

#[tokio::test(start_paused = true)]
async fn p31_pools_with_common_members_wait_for_each_other() {
    let fixture = one_process(&[("p", 1, 2), ("q", 2, 3)]).await;
    for (name, pool) in [("a", "p"), ("b", "p"), ("c", "q"), ("d", "q")] {
        fixture.attach(name, pool).await;
    }
    for name in ["a", "b"] {
        assert!(fixture.until(name, |host| host.spec.len() > 1).await.spec.contains_key("pool"));
    }
    // Three members for four owners, of which one waits.
    let all = ["a", "b", "c", "d"];
    let waiting = async {
        loop {
            let mut waits = Vec::new();
            let mut holds = Vec::new();
            for name in all {
                let host = fixture.get(name).await.unwrap();
                if port_of(&host).is_some() {
                    holds.push(name);
                } else if host.spec.contains_key("since") {
                    waits.push(name);
                }
            }
            if (holds.len(), waits.len()) == (3, 1) {
                return (holds, waits[0]);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let (holds, waits) = waiting.await;
    // The holder of the common member: its deletion serves the waiter of either pool.
    for holder in holds {
        if fixture.has_port(holder).await == 2 {
            fixture.detach(holder).await;
        }
    }
    assert_eq!(fixture.has_port(waits).await, 2);
}

#[tokio::test(start_paused = true)]
async fn p32_an_owner_moves_to_another_pool_after_its_last_use() {
    let fixture = one_process(&[("p", 1, 1), ("q", 7, 7)]).await;
    fixture.attach("a", "p").await;
    fixture.has_port("a").await;
    fixture.attach("b", "p").await;
    fixture.waits("b").await;
    fixture.edit("a", "device", "1").await;
    fixture.edit("a", "pool", "q").await;
    fixture.until("a", |host| port_of(host) == Some(7)).await;
    // Paused time passes when all is idle.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(fixture.locked().await, ["1", "7"], "a device still uses it");
    assert_eq!(port_of(&fixture.get("b").await.unwrap()), None);
    fixture.edit("a", "device", "7").await;
    assert_eq!(fixture.has_port("b").await, 1);
}

#[tokio::test(start_paused = true)]
async fn p32_a_pool_grows_shrinks_and_vanishes() {
    let fixture = one_process(&[("p", 1, 1)]).await;
    for name in ["a", "b"] {
        fixture.attach(name, "p").await;
    }
    fixture.has_port("a").await;
    fixture.waits("b").await;
    let resize = |pool: Option<(u16, u16)>| {
        let mut pools = fixture.pools.lock();
        match pool {
            Some(pool) => drop(pools.insert("p".into(), pool)),
            None => drop(pools.remove("p")),
        }
    };
    // The owners run on changes of the object that defines the pool: here, on an edit of each.
    let touch = |step: &'static str| async {
        for name in ["a", "b"] {
            fixture.edit(name, "step", step).await;
        }
    };
    resize(Some((1, 2)));
    touch("grown").await;
    assert_eq!(fixture.has_port("b").await, 2);
    resize(Some((2, 2)));
    touch("shrunk").await;
    fixture.waits("a").await;
    assert_eq!(fixture.has_port("b").await, 2);
    resize(None);
    touch("gone").await;
    fixture.until("b", |host| port_of(host).is_none()).await;
    resize(Some((5, 6)));
    touch("back").await;
    assert_eq!(fixture.has_port("a").await + fixture.has_port("b").await, 11);
    let unlocked = async {
        while fixture.locked().await != ["5", "6"] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), unlocked).await.expect("former locks are released");
}

#[tokio::test(start_paused = true)]
async fn p33_an_allocator_that_is_not_running_is_an_error_with_a_remedy() {
    let fixture = AllocatorFixture::new(&[]).await;
    let allocator = fixture.process(&no_crash()).allocator;
    let (tasks, stopping) = (&fixture.plane.tasks, &fixture.plane.stopping);
    tasks.spawn(allocator.locks().run(stopping.clone()));
    let host = Arc::new(fixture.plane.host("a").await);
    let controller = Controller::<String, String>::of_requests("requests").build().unwrap();
    let (results, mut refused) = unbounded_channel();
    let reconcile = move |_, run: Run| {
        let (allocator, host, results) = (allocator.clone(), host.clone(), results.clone());
        async move {
            let pool = Pool::range(key("p"), 1..=1).unwrap();
            let _ = results.send(allocator.allocate(&*host, &AllocationRequest::of(&pool), &run).await);
            Ok::<_, AllocateError>(Next::Done)
        }
    };
    {
        let (controller, stopping) = (controller.clone(), stopping.clone());
        tasks.spawn(async move { controller.run(reconcile, stopping).await });
    }
    while !controller.request("a".into(), &"a test").await {
        yield_now().await;
    }
    let refused = refused.recv().await.unwrap();
    assert_eq!(refused, Err(AllocateError::NotRunning));
    assert!(refused.unwrap_err().to_string().contains("add it to the controller with `allocating`"));
}
