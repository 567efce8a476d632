//! Promises 22 to 25: claim, fencing, release and recovery.

use crate::locks_fixture::{
    Doc, FaultPoint, FaultyWriter, LocksFixture, PATIENCE, doc, held, key, kind, taken,
};
use bytes::Bytes;
use futures::future::ready;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use machinery_apiserver::Identity;
use machinery_controllers::{
    Claim, HeldLock, LockError, LockKinds, NameLocks, NoFences, Released, StrayLock, StrayReason,
};
use machinery_objects::{
    Conflict, Deletion, Fence, Freshness, ListWatch, Object, OwnerRef, Preconditions, Uid, WriteError, Writer,
};
use machinery_sync::Mutex;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tower_service::Service;

fn a() -> String {
    "a".to_owned()
}

#[tokio::test]
async fn p22_a_name_has_one_owner_and_a_claim_is_idempotent() {
    let plane = LocksFixture::new().await;
    let locks = plane.locks();
    let (one, other) = (plane.host("one").await, plane.host("other").await);
    let first = held(locks.claim(&one, &a()).await.unwrap());
    assert_eq!((first.key().as_str(), first.lock()), ("a", &key("a")));
    assert_eq!(held(locks.claim(&one, &a()).await.unwrap()).uid(), first.uid(), "the same lock");

    let by = taken(locks.claim(&other, &a()).await.unwrap());
    assert_eq!((by.to_string().as_str(), by.is_queued, by.is_deleting), ("Host one", true, false));
    let free = locks.release(&first).await.unwrap();
    assert!(matches!(free, Released::Free(_)), "{free:?}");
    let second = held(locks.claim(&other, &a()).await.unwrap());
    assert_ne!(second.uid(), first.uid());
    taken(locks.claim(&one, &a()).await.unwrap());
}

#[tokio::test]
async fn p22_a_recreated_owner_does_not_hold_the_lock() {
    let plane = LocksFixture::new().await;
    let locks = plane.locks();
    let before = plane.host("one").await;
    held(locks.claim(&before, &a()).await.unwrap());
    let mut after = before.clone();
    after.metadata.uid = Some("of another of this name".into());
    let by = taken(locks.claim(&after, &a()).await.unwrap());
    assert_eq!(by.owner.unwrap().uid.as_str(), before.uid().unwrap());
}

#[tokio::test]
async fn p22_an_invalid_owner_or_lock_writes_nothing() {
    let plane = LocksFixture::new().await;
    let locks = plane.locks();
    let refused = locks.claim(&doc(&key("new")), &a()).await.unwrap_err();
    assert_eq!(refused.to_string(), "default/new cannot own a lock: it is not stored yet");
    let mut nowhere = plane.host("one").await;
    nowhere.metadata.namespace = None;
    let refused = locks.claim(&nowhere, &a()).await.unwrap_err();
    assert!(matches!(refused, LockError::Owner { .. }), "{refused}");
    let host = plane.host("two").await;
    let refused = locks.claim(&host, &"a".repeat(254)).await.unwrap_err();
    assert!(matches!(refused, LockError::Key(_)), "{refused}");

    let locking =
        LockKinds { kind: kind("HostName"), owners: kind("Host"), writer: Arc::new(plane.names.clone()) };
    let source: Arc<dyn ListWatch<Arc<Doc>>> = Arc::new(plane.names.clone());
    let wrong: NameLocks<String, Doc> =
        NameLocks::builder(locking, source, |_, lock, _| doc(lock)).build().unwrap();
    let refused = wrong.claim(&host, &a()).await.unwrap_err();
    assert_eq!(refused, LockError::Made { name: key("a") });
    assert_eq!(plane.lock("a").await, None);
}

/// Returns a writer with these faults in sequence.
fn unlucky(
    plane: &LocksFixture,
    happens: impl IntoIterator<Item = (FaultPoint, WriteError)>,
) -> Arc<FaultyWriter> {
    let happens = Mutex::new(happens.into_iter().collect::<VecDeque<_>>());
    FaultyWriter::new(&plane.names, move |now| {
        let mut happens = happens.lock();
        let error = happens.pop_front_if(|(when, _)| *when == now);
        Box::pin(ready(error.map_or(Ok(()), |(_, error)| Err(error))))
    })
}

