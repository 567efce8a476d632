//! Promises 18 and 20: end of a term, and the next one in the same process.

use crate::lease_fixture::{
    ConfigMapNote, ElectionFixture, Link, RunningCandidate, elector, note, until, within, work,
};
use machinery_controllers::{Controller, ElectionPhase, LeadError, Next, Phase, Run, Term};
use machinery_objects::{Preconditions, Writer};
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

#[tokio::test(start_paused = true)]
async fn p18_a_stopping_leader_renews_until_its_work_ended_and_releases() {
    let fixture = ElectionFixture::new().await;
    let elector = elector("first", &fixture.leases());
    let (sender, mut begun) = unbounded_channel();
    let work = move |term: Term| {
        let _ = sender.send(term.clone());
        async move {
            term.token().cancelled().await;
            sleep(Duration::from_secs(120)).await;
            "all is put away"
        }
    };
    let stopping = CancellationToken::new();
    let (leads, stop) = (elector.clone(), stopping.clone());
    let leading = fixture.tasks.spawn(async move { leads.lead(work, stop).await });
    within(begun.recv()).await.unwrap();
    let mut second = RunningCandidate::new(&fixture, "second");
    stopping.cancel();
    sleep(Duration::from_secs(119)).await;
    assert_eq!(elector.state().phase, ElectionPhase::Stopping);
    assert!(second.terms.try_recv().is_err(), "the first one still has something to do");
    assert_eq!(leading.await.unwrap(), Ok(Some("all is put away")));
    let released = fixture.lease().await["spec"].clone();
    assert_eq!((&released["holderIdentity"], &released["leaseDurationSeconds"]), (&json!(""), &json!(1)));
    let free = Instant::now();
    second.leads().await;
    assert!(free.elapsed() < Duration::from_secs(5), "it looks every so often, and need not wait for 15 s");
    assert_eq!(elector.state().phase, ElectionPhase::Idle);
}

#[tokio::test(start_paused = true)]
async fn p18_work_that_ends_by_itself_ends_the_term() {
    let fixture = ElectionFixture::new().await;
    let elector = elector("first", &fixture.leases());
    let done = elector.lead(|term| async move { term.epoch() }, CancellationToken::new()).await;
    assert_eq!(done, Ok(Some(0)));
    let panics = elector.lead(|_| async { panic!("on purpose") }, CancellationToken::new()).await;
    assert_eq!(panics, Err::<Option<()>, _>(LeadError::Panicked("on purpose".into())));
    let at_once = elector.lead(
        |term| {
            assert!(term.epoch() < 2, "on purpose");
            async {}
        },
        CancellationToken::new(),
    );
    assert_eq!(at_once.await, Err(LeadError::Panicked("on purpose".into())));
    assert_eq!(fixture.lease().await["spec"]["holderIdentity"], json!(""));
    assert_eq!(elector.state().counts.terms, 3);
}

