//! Promises 15, 16 and 19: foreign and malformed contents, and invalid configurations.

use crate::lease_fixture::{ElectionFixture, Link, RunningCandidate, config, reads, within, work};
use jiff::Timestamp;
use machinery_apiserver::Identity;
use machinery_controllers::{ElectionConfigError, ElectionPhase, Elector, Lease};
use machinery_kube::kube_client::Client;
use machinery_kube::{Remote, ServerProfile};
use machinery_objects::{ListWatch, Writer};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

#[tokio::test(start_paused = true)]
async fn p19_failed_and_unanswered_requests_are_retried() {
    let fixture = ElectionFixture::new().await;
    for (way, says) in [(Link::Fails, "cut"), (Link::Silent, "in time")] {
        let mut one = RunningCandidate::new(&fixture, &format!("{way:?}"));
        one.leases.is(way);
        sleep(Duration::from_secs(60)).await;
        let state = one.elector.state();
        assert_eq!(state.phase, ElectionPhase::Candidate);
        assert!(state.problem.as_ref().unwrap().contains(says), "{state:?}");
        assert!((5..40).contains(&state.counts.failed), "{state:?}");
        one.leases.is(Link::Open);
        one.leads().await;
        assert_eq!(one.elector.state().problem, None);
        one.stopping.cancel();
        one.leading.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn p19_foreign_fields_of_the_lease_are_preserved() {
    let fixture = ElectionFixture::new().await;
    let client = Client::new(fixture.server.service(Identity::admin()), "default");
    let lease: Lease = serde_json::from_value(json!({
        "metadata": {
            "name": "hosts", "namespace": "kube-system", "labels": {"a": "b"}, "annotations": {"c": "d"},
            "finalizers": ["example.com/kept"],
        },
    }))
    .unwrap();
    let leases = Remote::<Lease>::new(client, Lease::kind(), ServerProfile::machinery());
    leases.create(&lease, None).await.unwrap();
    let reads: Arc<dyn ListWatch<Lease>> = Arc::new(leases.clone());
    let elector = Elector::new(config("me"), reads, Arc::new(leases), || Timestamp::UNIX_EPOCH).unwrap();
    let epoch = elector.lead(|term| async move { term.epoch() }, CancellationToken::new()).await;
    assert_eq!(epoch, Ok(Some(1)));
    let mut there = fixture.lease().await;
    let metadata = there["metadata"].take();
    assert_eq!((&metadata["labels"], &metadata["annotations"]), (&json!({"a": "b"}), &json!({"c": "d"})));
    assert_eq!(metadata["finalizers"], json!(["example.com/kept"]));
    // Unknown fields of the spec: `p19_unknown_fields_survive_a_round_trip`. This server drops them.
    let then = "1970-01-01T00:00:00.000000Z";
    let expected = json!({
        "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 1, "acquireTime": then, "renewTime": then,
    });
    assert_eq!(there["spec"], expected);
}

/// Times in a Lease are informative: clocks set by years in either direction change nothing.
#[tokio::test(start_paused = true)]
async fn p15_wall_clock_jumps_decide_nothing() {
    let fixture = ElectionFixture::new().await;
    let jumps = || {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let years = [0, 90, -60, 30, -1, 200][CALLS.fetch_add(1, SeqCst) % 6];
        Timestamp::from_second(years * 365 * 24 * 3600).unwrap()
    };
    let leases = fixture.leases();
    let elector = Elector::new(config("jumps"), reads(&leases), Arc::new(leases), jumps).unwrap();
    let ((sender, mut terms), stopping) = (unbounded_channel(), CancellationToken::new());
    let (leads, ends) = (elector.clone(), stopping.clone());
    let leading = fixture.tasks.spawn(async move { leads.lead(work(sender), ends).await });
    let term = within(terms.recv()).await.unwrap();
    let mut other = RunningCandidate::new(&fixture, "other");
    sleep(Duration::from_secs(600)).await;
    assert!(!term.token().is_cancelled(), "it renews");
    assert_eq!(other.elector.state().phase, ElectionPhase::Candidate);
    stopping.cancel();
    assert_eq!(leading.await.unwrap(), Ok(Some(0)));
    let released = Instant::now();
    assert_eq!(other.leads().await.epoch(), 1);
    assert!(released.elapsed() < config("other").lease_duration, "it was free: {:?}", released.elapsed());
}

#[tokio::test(start_paused = true)]
async fn p16_invalid_configurations_are_rejected() {
    let fixture = ElectionFixture::new().await;
    let leases = fixture.leases();
    let config = machinery_controllers::ElectionConfig { identity: String::new(), ..config("me") };
    let made = Elector::new(config, reads(&leases), Arc::new(leases), || Timestamp::UNIX_EPOCH);
    assert_eq!(made.unwrap_err(), ElectionConfigError::NoIdentity);
}
