//! Fenced writes: a writer that has lost its Lease or lock writes nothing, on any path.

use std::sync::Arc;

use http::Method;
use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_objects::{
    Conflict, Deletion, Fence, Kind, Patch, PatchFormat, Preconditions, Revision, Scope, SourceError, Uid,
    WriteError, Writer,
};
use machinery_store::{Backend, KeySpan, Memory, Options, Range};
use serde_json::{Value, json};

use crate::client::{Answer, Client, definition};
use crate::interposed::Interposed;
use crate::typed::{Widget, WidgetStatus, key, widget};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/hosts";
const LEASE_KEY: &str = "coordination.k8s.io/leases/kube-system/hosts";
const CREWS: &str = "/apis/example.com/v1/namespaces/default/crews";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

struct FencedServers {
    server: ApiServer,
    store: Memory,
    client: Client,
}

/// A server with widgets and a Lease that has changed hands six times.
async fn plane() -> (FencedServers, Value) {
    let store = Memory::new(Options::default());
    let server = ApiServer::builder(store.clone()).crds([definition(), crews()]).start().await.unwrap();
    let client = Client::of(&server);
    let lease = client.post(LEASES, &lease("a", 6)).await.fine();
    (FencedServers { server, store, client }, lease)
}

fn lease(holder: &str, transitions: u64) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "hosts", "namespace": "kube-system"},
        "spec": {"holderIdentity": holder, "leaseTransitions": transitions},
    })
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap()
}

/// The header in the form of a handwritten request.
fn header(lease: &Value, epoch: u64) -> String {
    format!("coordination.k8s.io/v1/leases/kube-system/hosts; uid={}; epoch={epoch}", uid(lease))
}

fn fence(lease: &Value, epoch: Option<u64>) -> Fence {
    let kind = Kind::new("coordination.k8s.io/v1", "Lease", "leases", Scope::Namespaced).unwrap();
    Fence {
        kind,
        key: "kube-system/hosts".parse().unwrap(),
        uid: Uid::new(uid(lease)).unwrap(),
        epoch,
        besides: None,
    }
}

async fn take_over(client: &Client, holder: &str, transitions: u64) {
    let spec = json!({"spec": {"holderIdentity": holder, "leaseTransitions": transitions}});
    client.merge(LEASE, &spec).await.fine();
}

fn object(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"color": "red"}})
}

fn deployment(name: &str) -> Value {
    let labels = json!({"app": "a"});
    let template =
        json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": labels}, "template": template});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec})
}

/// The definition of a kind that can be scaled.
fn crews() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "crews.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "crews", "kind": "Crew"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"scale": scale},
            }],
        },
    })
}

/// Creates the objects of the requests.
async fn fill(client: &Client) {
    let crew = json!({"apiVersion": "example.com/v1", "kind": "Crew", "metadata": {"name": "c"}, "spec": {"replicas": 1}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    for (path, object) in
        [(ALL, object("a")), (DEPLOYMENTS, deployment("d")), (CREWS, crew), ("/api/v1/namespaces", namespace)]
    {
        client.post(path, &object).await.fine();
    }
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// Every way to write on the wire: to objects that are there.
fn ways() -> Vec<(Method, String, &'static str, Value)> {
    let one = format!("{ALL}/a");
    let scale = format!("{CREWS}/c/scale");
    let replicas = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "c", "namespace": "default"},
        "spec": {"replicas": 5},
    });
    let mut generated = object("");
    generated["metadata"] = json!({"generateName": "g-"});
    let mut whole = object("a");
    whole["spec"]["color"] = "blue".into();
    let up = json!({"status": {"phase": "Up"}});
    let mut status = object("a");
    status["status"] = up["status"].clone();
    let json_patch = json!([{"op": "replace", "path": "/spec/color", "value": "green"}]);
    let nothing = json!({});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}, "spec": {"finalizers": []}});
    vec![
        (Method::POST, ALL.into(), JSON, object("new")),
        (Method::POST, ALL.into(), JSON, generated),
        (Method::PUT, one.clone(), JSON, whole),
        (Method::PATCH, one.clone(), MERGE, json!({"spec": {"size": 9}})),
        (Method::PATCH, one.clone(), MERGE, nothing.clone()),
        (Method::PATCH, one.clone(), "application/json-patch+json", json_patch),
        (Method::PUT, format!("{one}/status"), JSON, status),
        (Method::PATCH, format!("{one}/status"), MERGE, up),
        (Method::PUT, scale.clone(), JSON, replicas),
        (Method::PATCH, scale, MERGE, json!({"spec": {"replicas": 7}})),
        (
            Method::PATCH,
            format!("{DEPLOYMENTS}/d"),
            "application/strategic-merge-patch+json",
            json!({"spec": {"paused": true}}),
        ),
        (Method::PUT, "/api/v1/namespaces/n/finalize".into(), JSON, namespace),
        (Method::DELETE, one, JSON, nothing.clone()),
        (Method::DELETE, ALL.into(), JSON, nothing.clone()),
        (Method::DELETE, format!("{DEPLOYMENTS}?labelSelector=none"), JSON, nothing),
    ]
}

