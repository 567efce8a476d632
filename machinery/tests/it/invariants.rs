//! Tests of the invariant checker.

use crate::hosts::{Host, HostStatus, host};
use machinery::Objects;
use machinery::objects::{Object, ObjectKey};
use machinery::testing::{CommittedState, InvariantChecker, InvariantCheckerBuilder};
use machinery::tokio::time::Duration;
use machinery_sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const DEADLINE: Duration = Duration::from_secs(60);

async fn checked(builder: InvariantCheckerBuilder) -> (machinery::Plane, Objects<Host>, InvariantChecker) {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let checker = builder.run(&plane).unwrap();
    (plane.clone(), plane.objects::<Host>().unwrap(), checker)
}

fn with_address(of: &Host, address: &str) -> Host {
    Host { status: Some(HostStatus { address: address.into() }), ..of.clone() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_every_commit_is_checked_in_order() {
    let racks = Arc::new(Mutex::new(Vec::new()));
    let seen = racks.clone();
    let builder = InvariantChecker::builder().always("racks are seen", move |commit| {
        for change in commit.changes::<Host>() {
            let rack = |host: &Option<Arc<Host>>| host.as_ref().map(|host| host.spec.rack);
            seen.lock().push((rack(&change.before), rack(&change.after)));
            let now = commit.state().get::<Host>(&change.key);
            assert_eq!(rack(&now), rack(&change.after), "the state is that of the commit");
        }
        None::<String>
    });
    let (plane, hosts, checker) = checked(builder).await;
    let mut a = hosts.create(&host("a", 0)).await.unwrap().object;
    for rack in 1..200 {
        a.spec.rack = rack;
        a = hosts.update(&a).await.unwrap().object;
    }
    hosts.delete(&a.key()).await.unwrap();
    let state = checker.caught_up().await.unwrap();
    assert!(state.all::<Host>().is_empty());
    let mut expected = vec![(None, Some(0))];
    expected.extend((1..200).map(|rack| (Some(rack - 1), Some(rack))));
    expected.push((Some(199), None));
    assert_eq!(*racks.lock(), expected);
    assert!(checker.violations().is_empty());
    plane.stop().await;
}

/// No two hosts have one address, from the state alone.
fn addresses_are_unique(state: &CommittedState) -> Option<String> {
    let mut holders = BTreeMap::<String, ObjectKey>::new();
    state.all::<Host>().iter().find_map(|host| {
        let address = host.status.as_ref()?.address.clone();
        let other = holders.insert(address.clone(), host.key())?;
        Some(format!("{other} and {} have {address}", host.key()))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_a_violation_of_one_commit_is_found_although_the_next_repairs_it() {
    let builder = InvariantChecker::builder()
        .always("addresses are unique", |commit| addresses_are_unique(commit.state()));
    let (plane, hosts, checker) = checked(builder).await;
    let a = hosts.create(&host("a", 0)).await.unwrap().object;
    let b = hosts.create(&host("b", 0)).await.unwrap().object;
    hosts.update_status(&with_address(&a, "10.0.0.1")).await.unwrap();
    let shared = hosts.update_status(&with_address(&b, "10.0.0.1")).await.unwrap();
    hosts.update_status(&with_address(&shared.object, "10.0.0.2")).await.unwrap();
    let error = checker.wait_for_rest(DEADLINE).await.unwrap_err();
    let [violation] = &error.0[..] else { panic!("{error}") };
    assert_eq!(violation.text, "default/a and default/b have 10.0.0.1");
    assert_eq!(Some(violation.revision.to_string()), shared.object.metadata.resource_version);
    plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_a_failed_assertion_is_a_violation() {
    let builder = InvariantChecker::builder().always("racks are positive", |commit| {
        commit.state().all::<Host>().iter().for_each(|host| assert!(host.spec.rack > 0, "a rack 0"));
        None::<String>
    });
    let (plane, hosts, checker) = checked(builder).await;
    hosts.create(&host("a", 0)).await.unwrap();
    let error = checker.wait_for_rest(DEADLINE).await.unwrap_err().to_string();
    assert!(error.contains("racks are positive") && error.contains("a rack 0"), "{error}");
    plane.stop().await;
}

/// A consumer acts on a commit before the checker has seen it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_an_observation_is_judged_with_every_commit_before_it() {
    let outside = Arc::new(Mutex::new(Vec::<u32>::new()));
    let (observed, judged) = (outside.clone(), Arc::new(AtomicUsize::new(0)));
    let count = judged.clone();
    let builder = InvariantChecker::builder().observe("racks outside exist", move || {
        let (seen, count) = (observed.lock().clone(), count.clone());
        async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok::<_, String>(move |state: &CommittedState| {
                count.fetch_add(1, SeqCst);
                let is_known = |rack: &u32| state.all::<Host>().iter().any(|host| host.spec.rack == *rack);
                seen.into_iter()
                    .filter(move |rack| !is_known(rack))
                    .map(|rack| format!("rack {rack}"))
                    .collect::<Vec<_>>()
            })
        }
    });
    let (plane, hosts, checker) = checked(builder).await;
    for rack in 0..100 {
        hosts.create(&host(&format!("h{rack}"), rack)).await.unwrap();
        outside.lock().push(rack);
    }
    checker.wait_for_rest(DEADLINE).await.unwrap();
    assert!(judged.load(SeqCst) > 1);
    outside.lock().push(1000);
    hosts.create(&host("last", 100)).await.unwrap();
    let error = checker.wait_for_rest(DEADLINE).await.unwrap_err().to_string();
    assert!(error.contains("rack 1000"), "{error}");
    plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_checks_at_rest_are_repeated_until_nothing_differs() {
    let (outside, calls) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counts, called) = (outside.clone(), calls.clone());
    let builder = InvariantChecker::builder().at_rest("as many outside", move |state| {
        called.fetch_add(1, SeqCst);
        let counts = counts.clone();
        async move {
            let (here, there) = (state.all::<Host>().len(), counts.load(SeqCst));
            (here != there).then(|| format!("{here} hosts, and {there} outside"))
        }
    });
    let (plane, hosts, checker) = checked(builder).await;
    hosts.create(&host("a", 1)).await.unwrap();
    let differences = checker.differences().await.unwrap();
    assert_eq!(differences[0].text, "1 hosts, and 0 outside");
    let late = async {
        hosts.create(&host("b", 1)).await.unwrap();
        while calls.load(SeqCst) < 5 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        outside.store(2, SeqCst);
    };
    let (rest, ()) = tokio::join!(checker.wait_for_rest(DEADLINE), late);
    rest.unwrap();
    outside.store(7, SeqCst);
    let error = checker.wait_for_rest(Duration::from_millis(50)).await.unwrap_err().to_string();
    assert!(error.contains("2 hosts, and 7 outside"), "{error}");
    plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_errors_of_the_checker_are_violations() {
    let builder = InvariantChecker::builder().observe("switches", || async {
        Err::<fn(&CommittedState) -> Option<String>, _>("the switch is away")
    });
    let (plane, hosts, checker) = checked(builder).await;
    hosts.create(&host("a", 1)).await.unwrap();
    let error = checker.wait_for_rest(DEADLINE).await.unwrap_err().to_string();
    assert!(error.contains("switches") && error.contains("the switch is away"), "{error}");
    plane.stop().await;
    let error = checker.caught_up().await.unwrap_err().to_string();
    assert!(error.contains("it ended"), "{error}");
}