fn lost() -> WriteError {
    WriteError::UnknownOutcome { reason: "the answer is lost".into() }
}

#[tokio::test]
async fn p22_a_claim_with_a_lost_response_is_adopted() {
    let plane = LocksFixture::new().await;
    let host = plane.host("one").await;
    for (name, when) in [("a", FaultPoint::After), ("b", FaultPoint::Before)] {
        let locks = plane.locks_by(unlucky(&plane, [(when, lost())]));
        let held = held(locks.claim(&host, &name.to_owned()).await.unwrap());
        assert_eq!(plane.lock(name).await.unwrap().uid(), Some(held.uid().as_str()));
    }
    let locks = plane.locks_by(unlucky(&plane, [(FaultPoint::After, lost())]));
    taken(locks.claim(&plane.host("other").await, &a()).await.unwrap());
}

#[tokio::test]
async fn p22_a_lock_that_never_settles_is_an_error() {
    let plane = LocksFixture::new().await;
    let host = plane.host("one").await;
    let locks = plane.locks_by(FaultyWriter::new(&plane.names, |when| {
        let there = (when == FaultPoint::Before).then_some(WriteError::AlreadyExists { uid: None });
        Box::pin(ready(there.map_or(Ok(()), Err)))
    }));
    assert_eq!(locks.claim(&host, &a()).await, Err(LockError::Unsettled { name: key("a") }));
}

async fn record(plane: &LocksFixture, only_if: Option<&Fence>) -> Result<(), WriteError> {
    let record = doc(&key("r")).says("under", only_if.map_or("nothing", |fence| fence.uid.as_str()));
    let only_if = Preconditions { fence: only_if.cloned(), ..Preconditions::default() };
    plane.records.update(&record, &only_if).await.map(drop)
}

#[tokio::test]
async fn p23_the_server_rejects_writes_under_a_lost_lock() {
    let plane = LocksFixture::new().await;
    let locks = plane.locks();
    let (one, other) = (plane.host("one").await, plane.host("other").await);
    plane.records.create(&doc(&key("r")), None).await.unwrap();
    let stale = held(locks.claim(&one, &a()).await.unwrap()).fence().unwrap();
    record(&plane, Some(&stale)).await.unwrap();
    let sent = put_by_hand(&plane, &stale).await;
    assert_eq!(sent.0, StatusCode::OK, "{}", sent.1);

    locks.release(&held(locks.claim(&one, &a()).await.unwrap())).await.unwrap();
    for is_taken_again in [false, true] {
        if is_taken_again {
            let fence = held(locks.claim(&other, &a()).await.unwrap()).fence().unwrap();
            record(&plane, Some(&fence)).await.unwrap();
        }
        let refused = record(&plane, Some(&stale)).await.unwrap_err();
        assert_eq!(refused, WriteError::Conflict(Conflict::Fence(Box::new(stale.clone()))));
        let (status, answer) = put_by_hand(&plane, &stale).await;
        assert_eq!(status, StatusCode::CONFLICT, "{answer}");
        assert_eq!(answer["details"]["causes"][0]["reason"], "FenceStale", "{answer}");
    }
}