async fn write(client: &Client, way: &(Method, String, &str, Value), fence: &str, dry: bool) -> Answer {
    let (method, path, content, body) = way;
    let dry = if dry { if path.contains('?') { "&dryRun=All" } else { "?dryRun=All" } } else { "" };
    let body = match (method, body) {
        // In a body these options would be read from there.
        (&Method::DELETE, _) => String::new(),
        _ => body.to_string(),
    };
    let mut body = body;
    if *method == Method::PUT && !path.contains("finalize") {
        let mut whole: Value = serde_json::from_str(&body).unwrap();
        let there = client.get(path.trim_end_matches("/status")).await.fine();
        whole["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
        body = whole.to_string();
    }
    let headers = [("content-type", *content), ("machinery-fence", fence)];
    client.ask(method.clone(), &format!("{path}{dry}"), &headers, &body).await
}

async fn everything(store: &Memory) -> (Revision, usize) {
    let page = store.range(Range::of(KeySpan::all())).await.unwrap();
    (store.revision().await.unwrap(), page.entries.len())
}

#[tokio::test]
async fn a_holder_paused_past_its_epoch_is_refused_on_every_write_path() {
    let (FencedServers { server, store, client }, lease) = plane().await;
    fill(&client).await;
    for way in &ways() {
        let answer = write(&client, way, &header(&lease, 6), true).await;
        assert!((200..300).contains(&answer.code), "the holder may, {} {}: {answer:?}", way.0, way.1);
    }

    take_over(&client, "b", 7).await;
    let before = everything(&store).await;
    for way in &ways() {
        for dry in [true, false] {
            let answer = write(&client, way, &header(&lease, 6), dry).await;
            let (code, reason, message) = answer.refused();
            assert_eq!((code, reason), (409, "Conflict"), "{} {}: {answer:?}", way.0, way.1);
            assert!(message.contains("its fence is stale"), "{message}");
            let cause =
                json!({"reason": "FenceStale", "message": "its epoch is 7", "field": "Machinery-Fence"});
            assert_eq!(answer.body["details"]["causes"], json!([cause]));
        }
    }
    stale_through_a_handle(&server.handle::<Widget>(Identity::admin()), &fence(&lease, Some(6))).await;
    assert_eq!(everything(&store).await, before, "nothing was written");

    for way in &ways() {
        let answer = write(&client, way, &header(&lease, 7), false).await;
        assert!((200..300).contains(&answer.code), "the new holder may, {} {}: {answer:?}", way.0, way.1);
    }
}

async fn stale_through_a_handle(handle: &Handle<Widget>, fence: &Fence) {
    let stale = WriteError::Conflict(Conflict::Fence(Box::new(fence.clone())));
    let only_if = Preconditions { fence: Some(fence.clone()), ..Preconditions::default() };
    let mut up = widget("a", "red");
    up.status = Some(WidgetStatus { phase: "Up".into() });
    let patch =
        |status, body: &str| Patch { format: PatchFormat::Merge, body: body.as_bytes().into(), status };
    let main = patch(false, r#"{"spec":{"size":9}}"#);
    let nothing = patch(false, "{}");
    let status = patch(true, r#"{"status":{"phase":"Up"}}"#);
    let deletion = Deletion { only_if: only_if.clone(), ..Deletion::default() };
    assert_eq!(handle.create(&widget("new", "red"), Some(fence)).await.unwrap_err(), stale);
    assert_eq!(handle.create(&widget("a", "red"), Some(fence)).await.unwrap_err(), stale, "it is there");
    assert_eq!(handle.update(&widget("a", "blue"), &only_if).await.unwrap_err(), stale);
    assert_eq!(handle.update_status(&up, &only_if).await.unwrap_err(), stale);
    for patch in [&main, &nothing, &status] {
        assert_eq!(handle.patch(&key("a"), patch, &only_if).await.unwrap_err(), stale);
    }
    for name in ["a", "not-there"] {
        assert_eq!(handle.delete(&key(name), &deletion).await.unwrap_err(), stale, "{name}");
    }
    assert_eq!(handle.update(&widget("not-there", "red"), &only_if).await.unwrap_err(), stale);
}

#[tokio::test]
async fn a_fence_is_stale_without_its_object_or_with_another_uid() {
    let (FencedServers { client, .. }, first) = plane().await;
    let way = (Method::POST, ALL.to_owned(), JSON, object("new"));
    let stale = async |fence: &str| {
        let answer = write(&client, &way, fence, false).await;
        assert_eq!(answer.refused().0, 409, "{answer:?}");
        answer.body["details"]["causes"][0]["message"].as_str().unwrap().to_owned()
    };
    client.merge(LEASE, &json!({"metadata": {"finalizers": ["example.com/hold"]}})).await.fine();
    client.delete(LEASE).await.fine();
    assert_eq!(stale(&header(&first, 6)).await, "it is being deleted");
    client.merge(LEASE, &json!({"metadata": {"finalizers": null}})).await.fine();
    assert_eq!(stale(&header(&first, 6)).await, "it is gone");
    let second = client.post(LEASES, &lease("b", 6)).await.fine();
    assert_eq!(stale(&header(&first, 6)).await, format!("another one has its name, of uid {}", uid(&second)));
    let by_uid =
        |lease: &Value| format!("coordination.k8s.io/v1/leases/kube-system/hosts; uid={}", uid(lease));
    assert!(stale(&by_uid(&first)).await.starts_with("another"));
    write(&client, &way, &by_uid(&second), false).await.fine();

    // A lock is an object of any kind: a new holder makes a new one.
    let lock = client.post(ALL, &object("lock")).await.fine();
    let other = (Method::POST, ALL.to_owned(), JSON, object("other"));
    let by_lock = format!("example.com/v1/widgets/default/lock; uid={}", uid(&lock));
    write(&client, &other, &by_lock, false).await.fine();
    client.delete(&format!("{ALL}/lock")).await.fine();
    client.post(ALL, &object("lock")).await.fine();
    assert!(stale(&by_lock).await.starts_with("another"));
}

#[tokio::test]
async fn a_lock_is_released_under_itself() {
    let (FencedServers { client, .. }, _) = plane().await;
    let lock = client.post(ALL, &object("lock")).await.fine();
    let by_lock = format!("example.com/v1/widgets/default/lock; uid={}", uid(&lock));
    let one = format!("{ALL}/lock");
    write(&client, &(Method::PATCH, one.clone(), MERGE, json!({"spec": {"size": 9}})), &by_lock, false)
        .await
        .fine();
    write(&client, &(Method::DELETE, one.clone(), JSON, json!({})), &by_lock, false).await.fine();
    let again = write(&client, &(Method::DELETE, one, JSON, json!({})), &by_lock, false).await;
    assert_eq!(again.refused().1, "Conflict");
}

#[tokio::test]
async fn invalid_fences_are_refused_without_a_write() {
    let (FencedServers { server, store, client }, lease) = plane().await;
    let made = client.post(ALL, &object("a")).await.fine();
    let good = header(&lease, 6);
    let before = everything(&store).await;
    let refused = async |method: Method, path: &str, fences: &[&str], body: &Value| {
        let mut headers: Vec<(&str, &str)> = fences.iter().map(|fence| ("machinery-fence", *fence)).collect();
        headers.push(("content-type", JSON));
        let answer = client.ask(method, path, &headers, &body.to_string()).await;
        let (code, reason, message) = answer.refused();
        assert_eq!((code, reason), (400, "BadRequest"), "{path} {fences:?}: {answer:?}");
        message.to_owned()
    };
    let post = |fences: Vec<String>| {
        let refused = &refused;
        async move {
            let fences: Vec<&str> = fences.iter().map(String::as_str).collect();
            refused(Method::POST, ALL, &fences, &object("new")).await
        }
    };
    assert!(post(vec![good.clone(); 5]).await.contains("rests on 4 at the most"));
    assert!(post(vec!["leases/a/1".into()]).await.contains("GROUP/VERSION/PLURAL"));
    assert!(post(vec!["example.com/v1/none/default/a; uid=u".into()]).await.contains("no such kind"));
    assert!(post(vec!["example.com/v1/widgets/a; uid=u".into()]).await.contains("are in a namespace"));
    assert!(post(vec!["core/v1/nodes/default/a; uid=u".into()]).await.contains("in no namespace"));
    let review = "authentication.k8s.io/v1/selfsubjectreviews/a; uid=u";
    assert!(post(vec![review.into()]).await.contains("no such kind"));
    let epoch = format!("example.com/v1/widgets/default/a; uid={}; epoch=0", uid(&made));
    assert!(post(vec![epoch]).await.contains("only Leases have epochs"));
    for path in [ALL, "/apis", "/healthz", "/version", &format!("{ALL}/a"), &format!("{ALL}?watch=1")] {
        assert!(refused(Method::GET, path, &[&good], &Value::Null).await.contains("only writes"), "{path}");
    }
    let review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let who = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    assert!(refused(Method::POST, review, &[&good], &who).await.contains("only writes"));
    let interest = format!("{ALL}/interests/interest-0123456789");
    let open = json!({"edit": 0, "by": {"label": "key"}, "add": ["a"]});
    assert!(refused(Method::POST, &interest, &[&good], &open).await.contains("only writes"));
    let handle = server.handle::<Widget>(Identity::admin());
    let kind = handle.kind().clone();
    let odd = Fence { kind, key: key("a"), uid: Uid::new("u").unwrap(), epoch: Some(1), besides: None };
    let error = handle.create(&widget("new", "red"), Some(&odd)).await.unwrap_err();
    assert!(matches!(error, WriteError::Source(SourceError::Invalid { .. })), "{error}");
    assert_eq!(everything(&store).await, before);
}

#[tokio::test]
async fn a_fence_requires_the_right_to_get_its_object() {
    let store = Memory::new(Options::default());
    let server = ApiServer::builder(store).crds([definition(), crews()]).rbac().start().await.unwrap();
    let admin = Client::of(&server);
    let lease = admin.post(LEASES, &lease("a", 6)).await.fine();
    let group = "rbac.authorization.k8s.io";
    let rules = json!([{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["*"]}]);
    let role = json!({"metadata": {"name": "r"}, "rules": rules});
    let binding = json!({
        "metadata": {"name": "r"}, "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "ann", "apiGroup": group}],
    });
    let path = format!("/apis/{group}/v1");
    admin.post(&format!("{path}/clusterroles"), &role).await.fine();
    admin.post(&format!("{path}/clusterrolebindings"), &binding).await.fine();
    let ann = Client::to(server.service(Identity::new("ann")));
    for _ in 0..600 {
        if ann.get(ALL).await.code == 200 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let way = (Method::POST, ALL.to_owned(), JSON, object("new"));
    let mut told = Vec::new();
    let nobodys = "coordination.k8s.io/v1/leases/kube-system/none; uid=u".to_owned();
    for fence in [header(&lease, 6), header(&lease, 5), nobodys] {
        let answer = write(&ann, &way, &fence, false).await;
        assert_eq!(answer.refused().0, 403, "{answer:?}");
        told.push(answer.refused().2.replace("none", "hosts"));
    }
    assert!(told[0].contains("cannot get resource \"leases\""), "{}", told[0]);
    told.dedup();
    assert_eq!(told.len(), 1, "what is there makes no difference");
    let handle = server.handle::<Widget>(Identity::new("ann"));
    let error = handle.create(&widget("new", "red"), Some(&fence(&lease, Some(6)))).await.unwrap_err();
    assert!(matches!(error, WriteError::Source(SourceError::Forbidden { .. })), "{error}");
    write(&admin, &way, &header(&lease, 6), false).await.fine();
}

/// A server whose store runs a write between the read and the commit of another, and a second
/// server on the same store.
async fn behind() -> (FencedServers, Interposed, Arc<Client>, Value) {
    let store = Interposed::over(Memory::new(Options::default()));
    let other = ApiServer::builder(store.inner.clone()).crds([definition(), crews()]).start().await.unwrap();
    let server = ApiServer::builder(store.clone()).crds([definition(), crews()]).start().await.unwrap();
    let (client, others) = (Client::of(&server), Arc::new(Client::of(&other)));
    let lease = client.post(LEASES, &lease("a", 6)).await.fine();
    fill(&client).await;
    (FencedServers { server, store: store.inner.clone(), client }, store, others, lease)
}

#[tokio::test]
async fn a_takeover_between_check_and_commit_is_a_conflict() {
    for at in 0..ways().len() {
        let (FencedServers { client, .. }, store, others, lease) = behind().await;
        let way = &ways()[at];
        // A write without changes commits nothing, and its fence is checked against the current
        // state.
        if way.3 == json!({}) && (way.0 == Method::PATCH || way.1.contains("none")) {
            continue;
        }
        store.before(LEASE_KEY, async move { take_over(&others, "b", 7).await }).await;
        let answer = write(&client, way, &header(&lease, 6), false).await;
        assert_eq!(answer.refused().1, "Conflict", "{} {}: {answer:?}", way.0, way.1);
        assert_eq!(answer.body["details"]["causes"][0]["reason"], "FenceStale");
        assert_eq!(store.tried(), 1, "the one that was too late, {} {}", way.0, way.1);
    }
}

#[tokio::test]
async fn a_takeover_through_another_server_is_a_conflict_for_a_handle() {
    let (FencedServers { server, .. }, store, others, lease) = behind().await;
    store.before(LEASE_KEY, async move { take_over(&others, "b", 7).await }).await;
    let fence = fence(&lease, Some(6));
    let only_if = Preconditions { fence: Some(fence.clone()), ..Preconditions::default() };
    let handle = server.handle::<Widget>(Identity::admin());
    let error = handle.update(&widget("a", "blue"), &only_if).await.unwrap_err();
    assert_eq!(error, WriteError::Conflict(Conflict::Fence(Box::new(fence.clone()))));
    stale_through_a_handle(&handle, &fence).await;
}

#[tokio::test]
async fn a_concurrent_renewal_does_not_refuse_a_write() {
    for at in 0..ways().len() {
        let (FencedServers { client, .. }, store, others, lease) = behind().await;
        for _ in 0..3 {
            let others = others.clone();
            let renewal = async move {
                let time = format!("2026-11-22T03:00:00.{:06}Z", rand());
                others.merge(LEASE, &json!({"spec": {"renewTime": time}})).await.fine();
            };
            store.before(LEASE_KEY, renewal).await;
        }
        let way = &ways()[at];
        let answer = write(&client, way, &header(&lease, 6), false).await;
        assert!((200..300).contains(&answer.code), "{} {}: {answer:?}", way.0, way.1);
    }
}

/// Another number each time.
fn rand() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// A lock that is had in a term: neither is enough without the other.
#[tokio::test]
async fn a_write_may_have_several_fences_and_all_must_hold() {
    let (plane, lease) = plane().await;
    let lock = plane.client.post(ALL, &object("lock")).await.fine();
    let handle = plane.server.handle::<Widget>(Identity::admin());
    let uid_of = |object: &Value| Uid::new(uid(object)).unwrap();
    let held = Fence {
        kind: handle.kind().clone(),
        key: key("lock"),
        uid: uid_of(&lock),
        epoch: None,
        besides: None,
    };
    let both = held.clone().and(fence(&lease, Some(6)));
    assert_eq!(both.all().count(), 2);
    handle.create(&widget("a", "red"), Some(&both)).await.unwrap();
    let named = format!("example.com/v1/widgets/default/lock; uid={}", uid(&lock));
    let names = [named.clone(), header(&lease, 6)];
    let by_wire = async |name: &str| {
        let mut headers: Vec<_> = names.iter().map(|name| ("machinery-fence", name.as_str())).collect();
        headers.push(("content-type", JSON));
        plane.client.ask(Method::POST, ALL, &headers, &object(name).to_string()).await
    };
    by_wire("b").await.fine();
    let five = (0..4).fold(held.clone(), |all, _| all.and(held.clone()));
    let error = handle.create(&widget("c", "red"), Some(&five)).await.unwrap_err();
    assert!(error.to_string().contains("there are 5, and a write rests on 4 at the most"), "{error}");

    take_over(&plane.client, "b", 7).await;
    let stale = WriteError::Conflict(Conflict::Fence(Box::new(both.clone())));
    assert_eq!(handle.create(&widget("c", "red"), Some(&both)).await.unwrap_err(), stale);
    assert_eq!(by_wire("d").await.refused().0, 409);
    let again = held.and(fence(&lease, Some(7)));
    handle.create(&widget("c", "red"), Some(&again)).await.unwrap();
    handle.delete(&key("lock"), &Deletion::default()).await.unwrap();
    let stale = WriteError::Conflict(Conflict::Fence(Box::new(again.clone())));
    assert_eq!(handle.create(&widget("e", "red"), Some(&again)).await.unwrap_err(), stale);
}
