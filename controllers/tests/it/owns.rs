//! Promise 4: owners run for what they own.

use crate::stage::{Stage, asks, next, of, part, plane, silence, whole};
use std::collections::BTreeSet;

#[tokio::test(start_paused = true)]
async fn p04_owners_run_for_what_they_own_and_what_they_did() {
    let stage = Stage::new();
    let (wholes, parts) = (plane(), plane());
    for whole in ["n/a", "n/b"] {
        wholes.put(part(whole));
    }
    let controller =
        of(&stage.informer(&wholes)).owning("pieces", &stage.informer(&parts), &whole()).build().unwrap();
    let (reconcile, mut asked) = asks();
    stage.run(&controller, reconcile, &stage.stopping);
    for _ in 0..2 {
        next(&mut asked).await.done();
    }
    parts.put(part("n/x").of("a"));
    let run = next(&mut asked).await;
    assert_eq!(run.subject.key.as_str(), "n/a");
    assert!(format!("{:?}", run.run.causes).contains("pieces added 1"), "{:?}", run.run.causes);
    run.done();
    silence(&mut asked).await;

    parts.put(part("n/x").of("b"));
    let mut ran = BTreeSet::new();
    for _ in 0..2 {
        let run = next(&mut asked).await;
        ran.insert(run.subject.key.to_string());
        run.done();
    }
    assert_eq!(ran, ["n/a", "n/b"].map(String::from).into());
    silence(&mut asked).await;

    parts.delete(&"n/x".parse().unwrap());
    let run = next(&mut asked).await;
    assert_eq!(run.subject.key.as_str(), "n/b");
    assert!(format!("{:?}", run.run.causes).contains("pieces deleted"), "{:?}", run.run.causes);
    run.done();
    silence(&mut asked).await;
}

#[tokio::test(start_paused = true)]
async fn p04_an_owner_that_is_not_there_makes_no_run_and_is_known_as_absent() {
    let stage = Stage::new();
    let (wholes, parts) = (plane(), plane());
    parts.put(part("n/x").of("nobody"));
    parts.put(part("n/y").of(".."));
    let controller =
        of(&stage.informer(&wholes)).owning("pieces", &stage.informer(&parts), &whole()).build().unwrap();
    let (reconcile, mut asked) = asks();
    stage.run(&controller, reconcile, &stage.stopping);
    silence(&mut asked).await;
    let counts = controller.state().counts;
    assert_eq!((counts.absent, counts.panicked, counts.source_panics), (1, 0, 0));
}