/// A write by a raw request.
async fn put_by_hand(plane: &LocksFixture, fence: &Fence) -> (StatusCode, Value) {
    let header = format!("example.com/v1/hostnames/default/a; uid={}", fence.uid);
    let there: Arc<Doc> = plane.records.get(&key("r"), Freshness::Newest).await.unwrap().unwrap();
    let body = json!({"apiVersion": "example.com/v1", "kind": "Record", "metadata": there.metadata, "spec": {"by": "hand"}});
    let request = Request::builder()
        .method(Method::PUT)
        .uri("/apis/example.com/v1/namespaces/default/records/r")
        .header("content-type", "application/json")
        .header("machinery-fence", header)
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let answer = plane.server.service(Identity::admin()).call(request).await.unwrap();
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn p23_missing_fence_support_is_an_error() {
    let plane = LocksFixture::new().await;
    let mut writer = unlucky(&plane, []);
    Arc::get_mut(&mut writer).unwrap().fences = false;
    let held = held(plane.locks_by(writer).claim(&plane.host("one").await, &a()).await.unwrap());
    assert_eq!(held.fence(), Err(NoFences));
}

#[tokio::test]
async fn p24_release_is_idempotent_and_spares_later_locks() {
    let plane = LocksFixture::new().await;
    let locks = plane.locks();
    let (one, other) = (plane.host("one").await, plane.host("other").await);
    let first = held(locks.claim(&one, &a()).await.unwrap());
    locks.release(&first).await.unwrap();
    assert_eq!(locks.release(&first).await, Ok(Released::NotHeld));
    let second = held(locks.claim(&other, &a()).await.unwrap());
    assert_eq!(locks.release(&first).await, Ok(Released::NotHeld));
    assert_eq!(plane.lock("a").await.unwrap().uid(), Some(second.uid().as_str()));
}

/// The conflict as plain Kubernetes reports it.
fn conflict() -> WriteError {
    WriteError::Conflict(Conflict::Unspecified { reason: "it is another".into() })
}

#[tokio::test]
async fn p24_a_release_with_unknown_outcome_is_verified() {
    let plane = LocksFixture::new().await;
    let host = plane.host("one").await;
    let claim = async || held(plane.locks().claim(&host, &a()).await.unwrap());
    let release = async |held: &HeldLock<String>, when, error| {
        plane.locks_by(unlucky(&plane, [(when, error)])).release(held).await
    };
    let one = claim().await;
    assert_eq!(
        release(&one, FaultPoint::Before, lost()).await,
        Err(LockError::Write(lost())),
        "it is there still"
    );
    assert_eq!(release(&one, FaultPoint::Before, conflict()).await, Err(LockError::Write(conflict())));
    assert_eq!(release(&one, FaultPoint::After, lost()).await, Ok(Released::NotHeld), "it is gone");
    let another = claim().await;
    assert_eq!(release(&one, FaultPoint::Before, conflict()).await, Ok(Released::NotHeld), "it is another");
    assert_eq!(plane.lock("a").await.unwrap().uid(), Some(another.uid().as_str()));
}

#[tokio::test]
async fn p24_a_name_stays_taken_until_its_lock_has_no_finalizers() {
    let plane = LocksFixture::new().await;
    let locks = plane.locks();
    let host = plane.host("one").await;
    let one = held(locks.claim(&host, &a()).await.unwrap());
    let mut lock = (*plane.lock("a").await.unwrap()).clone();
    lock.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    plane.names.update(&lock, &Preconditions::default()).await.unwrap();
    assert!(matches!(locks.release(&one).await, Ok(Released::Deleting(_))));
    let of_itself = taken(locks.claim(&host, &a()).await.unwrap());
    assert!(of_itself.is_deleting && of_itself.is_queued);
    plane.records.create(&doc(&key("r")), None).await.unwrap();
    assert!(record(&plane, Some(&one.fence().unwrap())).await.is_err(), "its fence is stale already");
}

#[tokio::test]
async fn p25_locks_left_by_a_crash_are_recovered() {
    let plane = LocksFixture::new().await;
    let host = plane.host("one").await;
    let before = plane.locks();
    for name in ["a", "b"] {
        before.claim(&host, &name.to_owned()).await.unwrap();
    }
    let other = plane.host("other").await;
    before.claim(&other, &"c".to_owned()).await.unwrap();

    let locks = plane.locks();
    locks.informer().synced().await.unwrap();
    let kept = locks.recover(&host, |name| name == "b").await.unwrap();
    assert_eq!(kept.iter().map(HeldLock::key).collect::<Vec<_>>(), ["b"]);
    assert_eq!(plane.lock("a").await, None, "it is wanted no more");
    assert!(plane.lock("b").await.is_some() && plane.lock("c").await.is_some());
    assert_eq!(locks.held(&other).unwrap()[0].key(), "c");
    let refused = locks.held(&doc(&key("new"))).unwrap_err();
    assert!(matches!(refused, LockError::Owner { .. }), "{refused}");
}

/// Creates a lock without a claim.
async fn put(plane: &LocksFixture, lock: &str, owner: Option<&OwnerRef>) -> Doc {
    let lock = doc(&key(lock));
    let lock = owner.map_or(lock.clone(), |owner| lock.owned_by(owner));
    plane.names.create(&lock, None).await.unwrap().object
}

fn reference(name: &str, uid: &str) -> OwnerRef {
    OwnerRef::controller(&kind("Host"), &key(name), Uid::new(uid).unwrap())
}

#[tokio::test]
async fn p25_a_stray_lock_is_reported_and_blocks_only_its_own_name() {
    let plane = LocksFixture::new().await;
    let host = plane.host("one").await;
    let ours = reference("one", host.uid().unwrap());
    put(&plane, "x-y", Some(&ours)).await;
    put(&plane, "0x--zz", Some(&ours)).await;
    put(&plane, "unowned", None).await;
    let (locks, hosts) = (plane.locks(), plane.informer(&plane.hosts));
    locks.informer().synced().await.unwrap();
    hosts.synced().await.unwrap();

    let strays = locks.strays(&hosts);
    let name = |stray: &StrayLock| stray.lock.clone();
    assert_eq!(strays.iter().map(name).collect::<Vec<_>>(), ["0x--zz", "unowned", "x-y"].map(key));
    assert!(
        matches!(strays[0].reason, StrayReason::Misnamed(_))
            && matches!(strays[2].reason, StrayReason::Misnamed(_))
    );
    assert_eq!(strays[1].reason, StrayReason::Unowned);
    assert_eq!(locks.held(&host), Ok(Vec::new()), "what is called after no key is no name");
    assert_eq!(locks.recover(&host, |_| false).await, Ok(Vec::new()));
    assert!(plane.lock("x-y").await.is_some(), "and is not deleted either");

    let nobody = taken(locks.claim(&host, &"unowned".to_owned()).await.unwrap());
    assert_eq!((nobody.owner, nobody.is_queued), (None, true));
    held(locks.claim(&host, &a()).await.unwrap());
    plane.names.delete(&key("unowned"), &Deletion::default()).await.unwrap();
    held(locks.claim(&host, &"unowned".to_owned()).await.unwrap());
}

/// Regression: a misnamed lock was silently omitted.
#[tokio::test]
async fn p25_misnamed_locks_are_counted() {
    let plane = LocksFixture::new().await;
    let locks = plane.locks();
    let counted = async |expected| {
        let end = tokio::time::Instant::now() + PATIENCE;
        while locks.misnamed() != expected && tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(locks.misnamed(), expected);
    };
    for name in ["x-y", "x", "0x--zz"] {
        put(&plane, name, None).await;
    }
    counted(2).await;
    #[cfg(feature = "prometheus")]
    {
        let (metrics, mut page) = (machinery_controllers::Metrics::new(), String::new());
        metrics.watch_locks("hostnames.example.com", &locks).unwrap();
        let mut registry = prometheus_client::registry::Registry::default();
        registry.register_collector(Box::new(metrics));
        prometheus_client::encoding::text::encode(&mut page, &registry).unwrap();
        assert!(page.contains("machinery_locks_misnamed{name=\"hostnames.example.com\"} 2\n"), "{page}");
    }
    plane.names.delete(&key("x-y"), &Deletion::default()).await.unwrap();
    counted(1).await;
}

#[tokio::test]
async fn p25_deleting_an_unowned_lock_frees_its_name() {
    let plane = LocksFixture::new().await;
    let (locks, host) = (plane.locks(), plane.host("one").await);
    put(&plane, "a", Some(&reference("nobody", "never was"))).await;
    let mine = async || match locks.claim(&host, &a()).await.unwrap() {
        Claim::Held(_) => true,
        Claim::Taken(by) => {
            assert_eq!(by.to_string(), "Host nobody");
            false
        }
    };
    let freed = async {
        while !mine().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, freed).await.expect("the server collects it");

    plane.hosts.delete(&host.key(), &Deletion::default()).await.unwrap();
    let gone = async {
        while plane.lock("a").await.is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("it goes with its owner");
}

#[tokio::test]
async fn p25_a_missing_owner_is_reported() {
    let plane = LocksFixture::new().await;
    let hosts = plane.informer(&plane.records); // another kind, so no owner exists
    let locks = plane.locks();
    let host = plane.host("one").await;
    let held = held(locks.claim(&host, &a()).await.unwrap());
    locks.informer().wait_for(held.token(), PATIENCE).await.unwrap();
    let strays = locks.strays(&hosts);
    assert_eq!(strays.len(), 1);
    assert_eq!(strays[0].reason.to_string(), "its owner Host one does not exist");
}
