//! The contracts of the ports `ListWatch` and `Writer`, on a handle.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use kube_core::ResourceExt;
use machinery_apiserver::{ApiServer, Identity};
use machinery_objects::{
    Capabilities, Conflict, Deleted, Deletion, FieldSelector, Filter, Freshness, Kind, ListAt, ListError,
    ListRequest, ListWatch, ObjectKey, Patch, PatchFormat, Preconditions, Propagation, ResourceVersion,
    Revision, Scope, SourceError, Uid, WatchError, WatchFrom, WatchRequest, WriteError, WriteOutcome, Writer,
    WriterCapabilities,
};
use machinery_store::{Backend, Memory, Options};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::client::{Client, definition};
use crate::typed::{
    Widget, WidgetStatus, create, get, handled, key, labelled, list, names, told, version, watch, widget,
};

fn at(widget: &Widget) -> ResourceVersion {
    Revision(version(widget)).into()
}

#[tokio::test]
async fn pages_show_one_revision_and_a_watch_continues_from_it() {
    let (_server, store, handle) = handled().await;
    for name in ["c", "a", "b"] {
        create(&handle, name, "red").await;
    }
    let limit = NonZeroU32::new(2);
    let first = handle.list(ListRequest { limit, ..ListRequest::default() }).await.unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["a".to_owned(), "b".into()], Some(1)));
    let new = create(&handle, "d", "red").await;
    let next = ListRequest { limit, rest: first.rest.clone(), ..ListRequest::default() };
    let second = handle.list(next.clone()).await.unwrap();
    assert_eq!((names(&second), &second.rest), (vec!["c".to_owned()], &None));
    assert_eq!((&second.version, second.remaining), (&first.version, Some(0)));
    let then = ListRequest { at: ListAt::Exactly(first.version.clone()), ..ListRequest::default() };
    assert_eq!(names(&handle.list(then).await.unwrap()), ["a", "b", "c"]);

    let after = WatchFrom::After(first.version.clone());
    let mut events = watch(&handle, after.clone(), Filter::default()).await.unwrap();
    assert_eq!(told(&mut events, 1).await, [format!("added d red {}", version(&new))]);

    store.compact(Revision(version(&new))).await.unwrap();
    // The server still has the history since its start; older history is gone.
    let mut events = watch(&handle, after, Filter::default()).await.unwrap();
    assert_eq!(told(&mut events, 1).await, [format!("added d red {}", version(&new))]);
    let before = WatchFrom::After(ResourceVersion::from(Revision(1)));
    assert_eq!(watch(&handle, before, Filter::default()).await.err(), Some(WatchError::Expired));
    let Err(ListError::Expired { rest }) = handle.list(next.clone()).await else { panic!("it is compacted") };
    let rest = handle.list(ListRequest { rest, ..next }).await.unwrap();
    assert_eq!(names(&rest), ["c", "d"], "as it is now");
}

#[tokio::test(start_paused = true)]
async fn a_future_revision_is_reported_as_such() {
    let (_server, store, handle) = handled().await;
    let newest = Some(store.revision().await.unwrap().into());
    let future: ResourceVersion = Revision(1_000_000).into();
    let fresh = ListAt::Fresh(Freshness::AtLeast(future.clone()));
    for at in [ListAt::Exactly(future.clone()), fresh] {
        let error = handle.list(ListRequest { at, ..ListRequest::default() }).await.unwrap_err();
        assert!(matches!(error, ListError::FutureRevision { newest: found, .. } if found == newest));
    }
    let error = watch(&handle, WatchFrom::After(future), Filter::default()).await.err().unwrap();
    assert!(matches!(error, WatchError::FutureRevision { newest: found, .. } if found == newest));
    let other = ListAt::Exactly(ResourceVersion::new("elsewhere").unwrap());
    let error = handle.list(ListRequest { at: other, ..ListRequest::default() }).await.unwrap_err();
    assert!(matches!(error, ListError::Source(SourceError::Invalid { .. })));
}

