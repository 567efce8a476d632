//! Promises 14 and 17: terms, and holders that outlive their Lease.

use crate::lease_fixture::{
    ElectionFixture, LEASE, Link, RunningCandidate, brief, elector, note, until, within, work,
};
use machinery_apiserver::Identity;
use machinery_controllers::{ElectionPhase, Term};
use machinery_kube::kube_client::{self, Client};
use machinery_objects::{Conflict, Deletion, Object, Patch, PatchFormat, Preconditions, WriteError, Writer};
use machinery_sync::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

fn fenced(term: &Term) -> Preconditions {
    Preconditions { fence: Some(term.fence().clone()), ..Preconditions::default() }
}

/// The fence as a literal header.
fn header(term: &Term) -> String {
    let fence = term.fence();
    format!("coordination.k8s.io/v1/leases/{LEASE}; uid={}; epoch={}", fence.uid, term.epoch())
}

/// Updates a ConfigMap by a raw request.
async fn put(client: &Client, term: &Term, text: &str) -> Result<Value, kube_client::Error> {
    let request = http::Request::patch("/api/v1/namespaces/default/configmaps/a")
        .header("content-type", "application/merge-patch+json")
        .header("Machinery-Fence", header(term))
        .body(json!({"data": {"text": text}}).to_string().into_bytes());
    client.request(request.unwrap()).await
}

#[tokio::test(start_paused = true)]
async fn p17_a_resumed_holder_of_an_expired_lease_is_rejected_by_the_server() {
    let fixture = ElectionFixture::new().await;
    let (notes, client) =
        (fixture.notes(), Client::new(fixture.server.service(Identity::admin()), "default"));
    notes.create(&note("a", "0"), None).await.unwrap();

    // A future that is not polled is a suspended process.
    let (sender, mut terms) = unbounded_channel();
    let first = elector("first", &fixture.leases());
    let mut leading = Box::pin(first.lead(work(sender), CancellationToken::new()));
    let stale = tokio::select! {
        biased;
        _ = &mut leading => panic!("it leads for ever"),
        term = terms.recv() => term.unwrap(),
    };
    notes.update(&note("a", "first"), &fenced(&stale)).await.unwrap();
    put(&client, &stale, "first, by hand").await.unwrap();

    let mut second = RunningCandidate::new(&fixture, "second");
    let term = second.leads().await;
    assert_eq!(term.epoch(), stale.epoch() + 1);
    assert!(!stale.token().is_cancelled(), "it does not know");
    assert_eq!(first.state().phase, ElectionPhase::Leading);
    assert!(first.check(Duration::ZERO).is_err() && first.check(Duration::from_secs(3600)).is_ok());

    // It resumes its write before the elector is polled.
    let refused = WriteError::Conflict(Conflict::Fence(Box::new(stale.fence().clone())));
    let only_if = fenced(&stale);
    assert_eq!(notes.update(&note("a", "late"), &only_if).await.unwrap_err(), refused);
    assert_eq!(notes.create(&note("b", "late"), Some(stale.fence())).await.unwrap_err(), refused);
    let patch = Patch { format: PatchFormat::Merge, body: br#"{"data":null}"#[..].into(), status: false };
    assert_eq!(notes.patch(&note("a", "").key(), &patch, &only_if).await.unwrap_err(), refused);
    let deletion = Deletion { only_if, ..Deletion::default() };
    assert_eq!(notes.delete(&note("a", "").key(), &deletion).await.unwrap_err(), refused);
    let by_hand = put(&client, &stale, "late, by hand").await.unwrap_err();
    let kube_client::Error::Api(status) = by_hand else { panic!("{by_hand}") };
    let causes = &status.details.as_ref().unwrap().causes;
    assert_eq!(
        (status.code, causes[0].reason.as_str(), causes[0].message.as_str()),
        (409, "FenceStale", "its epoch is 1")
    );

    // The elector notices the lost term.
    let _still = within(futures::future::select(leading, Box::pin(stale.token().cancelled()))).await;
    assert!(stale.token().is_cancelled());
    assert!(first.check(Duration::ZERO).is_ok());
    put(&client, &term, "second, by hand").await.unwrap();
    let written = notes.update(&note("a", "second"), &fenced(&term)).await.unwrap();
    assert_eq!(written.object.text(), "second");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p17_a_holder_with_a_blocked_runtime_is_rejected_at_its_first_write() {
    let fixture = ElectionFixture::new().await;
    let (notes, leases) = (fixture.notes(), fixture.leases());
    notes.create(&note("a", "0"), None).await.unwrap();
    let (begins, mut begun) = unbounded_channel();
    let (resume, resumed) = std::sync::mpsc::channel::<()>();
    let (resumed, stopping) = (Arc::new(Mutex::new(resumed)), CancellationToken::new());
    let (writes, ends) = (notes.clone(), stopping.clone());
    let blocks = move |term: Term| {
        let (notes, begins, resumed, ends) = (writes.clone(), begins.clone(), resumed.clone(), ends.clone());
        async move {
            notes.update(&note("a", "first"), &fenced(&term)).await.unwrap();
            begins.send(term.clone()).unwrap();
            resumed.lock().recv().unwrap();
            let late = notes.update(&note("a", "late"), &fenced(&term)).await;
            ends.cancel();
            late.map(|late| late.object).map_err(|error| (error, term.fence().clone()))
        }
    };
    let first = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(brief("first", &leases).lead(blocks, stopping))
    });
    let stale = begun.recv().await.unwrap();
    let (sender, mut terms) = unbounded_channel();
    let second = brief("second", &fixture.leases());
    fixture.tasks.spawn(async move { second.lead(work(sender), CancellationToken::new()).await });
    let term = terms.recv().await.unwrap();
    assert_eq!(term.epoch(), stale.epoch() + 1);
    resume.send(()).unwrap();
    let (error, fence) = first.await.unwrap().unwrap().unwrap().unwrap_err();
    assert_eq!(error, WriteError::Conflict(Conflict::Fence(Box::new(fence))));
}

