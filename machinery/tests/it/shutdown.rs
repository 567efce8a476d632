//! Shutdown of planes.

use crate::hosts::{Host, Rack, RackSpec, host, until};
use machinery::controllers::{ElectionConfig, Term};
use machinery::objects::InterestBy;
use machinery::tokio::time::{Duration, sleep};
use machinery::{Next, Plane, Run};
use std::sync::Arc;
use tokio::sync::Notify;

async fn begin() -> Plane {
    machinery::embedded()
        .kinds::<(Host, Rack)>()
        .shutdown_timeout(Duration::from_secs(2))
        .start()
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn p03_tasks_exceeding_the_shutdown_timeout_are_named() {
    let plane = begin().await;
    let ends = Arc::new(Notify::new());
    let (one, other, third) = (ends.clone(), ends.clone(), ends.clone());
    let reconcile = move |_: Arc<Host>, _: Run| {
        let ends = one.clone();
        async move {
            ends.notified().await;
            Ok::<_, machinery::Error>(Next::Done)
        }
    };
    let controller = plane.controller::<Host>("stubborn").unwrap();
    let running = tokio_util::task::TaskTracker::new().spawn(async move { controller.run(reconcile).await });
    let hosts = plane.objects::<Host>().unwrap();
    hosts.create(&host("a", 1)).await.unwrap();
    plane.spawn(async move {
        other.notified().await;
        Ok(())
    });
    plane.run(|_| async move { third.notified().await });
    sleep(Duration::from_secs(1)).await;
    let error = plane_ends(&plane).await;
    for name in
        ["the controller stubborn", "the task spawned at ", "the task run at ", "shutdown.rs:", "within 2s"]
    {
        assert!(error.contains(name), "{name} in {error}");
    }
    assert!(!error.contains("informer"), "{error}");
    ends.notify_waiters();
    let left = plane.stop_within(Duration::from_secs(3600)).await.unfinished;
    assert!(left.is_empty(), "it can be waited for again: {left:?}");
    running.await.unwrap().unwrap();
}

/// Sends SIGTERM, as to a real program, and returns the result.
async fn plane_ends(plane: &Plane) -> String {
    plane.stopping().cancel();
    plane.shutdown_on_signal().await.unwrap_err().to_string()
}

#[tokio::test]
async fn p03_a_dropped_plane_leaves_no_task() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert_eq!(tasks(), 0);
    let plane = begin().await;
    let hosts = plane.objects::<Host>().unwrap();
    let locks = plane.name_locks::<Host, _, _>(|_: &u32| Rack::new("", RackSpec {})).unwrap();
    let _recorder = plane.recorder("hosts");
    plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let keyed = plane
        .keyed_informers(InterestBy::Field("metadata.name".into()), |host: &Host| host.metadata.name.clone())
        .unwrap()
        .build();
    plane.run_keyed("by name", &keyed).unwrap();
    let elector = plane.elector(ElectionConfig::new("default/all".parse().unwrap(), "one", 7)).unwrap();
    let runs = |_: Arc<Rack>, _: Run| async { Ok::<_, machinery::Error>(Next::Done) };
    let led = plane.controller::<Rack>("led").unwrap().led(move |_: &Term| runs);
    let leading = plane.lead(&elector, [led]);
    plane.spawn(async { leading.await.map(drop) });
    let controller = plane.controller::<Host>("hosts").unwrap().claiming(&locks).unwrap();
    let waits = |_: Arc<Host>, run: Run| async move {
        run.stopping().cancelled().await;
        Ok::<_, machinery::Error>(Next::Done)
    };
    plane.spawn(async move { controller.run(waits).await.map(drop) });
    hosts.create(&host("a", 1)).await.unwrap();
    until(|| elector.state().counts.terms == 1).await;

    drop(plane.clone());
    sleep(Duration::from_millis(50)).await;
    assert!(!hosts.informer().state().closed, "somebody has it still");
    drop(plane);
    until(|| tasks() == 0).await;
    assert!(hosts.informer().state().closed);
}