#[tokio::test]
async fn leaving_a_selector_is_distinguished_from_deletion() {
    let (_server, _store, handle) = handled().await;
    assert_eq!(ListWatch::capabilities(&handle), Capabilities::ALL);
    assert!(handle.interests().is_some());
    let made = create(&handle, "a", "red").await;
    create(&handle, "b", "blue").await;
    let from = WatchFrom::State(Freshness::Newest);
    let mut events = watch(&handle, from.clone(), labelled("color=red")).await.unwrap();
    let state = told(&mut events, 2).await;
    assert_eq!(state[0], format!("added a red {}", version(&made)));
    assert!(state[1].starts_with("bookmark ") && state[1].ends_with(" true"), "{state:?}");

    let update = async |color: &str| {
        handle.update(&widget("a", color), &Preconditions::default()).await.unwrap().object
    };
    let left = version(&update("green").await);
    let back = version(&update("red").await);
    let same =
        version(&handle.update_status(&status("a", "Up"), &Preconditions::default()).await.unwrap().object);
    let gone = handle.delete(&key("a"), &Deletion::default()).await.unwrap();
    let WriteOutcome::Removed(Some(gone)) = &gone.token().wrote else { panic!("{gone:?}") };
    let expected = [
        format!("left a red {left}"),
        format!("added a red {back}"),
        format!("modified a red {same}"),
        format!("deleted a red {gone}"),
    ];
    assert_eq!(told(&mut events, 4).await, expected);
    let mut silent = handle
        .watch(WatchRequest { filter: Filter::default(), from, bookmarks: false, timeout: None })
        .await
        .unwrap();
    assert_eq!(told(&mut silent, 1).await.len(), 1, "without bookmarks there is only the state");
}

#[tokio::test(start_paused = true)]
async fn an_idle_watch_has_bookmarks_and_ends_at_its_timeout() {
    let (server, _store, handle) = handled().await;
    let request = |timeout: u64| WatchRequest {
        filter: labelled("color=red"),
        from: WatchFrom::State(Freshness::Any),
        bookmarks: true,
        timeout: Some(std::time::Duration::from_secs(timeout)),
    };
    let mut events = handle.watch(request(300)).await.unwrap();
    told(&mut events, 1).await;
    let other = create(&handle, "b", "blue").await;
    let mark = events.next().await.unwrap().unwrap();
    let expected = machinery_objects::WatchEvent::Bookmark { version: at(&other), initial_state_ends: false };
    assert_eq!(mark, expected, "it is told how far it has come although nothing concerned it");
    assert!(events.next().await.is_none(), "its time is over, and that is no error");

    let mut events = handle.watch(request(3000)).await.unwrap();
    told(&mut events, 1).await;
    server.stop().await;
    assert!(events.next().await.is_none());
    let error = handle.watch(request(3000)).await.err().unwrap();
    assert!(matches!(error, WatchError::Source(SourceError::Unavailable { .. })), "{error}");
}

#[tokio::test]
async fn objects_are_got_and_selected_by_their_fields() {
    let (_server, _store, handle) = handled().await;
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        create(&handle, name, color).await;
    }
    let got = get(&handle, "a").await.unwrap();
    assert_eq!((got.name_any(), got.spec.size), ("a".into(), Some(3)), "the schema's default is in it");
    assert!(get(&handle, "z").await.is_none());
    assert!(handle.get(&"a".parse().unwrap(), Freshness::Any).await.unwrap().is_none(), "in no namespace");
    let fields = |text: &str| Filter { fields: text.parse().unwrap(), ..Filter::default() };
    for (selector, expected) in [
        ("spec.color=red", &["a", "c"][..]),
        ("spec.color!=red", &["b"]),
        ("metadata.name=c", &["c"]),
        ("metadata.namespace=default,spec.color=blue", &["b"]),
        ("metadata.namespace=", &[]),
    ] {
        assert_eq!(names(&list(&handle, fields(selector)).await), expected, "{selector}");
    }
    let inside = |namespace: &str| Filter { namespace: Some(namespace.into()), ..Filter::default() };
    assert_eq!(names(&list(&handle, inside("default")).await), ["a", "b", "c"]);
    assert!(list(&handle, inside("other")).await.items.is_empty());
    for filter in [fields("spec.size=3"), inside("a/b"), inside("")] {
        let error = handle.list(ListRequest { filter, ..ListRequest::default() }).await.unwrap_err();
        assert!(matches!(error, ListError::Source(SourceError::Invalid { .. })), "{error}");
    }
}

fn status(name: &str, phase: &str) -> Widget {
    Widget { status: Some(WidgetStatus { phase: phase.into() }), ..widget(name, "red") }
}

