//! Promise 4: owners run for events of owned objects.

use crate::fixture::{Fixture, controlled, next, of, part, plane, silence, whole};
use machinery_objects::{Kind, Scope};
use std::collections::BTreeSet;

#[tokio::test(start_paused = true)]
async fn p04_events_of_owned_objects_reconcile_present_and_former_owners() {
    let stage = Fixture::new();
    let (wholes, parts) = (plane(), plane());
    for whole in ["n/a", "n/b"] {
        wholes.put(part(whole));
    }
    let controller =
        of(&stage.informer(&wholes)).owning("pieces", &stage.informer(&parts), &whole()).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    for _ in 0..2 {
        next(&mut started).await.done();
    }
    parts.put(part("n/x").of("a"));
    let run = next(&mut started).await;
    assert_eq!(run.subject.key.as_str(), "n/a");
    assert!(format!("{:?}", run.run.causes).contains("pieces added 1"), "{:?}", run.run.causes);
    run.done();
    silence(&mut started).await;

    parts.put(part("n/x").of("b"));
    let mut ran = BTreeSet::new();
    for _ in 0..2 {
        let run = next(&mut started).await;
        ran.insert(run.subject.key.to_string());
        run.done();
    }
    assert_eq!(ran, ["n/a", "n/b"].map(String::from).into());
    silence(&mut started).await;

    parts.delete(&"n/x".parse().unwrap());
    let run = next(&mut started).await;
    assert_eq!(run.subject.key.as_str(), "n/b");
    assert!(format!("{:?}", run.run.causes).contains("pieces deleted"), "{:?}", run.run.causes);
    run.done();
    silence(&mut started).await;
}

#[tokio::test(start_paused = true)]
async fn p04_a_missing_owner_makes_no_run_and_counts_as_absent() {
    let stage = Fixture::new();
    let (wholes, parts) = (plane(), plane());
    parts.put(part("n/x").of("nobody"));
    parts.put(part("n/y").of(".."));
    let controller =
        of(&stage.informer(&wholes)).owning("pieces", &stage.informer(&parts), &whole()).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    silence(&mut started).await;
    let counts = controller.state().counts;
    assert_eq!((counts.absent, counts.panicked, counts.source_panics), (1, 0, 0));
}

/// Regression: both states of an update name the same owner, which was requested twice.
#[tokio::test(start_paused = true)]
async fn p04_an_update_is_one_cause_for_an_unchanged_owner() {
    let stage = Fixture::new();
    let (wholes, parts) = (plane(), plane());
    wholes.put(part("n/a"));
    let controller =
        of(&stage.informer(&wholes)).owning("pieces", &stage.informer(&parts), &whole()).build().unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    next(&mut started).await.done();
    parts.put(part("n/x").of("a"));
    next(&mut started).await.done();
    parts.put(part("n/x").of("a").says("changed"));
    let run = next(&mut started).await;
    assert_eq!(format!("{:?}", run.run.causes), r#"["pieces updated 2 (×1)"]"#);
    run.done();
}

/// References to an unknown kind, to a successor of the owner, and with an invalid name.
#[tokio::test(start_paused = true)]
async fn p04_dangling_owner_references_are_harmless() {
    let stage = Fixture::new();
    let (wholes, parts) = (plane(), plane());
    wholes.put(part("n/a"));
    let unknown = Kind::new("example.org/v9", "Nothing", "nothings", Scope::Namespaced).unwrap();
    let controller = of(&stage.informer(&wholes))
        .owning("pieces", &stage.informer(&parts), &whole())
        .owning("orphans", &stage.informer(&parts), &unknown)
        .build()
        .unwrap();
    let (reconcile, mut started) = controlled();
    stage.run(&controller, reconcile, &stage.stopping);
    next(&mut started).await.done();
    for (name, owner) in [("n/u", "../a"), ("n/v", ""), ("n/w", "A\u{0}"), ("n/x", "gone")] {
        parts.put(part(name).of(owner));
    }
    silence(&mut started).await;
    // The reference has the UID of a predecessor: the present object of the name runs, harmlessly.
    parts.put(part("n/y").of("a"));
    let run = next(&mut started).await;
    assert_ne!(run.subject.uid, "1", "{:?}", run.subject);
    run.done();
    silence(&mut started).await;
    let counts = controller.state().counts;
    assert_eq!((counts.absent, counts.panicked, counts.failed, counts.source_panics), (1, 0, 0, 0));
}
