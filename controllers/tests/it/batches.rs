//! Priorities of keys, and batches: promise 37.

use crate::fixture::{Fixture, Part, of, part, plane, settings};
use machinery_controllers::{Next, Priority, Run, Settings};
use machinery_sync::Mutex;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn p37_urgent_keys_run_before_others() {
    let stage = Fixture::new();
    let plane = plane();
    for name in ["n/a", "n/b", "n/c", "n/urgent"] {
        plane.put(part(name));
    }
    let parts = stage.informer(&plane);
    let priority = |key: &machinery_objects::ObjectKey| match key.name() {
        "urgent" => Priority::HIGH,
        "b" => panic!("on purpose"),
        _ => Priority::NORMAL,
    };
    let one = Settings { workers: 1, ..settings() };
    let controller = of(&parts).prioritizing(priority).settings(one).build().unwrap();
    let ran = Arc::new(Mutex::new(Vec::new()));
    let notes = ran.clone();
    let reconcile = move |it: Arc<Part>, run: Run| {
        notes.lock().push((it.key.name().to_owned(), run.priority));
        async { Ok::<_, String>(Next::Done) }
    };
    stage.run(&controller, reconcile, &stage.stopping);
    sleep(Duration::from_secs(1)).await;
    let ran = ran.lock();
    assert_eq!(ran.len(), 4);
    assert_eq!(ran[0], ("urgent".to_owned(), Priority::NORMAL), "it is lowered in the initial list");
    assert!(ran[1..].iter().all(|(_, priority)| *priority == Priority::LOW), "{ran:?}");
}

#[tokio::test(start_paused = true)]
async fn p37_the_keys_of_a_batch_succeed_and_fail_alone_and_see_its_writes() {
    let stage = Fixture::new();
    let plane = plane();
    for name in ["n/a", "n/b", "n/c"] {
        plane.put(part(name));
    }
    let parts = stage.informer(&plane);
    let controller = of(&parts).settings(Settings { workers: 1, ..settings() }).build().unwrap();
    let batches = Arc::new(Mutex::new(Vec::new()));
    let (notes, writes, shows) = (batches.clone(), plane.clone(), parts.clone());
    let reconcile = move |all: Vec<(Arc<Part>, Run)>| {
        let (notes, writes, shows) = (notes.clone(), writes.clone(), shows.clone());
        async move {
            let mut names: Vec<_> = all.iter().map(|(it, _)| it.key.name().to_owned()).collect();
            let mut results = Vec::new();
            for (it, run) in &all {
                results.push(match it.key.name() {
                    "a" if it.text.is_empty() => {
                        run.wrote(&writes.put(part("n/a").says("own")), &shows);
                        Ok(Next::Done)
                    }
                    "b" if run.attempts == 0 => Err("on purpose".to_owned()),
                    _ => Ok(Next::Done),
                });
            }
            names.sort();
            notes.lock().push(names);
            results
        }
    };
    let (running, stopping) = (controller.clone(), stage.stopping.clone());
    let max = NonZeroUsize::new(8).unwrap();
    stage.tasks.spawn(async move { running.run_batches(max, reconcile, stopping).await });
    sleep(Duration::from_secs(60)).await;
    let all = [["a", "b", "c"].map(String::from).to_vec(), vec!["b".to_owned()]];
    assert_eq!(*batches.lock(), all);
    let counts = controller.state().counts;
    assert_eq!((counts.done, counts.failed, counts.own_events), (3, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn p37_a_batch_without_results_or_with_a_panic_fails_all_its_keys() {
    for panics in [false, true] {
        let stage = Fixture::new();
        let plane = plane();
        plane.put(part("n/a"));
        plane.put(part("n/b"));
        let parts = stage.informer(&plane);
        let controller = of(&parts).build().unwrap();
        let reconcile = move |all: Vec<(Arc<Part>, Run)>| async move {
            let is_retry = all.iter().all(|(_, run)| run.attempts > 0);
            assert!(is_retry || !panics, "on purpose");
            if is_retry { all.iter().map(|_| Ok::<_, String>(Next::Done)).collect() } else { Vec::new() }
        };
        let (running, stopping) = (controller.clone(), stage.stopping.clone());
        let max = NonZeroUsize::new(8).unwrap();
        stage.tasks.spawn(async move { running.run_batches(max, reconcile, stopping).await });
        sleep(Duration::from_secs(60)).await;
        let counts = controller.state().counts;
        assert_eq!((counts.done, counts.failed + counts.panicked), (2, 2), "{counts:?}");
    }
}