#[tokio::test(start_paused = true)]
async fn p17_a_leader_stops_before_the_next_term_and_rejoins_when_its_work_ended() {
    let fixture = ElectionFixture::new().await;
    let mut first = RunningCandidate::new(&fixture, "first");
    let term = first.leads().await;
    let mut second = RunningCandidate::new(&fixture, "second");
    second.is(ElectionPhase::Candidate).await;
    first.leases.is(Link::Silent);
    within(term.token().cancelled()).await;
    let state = first.elector.state();
    assert_eq!((state.counts.terms, state.counts.lost), (1, 1));
    assert!(second.terms.try_recv().is_err(), "nobody leads yet");
    let next = second.leads().await;
    assert_eq!(next.epoch(), term.epoch() + 1);
    assert_eq!(second.elector.state().holder.as_deref(), Some("second"));

    // The first candidate resumes and observes the new holder.
    first.leases.is(Link::Open);
    until(|| first.elector.state().holder.as_deref() == Some("second")).await;
    assert_eq!(first.elector.state().phase, ElectionPhase::Candidate);
    second.stopping.cancel();
    assert_eq!(second.leading.await.unwrap(), Ok(Some(next.epoch())));
    assert_eq!(first.leads().await.epoch(), next.epoch() + 1);
}

#[tokio::test(start_paused = true)]
async fn p17_unfinished_work_keeps_a_candidate_from_rejoining() {
    let fixture = ElectionFixture::new().await;
    let leases = fixture.leases();
    let elector = elector("me", &leases);
    let (sender, mut begun) = unbounded_channel();
    let (ends, ended) = (CancellationToken::new(), CancellationToken::new());
    let end = ends.clone();
    let work = move |term: Term| {
        let _ = sender.send(term);
        let end = end.clone();
        async move { end.cancelled().await }
    };
    let (leads, stop) = (elector.clone(), ended.clone());
    let leading = fixture.tasks.spawn(async move { leads.lead(work, stop).await });
    let term = within(begun.recv()).await.unwrap();
    leases.is(Link::Fails);
    within(term.token().cancelled()).await;
    leases.is(Link::Open);
    sleep(Duration::from_secs(600)).await;
    let state = elector.state();
    assert_eq!((state.phase, state.renewed), (ElectionPhase::Stopping, None));
    assert!(begun.try_recv().is_err());
    ends.cancel();
    assert_eq!(within(begun.recv()).await.unwrap().epoch(), term.epoch() + 1);
    ended.cancel();
    assert_eq!(leading.await.unwrap(), Ok(Some(())));
}

#[tokio::test(start_paused = true)]
async fn p14_lost_responses_do_not_end_a_term() {
    let fixture = ElectionFixture::new().await;
    let mut first = RunningCandidate::new(&fixture, "first");
    first.leases.is(Link::LosesAnswers);
    sleep(Duration::from_secs(9)).await;
    assert_eq!(fixture.lease().await["spec"]["holderIdentity"], json!("first"));
    assert!(first.terms.try_recv().is_err(), "it leads only if it knows");
    first.leases.is(Link::Open);
    let term = first.leads().await;
    assert_eq!(term.epoch(), 0);
    for way in [Link::LosesAnswers, Link::Fails, Link::Silent] {
        first.leases.is(way);
        sleep(Duration::from_secs(4)).await;
        first.leases.is(Link::Open);
        sleep(Duration::from_secs(20)).await;
    }
    assert!(!term.token().is_cancelled());
    let state = first.elector.state();
    assert_eq!((state.phase, state.problem, state.counts.terms), (ElectionPhase::Leading, None, 1));
    assert!(state.counts.failed > 4, "{:?}", state.counts);
}