#[tokio::test]
async fn a_write_holds_only_if_its_preconditions_do() {
    let (_server, _store, handle) = handled().await;
    let made = create(&handle, "a", "red").await;
    let uid = Uid::new(&made.uid().unwrap());
    let there = handle.create(&widget("a", "red"), None).await.unwrap_err();
    assert_eq!(there, WriteError::AlreadyExists { uid: uid.clone() });

    let on = |uid: &str| Preconditions { uid: Uid::new(uid), ..Preconditions::default() };
    let wrong = WriteError::Conflict(Conflict::Uid { found: uid.clone() });
    let update = async |color: &str, only_if| handle.update(&widget("a", color), &only_if).await;
    assert_eq!(update("blue", on("other")).await.unwrap_err(), wrong);
    assert_eq!(handle.update_status(&status("a", "Up"), &on("other")).await.unwrap_err(), wrong);
    let mut other = made.clone();
    other.metadata.uid = Some("other".into());
    assert_eq!(handle.update(&other, &Preconditions::default()).await.unwrap_err(), wrong, "its own UID");
    let merge =
        Patch { format: PatchFormat::Merge, body: Arc::from(*b"{\"spec\":{\"size\":9}}"), status: false };
    assert_eq!(handle.patch(&key("a"), &merge, &on("other")).await.unwrap_err(), wrong);
    let written = update("blue", on(uid.as_ref().unwrap().as_str())).await.unwrap();
    assert_eq!(written.token.wrote, WriteOutcome::Stored(at(&written.object)));
    assert_eq!((&written.token.key, &written.token.uid), (&key("a"), &uid));

    let stale = Preconditions { version: Some(at(&made)), ..Preconditions::default() };
    let conflict = WriteError::Conflict(Conflict::Version { found: Some(at(&written.object)) });
    assert_eq!(update("green", stale.clone()).await.unwrap_err(), conflict);
    assert_eq!(handle.patch(&key("a"), &merge, &stale).await.unwrap_err(), conflict);
    assert_eq!(
        handle.update(&made, &Preconditions::default()).await.unwrap_err(),
        conflict,
        "its own version"
    );
    let deletion = Deletion { only_if: stale, ..Deletion::default() };
    assert_eq!(handle.delete(&key("a"), &deletion).await.unwrap_err(), conflict);
    let deletion = Deletion { only_if: on("other"), ..Deletion::default() };
    assert_eq!(handle.delete(&key("a"), &deletion).await.unwrap_err(), wrong);
    assert_eq!(get(&handle, "a").await.as_deref(), Some(&written.object), "nothing was written");

    let gone = handle.delete(&key("a"), &Deletion::default()).await.unwrap();
    assert!(matches!(&gone, Deleted::Gone(token) if token.uid == uid && token.key == key("a")), "{gone:?}");
    assert_eq!(update("red", Preconditions::default()).await.unwrap_err(), WriteError::NotFound);
    assert_eq!(handle.delete(&key("a"), &Deletion::default()).await.unwrap_err(), WriteError::NotFound);
    let patched = handle.patch(&key("a"), &merge, &Preconditions::default()).await;
    assert_eq!(patched.unwrap_err(), WriteError::NotFound);
}

#[tokio::test]
async fn status_is_a_subresource_and_unchanged_objects_are_not_written() {
    let (_server, _store, handle) = handled().await;
    let made = handle.create(&status("a", "Ignored"), None).await.unwrap().object;
    assert_eq!((&made.status, made.metadata.generation), (&None, Some(1)));
    let up = handle.update_status(&status("a", "Up"), &Preconditions::default()).await.unwrap().object;
    assert_eq!(up.status, Some(WidgetStatus { phase: "Up".into() }));
    let blue = handle.update(&widget("a", "blue"), &Preconditions::default()).await.unwrap().object;
    assert_eq!((&blue.status, blue.metadata.generation), (&up.status, Some(2)));
    let again = handle.update(&blue, &Preconditions::default()).await.unwrap();
    assert_eq!((again.token.wrote, again.object), (WriteOutcome::Observed(at(&blue)), blue));
    let json = json!([{"op": "replace", "path": "/spec/color", "value": "green"}]).to_string();
    let patch = Patch { format: PatchFormat::Json, body: json.into_bytes().into(), status: false };
    let green = handle.patch(&key("a"), &patch, &Preconditions::default()).await.unwrap().object;
    assert_eq!(green.spec.color.as_deref(), Some("green"));
    let merge = Patch {
        format: PatchFormat::Merge,
        body: Arc::from(*b"{\"status\":{\"phase\":\"P\"}}"),
        status: true,
    };
    let patched = handle.patch(&key("a"), &merge, &Preconditions::default()).await.unwrap().object;
    assert_eq!((patched.status.unwrap().phase, patched.spec), ("P".into(), green.spec));
}