#[tokio::test(start_paused = true)]
async fn p18_an_elector_runs_once_at_a_time_and_dropping_it_releases_nothing() {
    let fixture = ElectionFixture::new().await;
    let mut first = RunningCandidate::new(&fixture, "first");
    let term = first.leads().await;
    let again = first.elector.lead(work(unbounded_channel().0), CancellationToken::new()).await;
    assert_eq!(again, Err(LeadError::AlreadyRunning));
    first.leading.abort();
    assert!(first.leading.await.unwrap_err().is_cancelled());
    assert_eq!(first.elector.state().phase, ElectionPhase::Idle);
    assert_eq!(fixture.lease().await["spec"]["holderIdentity"], json!("first"));
    let mut second = RunningCandidate::new(&fixture, "second");
    assert_eq!(second.leads().await.epoch(), term.epoch() + 1);
    let not_led = CancellationToken::new();
    not_led.cancel();
    assert_eq!(first.elector.lead(work(unbounded_channel().0), not_led).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn p20_a_controller_stops_with_its_term_and_starts_with_the_next_on_warm_caches() {
    let fixture = ElectionFixture::new().await;
    let notes = fixture.notes();
    notes.create(&note("a", "0"), None).await.unwrap();
    let informer = fixture.informer();
    informer.synced().await.unwrap();
    let controller = Controller::of("notes", &informer).build().unwrap();
    let leases = fixture.leases();
    let elector = elector("me", &leases);
    let (sender, mut seen) = unbounded_channel();
    let work = {
        let controller = controller.clone();
        move |term: Term| {
            let (controller, sender) = (controller.clone(), sender.clone());
            let epoch = term.epoch();
            let reconcile = move |note: Arc<ConfigMapNote>, _: Run| {
                let _ = sender.send((epoch, note.text().to_owned()));
                async { Ok::<_, Infallible>(Next::Done) }
            };
            async move { controller.run(reconcile, term.token().clone()).await }
        }
    };
    let stopping = fixture.stopping.child_token();
    let (leads, stop) = (elector.clone(), stopping.clone());
    let leading = fixture.tasks.spawn(async move { leads.lead(work, stop).await });
    for epoch in 0..3 {
        assert_eq!(within(seen.recv()).await.unwrap(), (epoch, epoch.to_string()));
        assert_eq!(controller.state().phase, Phase::Working);
        leases.is(Link::Fails);
        until(|| controller.state().phase == Phase::Idle).await;
        assert_eq!(elector.state().counts.lost, epoch + 1);
        let token = notes
            .update(&note("a", &(epoch + 1).to_string()), &Preconditions::default())
            .await
            .unwrap()
            .token;
        informer.wait_for(&token, Duration::from_secs(10)).await.unwrap();
        assert!(seen.try_recv().is_err(), "nobody leads");
        leases.is(Link::Open);
    }
    assert_eq!(within(seen.recv()).await.unwrap(), (3, "3".to_owned()));
    let counts = informer.state().counts;
    assert_eq!((counts.lists, counts.watches), (0, 1), "one list or watch: the cache stays synced");
    stopping.cancel();
    assert!(leading.await.unwrap().unwrap().unwrap().unwrap().dropped.is_empty());
}

/// Regression: a drain of 30 s continued for 25 s beside the next leader.
#[tokio::test(start_paused = true)]
async fn p20_without_fences_a_run_is_dropped_before_another_leads() {
    for has_fences in [false, true] {
        let fixture = ElectionFixture::new().await;
        fixture.notes().create(&note("a", "0"), None).await.unwrap();
        let informer = fixture.informer();
        let controller = Controller::of("notes", &informer).build().unwrap();
        let mut leases = fixture.leases();
        leases.has_fences = has_fences;
        let elector = elector("first", &leases);
        let (begins, mut begun) = unbounded_channel();
        let work = {
            let controller = controller.clone();
            move |term: Term| {
                let (controller, begins) = (controller.clone(), begins.clone());
                let reconcile = move |_: Arc<ConfigMapNote>, _: Run| {
                    let begins = begins.clone();
                    async move {
                        let (alive, dropped) = oneshot::channel::<()>();
                        let _ = begins.send(dropped);
                        sleep(Duration::from_secs(29)).await; // ignores the cancellation
                        drop(alive);
                        Ok::<_, Infallible>(Next::After(Duration::from_secs(3600)))
                    }
                };
                async move { term.within(controller.run(reconcile, term.token().clone())).await.is_some() }
            }
        };
        let stopping = fixture.stopping.child_token();
        let (leads, stop) = (elector.clone(), stopping.clone());
        let leading = fixture.tasks.spawn(async move { leads.lead(work, stop).await });
        let mut run = within(begun.recv()).await.unwrap();
        let renewed = Instant::now() - elector.state().renewed.unwrap();
        let mut second = RunningCandidate::new(&fixture, "second");
        leases.is(Link::Fails);
        until(|| elector.state().phase == ElectionPhase::Stopping).await;
        second.leads().await;
        assert!(renewed.elapsed() >= Duration::from_secs(15), "others wait so long");
        assert_eq!(
            run.try_recv() == Err(TryRecvError::Closed),
            !has_fences,
            "dropped where nothing refuses it"
        );
        // Another run starts only with another term.
        second.stopping.cancel();
        leases.is(Link::Open);
        drop(within(begun.recv()).await.unwrap());
        stopping.cancel();
        let ended = within(leading).await.unwrap();
        assert_eq!(ended, Ok(Some(true)), "a requested stop may drain longer, as the Lease is renewed");
    }
}
