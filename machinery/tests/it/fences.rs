//! Fenced writes of a plane.

use crate::hosts::{Host, HostStatus, Rack, RackSpec, host};
use http::{Request, Response};
use http_body_util::{BodyExt, Either, Full};
use machinery::apiserver::{ApiServer, Identity};
use machinery::controllers::{Claim, ElectionConfig, NameLocks};
use machinery::kube::kube_client::Client;
use machinery::kube::kube_client::client::Body;
use machinery::objects::{
    Conflict, Deletion, ObjectKey, Patch, PatchFormat, Preconditions, SourceError, Uid, WriteError,
};
use machinery::store::{Memory, Options};
use machinery::{Objects, Plane};
use std::convert::Infallible;

fn merge(body: &str) -> Patch {
    Patch { format: PatchFormat::Merge, body: body.as_bytes().into(), status: false }
}

fn key() -> ObjectKey {
    "default/a".parse().unwrap()
}

/// Checks that every kind of write is rejected.
async fn all_refused(hosts: &Objects<Host>, there: &Host, expected: impl Fn(&WriteError) -> bool) {
    let status = Host { status: Some(HostStatus { address: "x".into() }), ..there.clone() };
    let none = Preconditions::default();
    let errors = [
        hosts.create(&host("new", 1)).await.unwrap_err(),
        hosts.update(&Host { spec: host("a", 9).spec, ..there.clone() }).await.unwrap_err(),
        hosts.update_status(&status).await.unwrap_err(),
        hosts.patch(&key(), &merge(r#"{"spec":{"rack":9}}"#), &none).await.unwrap_err(),
        hosts.delete(&key()).await.unwrap_err(),
    ];
    for error in errors {
        assert!(expected(&error), "{error:?}");
    }
}

async fn fenced(plane: &Plane) {
    let hosts = plane.objects::<Host>().unwrap();
    assert!(hosts.has_fences());
    let a = hosts.create(&host("a", 7)).await.unwrap().object;
    let locks: NameLocks<u32, Rack> =
        plane.name_locks::<Host, _, _>(|_: &u32| Rack::new("", RackSpec {})).unwrap();
    let Claim::Held(name) = locks.claim(&a, &7).await.unwrap() else { panic!("it is free") };
    let elector = plane.elector(ElectionConfig::new("default/all".parse().unwrap(), "me", 7)).unwrap();
    let writes = hosts.clone();
    let held = name.fence().unwrap();
    let work = move |term: machinery::controllers::Term| {
        let (hosts, a, held) = (writes.clone(), a.clone(), held.clone());
        async move {
            let both = hosts.fenced(term.fence()).fenced(&held);
            let a = Host { spec: host("a", 8).spec, ..a };
            both.update(&a).await.unwrap();
            let a = both.patch(&key(), &merge(r#"{"spec":{"rack":7}}"#), &Preconditions::default()).await;
            both.create(&host("b", 7)).await.unwrap();
            both.delete(&"default/b".parse().unwrap()).await.unwrap();
            (a.unwrap().object, both)
        }
    };
    let (a, both) = elector.lead(work, plane.stopping().clone()).await.unwrap().unwrap();
    // Another candidate takes the Lease, which ends the term. The name lock is still held.
    let again = plane.elector(ElectionConfig::new("default/all".parse().unwrap(), "other", 7)).unwrap();
    again.lead(|_| async {}, plane.stopping().clone()).await.unwrap();
    let is_stale = |error: &WriteError| matches!(error, WriteError::Conflict(Conflict::Fence(_)));
    all_refused(&both, &a, is_stale).await;

    let by_name = hosts.fenced(&name.fence().unwrap());
    let another = Preconditions { uid: Uid::new("another"), ..Preconditions::default() };
    let is_another = |error: &WriteError| matches!(error, WriteError::Conflict(Conflict::Uid { .. }));
    assert!(is_another(&by_name.update_if(&a, &another).await.unwrap_err()));
    assert!(is_another(&by_name.update_status_if(&a, &another).await.unwrap_err()));
    let deletion = Deletion { only_if: another, ..Deletion::default() };
    let kept = by_name.delete_if(&key(), &deletion).await;
    assert!(matches!(kept, Err(WriteError::Conflict(_))), "{kept:?}");
    let a = by_name.update(&Host { spec: host("a", 8).spec, ..a }).await.unwrap().object;
    locks.release(&name).await.unwrap();
    all_refused(&by_name, &a, is_stale).await;
    hosts.delete(&key()).await.unwrap();
    plane.stop().await;
}

#[tokio::test]
async fn p06_writes_under_a_stale_fence_are_rejected_on_both_transports() {
    fenced(&machinery::embedded().kinds::<(Host, Rack)>().start().await.unwrap()).await;

    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    fenced(&machinery::kube_client(client).kinds::<(Host, Rack)>().start().await.unwrap()).await;
    server.stop().await;
}

/// A server that identifies itself as Kubernetes.
pub(crate) fn kubernetes(server: &ApiServer) -> Client {
    let service = server.service(Identity::admin());
    let asks = move |request: Request<Body>| {
        let service = service.clone();
        async move {
            let is_version = request.uri().path() == "/version";
            let (parts, body) = tower::ServiceExt::oneshot(service, request).await.unwrap().into_parts();
            let body = if is_version {
                let text = body.collect().await.unwrap().to_bytes();
                Either::Left(Full::from(String::from_utf8_lossy(&text).replace("+machinery-", "+")))
            } else {
                Either::Right(body)
            };
            Ok::<_, Infallible>(Response::from_parts(parts, body))
        }
    };
    Client::new(tower::service_fn(asks), "default")
}

#[tokio::test]
async fn p06_a_server_without_fences_receives_no_fenced_write() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let plane = machinery::kube_client(kubernetes(&server)).kinds::<(Host, Rack)>().start().await.unwrap();
    let hosts = plane.objects::<Host>().unwrap();
    assert!(!hosts.has_fences());
    let a = hosts.create(&host("a", 7)).await.unwrap().object;
    let elector = plane.elector(ElectionConfig::new("default/all".parse().unwrap(), "me", 7)).unwrap();
    let work = |term: machinery::controllers::Term| async move { term.fence().clone() };
    let fence = elector.lead(work, plane.stopping().clone()).await.unwrap().unwrap();
    let unsupported =
        |error: &WriteError| *error == WriteError::Source(SourceError::Unsupported { what: "fences" });
    all_refused(&hosts.fenced(&fence), &a, unsupported).await;
    plane.stop().await;
    server.stop().await;
}