#[tokio::test]
async fn a_finalizer_keeps_an_object_until_it_is_removed() {
    let (_server, _store, handle) = handled().await;
    let mut held = widget("a", "red");
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    handle.create(&held, None).await.unwrap();
    let marked = handle.delete(&key("a"), &Deletion::default()).await.unwrap();
    let Deleted::Marked(marked) = marked else { panic!("{marked:?}") };
    assert!(marked.object.metadata.deletion_timestamp.is_some());
    assert_eq!(marked.token.wrote, WriteOutcome::Stored(at(&marked.object)));
    let mut free = marked.object.clone();
    free.metadata.finalizers = None;
    let gone = handle.update(&free, &Preconditions::default()).await.unwrap();
    assert!(matches!(gone.token.wrote, WriteOutcome::Removed(Some(ref end)) if *end > at(&free)), "{gone:?}");
    assert!(get(&handle, "a").await.is_none());

    create(&handle, "b", "red").await;
    let deletion = Deletion { propagation: Propagation::Foreground, ..Deletion::default() };
    assert!(matches!(handle.delete(&key("b"), &deletion).await.unwrap(), Deleted::Marked(_)));
}

#[tokio::test]
async fn an_invalid_object_is_refused_with_all_field_errors() {
    let (server, _store, handle) = handled().await;
    let error = handle.create(&widget("A_", "pink"), None).await.unwrap_err();
    let WriteError::Source(SourceError::Invalid { causes, .. }) = &error else { panic!("{error:?}") };
    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    assert_eq!(fields, ["metadata.name", "spec.color"], "{error}");

    let refused = async |widget: &Widget| match handle.create(widget, None).await.unwrap_err() {
        WriteError::Source(SourceError::Invalid { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let mut nowhere = widget("a", "red");
    nowhere.metadata.namespace = None;
    assert_eq!(refused(&nowhere).await, "widgets.example.com are in a namespace: say in which");
    nowhere.metadata.namespace = Some("missing".into());
    assert_eq!(refused(&nowhere).await, "namespaces \"missing\" not found");
    nowhere.metadata.namespace = Some("a/b".into());
    assert!(refused(&nowhere).await.starts_with("\"a/b\" can be no namespace"));

    let kind = handle.kind().clone();
    let any = server.handle_of::<Value>(kind, Identity::admin());
    let object = json!({"metadata": {"name": "a", "namespace": "default"}, "spec": {"colour": "red"}});
    let error = any.create(&object, None).await.unwrap_err().to_string();
    assert!(error.contains(r#"strict decoding error: unknown field "spec.colour""#), "{error}");
    let mut deep = json!(1);
    (0..200).for_each(|_| deep = json!([deep.take()]));
    let object = json!({"metadata": {"name": "a", "namespace": "default"}, "status": {"deep": deep}});
    let error = any.create(&object, None).await.unwrap_err().to_string();
    assert!(error.contains("deeper than 120 levels"), "{error}");
    let object = json!({"kind": "Other", "metadata": {"name": "a", "namespace": "default"}});
    assert!(any.create(&object, None).await.is_err(), "it says that it is something else");
    assert!(list(&handle, Filter::default()).await.items.is_empty());
}

#[tokio::test]
async fn unsupported_operations_are_reported() {
    let (server, _store, handle) = handled().await;
    let unsupported = |what| WriteError::Source(SourceError::Unsupported { what });
    create(&handle, "a", "red").await;
    assert_eq!(Writer::capabilities(&handle), WriterCapabilities::ALL);
    let maps = Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced).unwrap();
    let maps = server.handle_of::<Value>(maps, Identity::admin());
    let map = json!({"metadata": {"name": "a", "namespace": "default"}});
    let refused = maps.update_status(&map, &Preconditions::default()).await.unwrap_err();
    assert_eq!(refused, unsupported("status"));
}

#[tokio::test]
async fn a_kind_is_served_once_it_is_defined() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let handle = server.handle::<Widget>(Identity::admin());
    let error = handle.create(&widget("a", "red"), None).await.unwrap_err();
    let reason = "there is no widgets.example.com in example.com/v1".into();
    assert_eq!(error, SourceError::NotServed { reason }.into());

    let crds = Kind::new(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        Scope::Cluster,
    );
    let crds = server.handle_of::<Value>(crds.unwrap(), Identity::admin());
    crds.create(&definition(), None).await.unwrap();
    create(&handle, "a", "red").await;
    let elsewhere = Kind::new("example.com/v1", "Widget", "widgets", Scope::Cluster).unwrap();
    let error = server
        .handle_of::<Value>(elsewhere, Identity::admin())
        .list(ListRequest::default())
        .await
        .unwrap_err();
    assert!(matches!(error, ListError::Source(SourceError::NotServed { .. })), "{error}");
    let named: ObjectKey = "default".parse().unwrap();
    let spaces = Kind::new("v1", "Namespace", "namespaces", Scope::Cluster).unwrap();
    let spaces = server.handle_of::<Value>(spaces, Identity::admin());
    assert!(spaces.get(&named, Freshness::Newest).await.unwrap().is_some());
    let filter = Filter { namespace: Some("default".into()), ..Filter::default() };
    assert!(spaces.list(ListRequest { filter, ..ListRequest::default() }).await.is_err());
}

static DECODED: AtomicUsize = AtomicUsize::new(0);

/// Anything, with a count of how often it was decoded.
#[derive(Clone, Debug, Serialize)]
struct CountedDecode(Value);

impl<'de> Deserialize<'de> for CountedDecode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DECODED.fetch_add(1, Ordering::Relaxed);
        Value::deserialize(deserializer).map(Self)
    }
}

#[tokio::test]
async fn a_state_is_decoded_once_for_all_readers() {
    let (server, _store, wire) = handled().await;
    for name in ["a", "b", "c"] {
        create(&wire, name, "red").await;
    }
    let counted = || server.handle_of::<CountedDecode>(wire.kind().clone(), Identity::admin());
    let request = || WatchRequest {
        filter: labelled("color=red"),
        from: WatchFrom::State(Freshness::Newest),
        bookmarks: false,
        timeout: None,
    };
    let (first, second) = (counted(), counted());
    let mut watches = Vec::new();
    for handle in [&first, &second, &first, &second] {
        watches.push(handle.watch(request()).await.unwrap());
        assert_eq!(handle.list(ListRequest::default()).await.unwrap().items.len(), 3);
    }
    for watch in &mut watches {
        for _ in 0..3 {
            watch.next().await.unwrap().unwrap();
        }
    }
    assert_eq!(DECODED.load(Ordering::Relaxed), 3, "three objects");

    wire.update(&widget("a", "blue"), &Preconditions::default()).await.unwrap();
    wire.update(&widget("a", "red"), &Preconditions::default()).await.unwrap();
    for watch in &mut watches {
        watch.next().await.unwrap().unwrap();
        watch.next().await.unwrap().unwrap();
    }
    assert_eq!(DECODED.load(Ordering::Relaxed), 5, "one that left, and one that came back");

    let object = json!({"metadata": {"name": "d", "namespace": "default", "labels": {"color": "red"}}});
    first.create(&CountedDecode(object), None).await.unwrap();
    for watch in &mut watches {
        watch.next().await.unwrap().unwrap();
    }
    assert_eq!(DECODED.load(Ordering::Relaxed), 6, "who wrote has decoded it for all");
}

#[tokio::test]
async fn roles_and_bindings_hold_for_a_handle_as_on_the_wire() {
    let store = Memory::new(Options::default());
    let server = ApiServer::builder(store).crds([definition()]).rbac().start().await.unwrap();
    let (admin, wire) = (server.handle::<Widget>(Identity::admin()), Client::of(&server));
    create(&admin, "a", "red").await;
    let ann = server.handle::<Widget>(Identity::new("ann"));
    let forbidden = |error: &SourceError, verb: &str| {
        let SourceError::Forbidden { reason } = error else { panic!("{verb}: {error:?}") };
        assert!(reason.contains(&format!("User \"ann\" cannot {verb}")), "{reason}");
    };
    let none = Preconditions::default();
    let patch = Patch { format: PatchFormat::Merge, body: Arc::from(*b"{}"), status: false };
    for (verb, error) in [
        ("create", ann.create(&widget("b", "red"), None).await.unwrap_err()),
        ("update", ann.update(&widget("a", "blue"), &none).await.unwrap_err()),
        (
            "update resource \"widgets/status\"",
            ann.update_status(&status("a", "Up"), &none).await.unwrap_err(),
        ),
        ("patch", ann.patch(&key("a"), &patch, &none).await.unwrap_err()),
        ("delete", ann.delete(&key("a"), &Deletion::default()).await.unwrap_err()),
    ] {
        let WriteError::Source(error) = error else { panic!("{error:?}") };
        forbidden(&error, verb);
    }
    let inside = |fields: &str| ListRequest {
        filter: Filter {
            namespace: Some("default".into()),
            fields: fields.parse::<FieldSelector>().unwrap(),
            ..Filter::default()
        },
        ..ListRequest::default()
    };
    let Err(ListError::Source(error)) = ann.list(inside("")).await else { panic!("not allowed") };
    forbidden(&error, "list");
    let Err(ListError::Source(error)) = ann.get(&key("a"), Freshness::Any).await else {
        panic!("not allowed")
    };
    forbidden(&error, "get");
    let from = WatchFrom::State(Freshness::Any);
    let Err(WatchError::Source(error)) = watch(&ann, from, Filter::default()).await else { panic!("no") };
    forbidden(&error, "watch");

    let group = "rbac.authorization.k8s.io";
    let rules = json!([
        {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get", "list"], "resourceNames": ["a"]},
        {"apiGroups": [group], "resources": ["roles"], "verbs": ["create"]},
    ]);
    let role = json!({"apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": "r"}, "rules": rules});
    let path = format!("/apis/{group}/v1/namespaces/default");
    wire.post(&format!("{path}/roles"), &role).await.fine();
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": "r"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "ann", "apiGroup": group}],
    });
    wire.post(&format!("{path}/rolebindings"), &binding).await.fine();
    let allowed = async || ann.get(&key("a"), Freshness::Any).await.is_ok();
    for _ in 0..600 {
        if allowed().await {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(allowed().await, "the binding takes effect");
    assert_eq!(names(&ann.list(inside("metadata.name=a")).await.unwrap()), ["a"]);
    assert!(ann.list(inside("")).await.is_err() && ann.get(&key("b"), Freshness::Any).await.is_err());

    let roles = Kind::new(&format!("{group}/v1"), "Role", "roles", Scope::Namespaced).unwrap();
    let roles = server.handle_of::<Value>(roles, Identity::new("ann"));
    let more = json!({
        "metadata": {"name": "more", "namespace": "default"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    });
    let error = roles.create(&more, None).await.unwrap_err();
    assert!(
        matches!(error, WriteError::Source(SourceError::Forbidden { .. })),
        "nobody gives what they have not: {error}"
    );
}

#[tokio::test]
async fn a_handle_supports_server_side_apply() {
    let (_server, _store, handle) = handled().await;
    let apply = async |by: &str, force, status, spec: Value, only_if: &Preconditions| {
        let mut body = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
        body[if status { "status" } else { "spec" }] = spec;
        let format = PatchFormat::Apply { manager: by.into(), force };
        let patch = Patch { format, body: body.to_string().into_bytes().into(), status };
        handle.patch(&key("a"), &patch, only_if).await
    };
    let none = Preconditions::default();
    let there = Preconditions { uid: Uid::new("u"), ..none.clone() };
    let refused = apply("one", false, false, json!({"color": "red"}), &there).await;
    assert_eq!(refused.unwrap_err(), WriteError::NotFound, "what is not there is not the one that is meant");
    let made = apply("one", false, false, json!({"color": "red"}), &none).await.unwrap();
    assert_eq!(version(&get(&handle, "a").await.unwrap()), version(&made.object));
    let same = apply("one", false, false, json!({"color": "red"}), &none).await.unwrap();
    assert_eq!(version(&same.object), version(&made.object), "nothing was written");

    let refused = apply("two", false, false, json!({"color": "blue"}), &none).await.unwrap_err();
    let WriteError::Conflict(Conflict::Unspecified { reason }) = refused else { panic!("{refused:?}") };
    assert_eq!(reason, "Apply failed with 1 conflict: conflict with \"one\": .spec.color");
    let refused = apply("two", true, false, json!({"color": "blue"}), &there).await.unwrap_err();
    assert!(matches!(refused, WriteError::Conflict(Conflict::Uid { .. })), "{refused:?}");
    let refused = apply("two", true, false, json!({"colour": "blue"}), &none).await.unwrap_err().to_string();
    assert!(refused.contains(".spec.colour: field not declared in schema"), "{refused}");
    let refused = apply("", true, false, json!({"color": "blue"}), &none).await.unwrap_err().to_string();
    assert!(refused.contains("the field manager is empty"), "{refused}");
    apply("two", true, false, json!({"color": "blue"}), &none).await.unwrap();
    apply("two", false, true, json!({"phase": "p"}), &none).await.unwrap();
    apply("one", false, false, json!({}), &none).await.unwrap();
    assert_eq!(get(&handle, "a").await.unwrap().spec.color.as_deref(), Some("blue"), "one has it no more");
}
