//! The promises of the write port.

use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use machinery_kube::{Remote, ServerProfile};
use machinery_objects::{
    Conflict, Deleted, Deletion, Fence, Freshness, Kind, ListWatch, Object, Patch, PatchFormat,
    Preconditions, Propagation, Revision, SourceError, Uid, WriteError, WriteOutcome, Writer,
};

use crate::plane::{Port, PortStatus, create, key, kind, moved, plane, port, ports, served};
use crate::script::{Reply, Script};

fn uid(port: &Port) -> Uid {
    Uid::new(port.uid().unwrap()).unwrap()
}

fn none() -> Preconditions {
    Preconditions::default()
}

#[tokio::test]
async fn an_object_is_created_updated_and_deleted() {
    let (_server, ports) = ports().await;
    let made = ports.create(&port("a", "1"), None).await.unwrap();
    assert_eq!((made.token.key, made.token.uid), (key("a"), Some(uid(&made.object))));
    assert_eq!(made.token.wrote, WriteOutcome::Stored(made.object.version().unwrap()));
    let again = ports.create(&port("a", "1"), None).await.unwrap_err();
    assert_eq!(again, WriteError::AlreadyExists { uid: None });
    let changed = moved(&ports, &made.object, "2").await;
    assert_eq!(changed.spec.vni, "2");
    // The field manager has a name.
    let named = ports.managed_by("racker");
    let managers = |port: &Port| {
        let entries = port.metadata.managed_fields.iter().flatten();
        entries.filter_map(|entry| entry.manager.clone()).collect::<Vec<_>>()
    };
    assert!(!managers(&changed).contains(&"racker".to_owned()));
    let mut renamed = changed.clone();
    renamed.metadata.annotations = Some([("a".into(), "b".into())].into());
    let changed = named.update(&renamed, &none()).await.unwrap().object;
    assert!(managers(&changed).contains(&"racker".to_owned()), "{:?}", managers(&changed));
    // The status is a subresource.
    let mut told = changed.clone();
    told.spec.vni = "3".into();
    told.status = Some(PortStatus { phase: "Up".into() });
    let told = ports.update_status(&told, &none()).await.unwrap().object;
    assert_eq!((told.spec.vni.as_str(), told.status.unwrap().phase.as_str()), ("2", "Up"));
    let deleted = ports.delete(&key("a"), &Deletion::default()).await.unwrap();
    let Deleted::Gone(token) = deleted else { panic!("{deleted:?}") };
    assert_eq!(
        (token.key, token.uid, token.wrote),
        (key("a"), Some(uid(&changed)), WriteOutcome::Removed(None))
    );
    assert_eq!(ports.delete(&key("a"), &Deletion::default()).await.unwrap_err(), WriteError::NotFound);
    assert_eq!(
        ports.delete(&"a".parse().unwrap(), &Deletion::default()).await.unwrap_err(),
        WriteError::NotFound
    );
    assert_eq!(ports.update(&changed, &none()).await.unwrap_err(), WriteError::NotFound);
}

#[tokio::test]
async fn a_failed_precondition_writes_nothing() {
    let (_server, ports) = ports().await;
    let first = create(&ports, "a", "1").await;
    let now = moved(&ports, &first, "2").await;
    let stale = Preconditions { version: first.version(), ..none() };
    let other = Preconditions { uid: Uid::new("0-0"), ..none() };
    let holds = Preconditions { version: now.version(), uid: Some(uid(&now)), ..none() };
    let is_conflict = |error: WriteError| assert!(matches!(error, WriteError::Conflict(_)), "{error}");

    is_conflict(ports.update(&first, &none()).await.unwrap_err());
    is_conflict(ports.update_status(&first, &none()).await.unwrap_err());
    // The object's own version is a precondition, too: two that differ cannot both hold.
    let error = ports.update(&now, &stale).await.unwrap_err();
    assert_eq!(error, WriteError::Conflict(Conflict::Version { found: None }));
    let error = ports.update(&now, &other).await.unwrap_err();
    assert_eq!(error, WriteError::Conflict(Conflict::Uid { found: None }));
    let mut bare = port("a", "3");
    bare.metadata.resource_version = now.metadata.resource_version.clone();
    is_conflict(ports.update(&bare, &other).await.unwrap_err());
    is_conflict(ports.update_status(&bare, &other).await.unwrap_err());
    bare.metadata.resource_version = None;
    is_conflict(ports.update(&bare, &stale).await.unwrap_err());
    for only_if in [&stale, &other] {
        let deletion = Deletion { only_if: only_if.clone(), ..Deletion::default() };
        is_conflict(ports.delete(&key("a"), &deletion).await.unwrap_err());
        for (format, body) in [
            (PatchFormat::Merge, r#"{"spec": {"vni": "9"}}"#),
            (PatchFormat::Json, r#"[{"op": "replace", "path": "/spec/vni", "value": "9"}]"#),
        ] {
            for status in [false, true] {
                let patch = Patch { format: format.clone(), body: body.as_bytes().into(), status };
                match ports.patch(&key("a"), &patch, only_if).await.unwrap_err() {
                    // A precondition that the server ignores is not sent.
                    WriteError::Source(SourceError::Unsupported { .. }) => {
                        assert!(status && only_if == &other && format == PatchFormat::Merge);
                    }
                    error => is_conflict(error),
                }
            }
        }
    }
    assert_eq!(ports.get(&key("a"), Freshness::Newest).await.unwrap().as_ref(), Some(&now));

    let updated = ports.update(&bare, &holds).await.unwrap().object;
    assert_eq!(updated.spec.vni, "3");
    let holds = Preconditions { version: updated.version(), ..holds };
    let merge =
        Patch { format: PatchFormat::Merge, body: br#"{"spec": {"vni": "4"}}"#[..].into(), status: false };
    let patched = ports.patch(&key("a"), &merge, &holds).await.unwrap().object;
    let holds = Preconditions { version: patched.version(), ..holds };
    let body = br#"[{"op": "test", "path": "/spec/vni", "value": "4"}, {"op": "replace", "path": "/spec/vni", "value": "5"}]"#;
    let json = Patch { format: PatchFormat::Json, body: body[..].into(), status: false };
    let patched = ports.patch(&key("a"), &json, &holds).await.unwrap().object;
    assert_eq!(patched.spec.vni, "5");
    let only_if = Preconditions { version: patched.version(), ..holds };
    ports.delete(&key("a"), &Deletion { only_if, ..Deletion::default() }).await.unwrap();
    assert_eq!(ports.patch(&key("a"), &merge, &none()).await.unwrap_err(), WriteError::NotFound);
}

#[tokio::test]
async fn an_object_with_a_finalizer_is_marked_and_deleted_with_its_removal() {
    let (_server, ports) = ports().await;
    let mut held = port("a", "1");
    held.metadata.finalizers = Some(vec!["example.com/held".into()]);
    let held = ports.create(&held, None).await.unwrap().object;
    let deletion =
        Deletion { only_if: Preconditions { uid: Some(uid(&held)), ..none() }, ..Deletion::default() };
    let Deleted::Marked(marked) = ports.delete(&key("a"), &deletion).await.unwrap() else {
        panic!("it is held")
    };
    assert!(
        marked.object.is_deleting()
            && marked.token.wrote == WriteOutcome::Stored(marked.object.version().unwrap())
    );
    let mut free = marked.object;
    free.metadata.finalizers = None;
    let gone = ports.update(&free, &none()).await.unwrap();
    assert_eq!(gone.token.wrote, WriteOutcome::Removed(None));
    assert_eq!(ports.get(&key("a"), Freshness::Newest).await.unwrap(), None);
}

#[tokio::test]
async fn a_terminating_namespace_is_not_removed() {
    let (_server, client, _) = served().await;
    let namespaces =
        Remote::<Namespace>::new(client, Kind::of::<Namespace>().unwrap(), ServerProfile::kubernetes());
    let mut lab = Namespace::default();
    lab.metadata.name = Some("lab".into());
    namespaces.create(&lab, None).await.unwrap();
    let deleted = namespaces.delete(&"lab".parse().unwrap(), &Deletion::default()).await.unwrap();
    assert!(matches!(deleted, Deleted::Marked(_)), "{deleted:?}");
}

#[tokio::test]
async fn an_invalid_object_is_refused_with_its_fields() {
    let (_server, client) = plane().await;
    let ports = Remote::<wide::Wide>::new(client.clone(), kind(), ServerProfile::machinery());
    let check = |error: WriteError, field: &str| match error {
        WriteError::Source(SourceError::Invalid { causes, reason }) => {
            let found = causes.iter().any(|cause| cause.field == field) || reason.contains(field);
            assert!(found, "{reason} {causes:?}");
        }
        other => panic!("{other:?}"),
    };
    // An unknown field is refused, not dropped.
    check(ports.create(&wide::wide("a", "default", None), None).await.unwrap_err(), "spec.novel");
    let ports = Remote::<Port>::new(client, kind(), ServerProfile::machinery());
    let mut nowhere = port("a", "1");
    nowhere.metadata.namespace = None;
    check(ports.create(&nowhere, None).await.unwrap_err(), "metadata.namespace");
    check(ports.update(&nowhere, &none()).await.unwrap_err(), "metadata.namespace");
    let mut nameless = port("a", "1");
    nameless.metadata.name = None;
    check(ports.update(&nameless, &none()).await.unwrap_err(), "metadata.name");
    let mut elsewhere = port("a", "1");
    elsewhere.metadata.namespace = Some("elsewhere".into());
    check(ports.create(&elsewhere, None).await.unwrap_err(), "namespaces \"elsewhere\" not found");
    let mut versioned = port("a", "1");
    versioned.metadata.resource_version = Some("7".into());
    check(ports.create(&versioned, None).await.unwrap_err(), "metadata.resourceVersion");
    let only_if = Preconditions { version: Some(Revision(1).into()), ..none() };
    for body in ["[]", "nonsense", "3"] {
        let patch = Patch { format: PatchFormat::Merge, body: body.as_bytes().into(), status: false };
        check(ports.patch(&key("a"), &patch, &only_if).await.unwrap_err(), "patch");
    }
    let format = PatchFormat::Apply { manager: "me".into(), force: false };
    let patch = Patch { format, body: b"{}"[..].into(), status: false };
    let error = ports.patch(&key("a"), &patch, &only_if).await.unwrap_err();
    assert!(
        matches!(error, WriteError::Source(SourceError::Unsupported { .. })),
        "it would make what is missing"
    );
    // A generated name.
    let mut generated = port("", "1");
    generated.metadata.name = None;
    generated.metadata.generate_name = Some("p-".into());
    let generated = ports.create(&generated, None).await.unwrap();
    assert!(generated.token.key.name().starts_with("p-"));
}

#[tokio::test]
async fn guards_and_fences_are_enforced_and_named() {
    let (_server, client) = plane().await;
    let ports = Remote::<Port>::new(client.clone(), kind(), ServerProfile::machinery());
    let mut a = port("a", "1");
    a.spec.mac = Some("02:00".into());
    let a = ports.create(&a, None).await.unwrap().object;
    let mut b = port("b", "1");
    b.spec.mac = a.spec.mac.clone();
    match ports.create(&b, None).await.unwrap_err() {
        WriteError::Conflict(Conflict::Guard { guard, reason }) => {
            assert!(guard == "one-mac" && reason.contains("is taken"), "{guard}: {reason}");
        }
        other => panic!("{other:?}"),
    }

    let leases =
        Remote::<Lease>::new(client.clone(), Kind::of::<Lease>().unwrap(), ServerProfile::kubernetes());
    let mut lease = Lease::default();
    lease.metadata.name = Some("leader".into());
    lease.metadata.namespace = Some("default".into());
    let lease = leases.create(&lease, None).await.unwrap().object;
    let epoch = |epoch| Fence {
        kind: Kind::of::<Lease>().unwrap(),
        key: key("leader"),
        uid: Uid::new(lease.uid().unwrap()).unwrap(),
        epoch: Some(epoch),
        besides: None,
    };
    let under = |fence: &Fence| Preconditions { fence: Some(fence.clone()), ..none() };
    let (held, stale) = (epoch(0), epoch(7));
    let lost = || WriteError::Conflict(Conflict::Fence(Box::new(epoch(7))));
    let patch =
        Patch { format: PatchFormat::Merge, body: br#"{"spec": {"vni": "4"}}"#[..].into(), status: false };
    assert_eq!(ports.create(&port("c", "1"), Some(&stale)).await.unwrap_err(), lost());
    assert_eq!(ports.update(&a, &under(&stale)).await.unwrap_err(), lost());
    assert_eq!(ports.update_status(&a, &under(&stale)).await.unwrap_err(), lost());
    assert_eq!(ports.patch(&key("a"), &patch, &under(&stale)).await.unwrap_err(), lost());
    let deletion = Deletion { only_if: under(&stale), ..Deletion::default() };
    assert_eq!(ports.delete(&key("a"), &deletion).await.unwrap_err(), lost());
    ports.create(&port("c", "1"), Some(&held)).await.unwrap();
    ports.patch(&key("a"), &patch, &under(&held)).await.unwrap();

    // A valid fence and a stale one.
    let both = held.clone().and(epoch(7));
    let neither = WriteError::Conflict(Conflict::Fence(Box::new(both.clone())));
    assert_eq!(ports.patch(&key("a"), &patch, &under(&both)).await.unwrap_err(), neither);
    ports.patch(&key("a"), &patch, &under(&held.clone().and(epoch(0)))).await.unwrap();

    // Without the profile of a server that enforces fences, none is sent.
    let silent = Script::new([]);
    let plain = Remote::<Port>::new(silent.client(), kind(), ServerProfile::kubernetes());
    let unsupported = WriteError::Source(SourceError::Unsupported { what: "fences" });
    assert_eq!(plain.create(&port("d", "1"), Some(&held)).await.unwrap_err(), unsupported);
    assert_eq!(plain.delete(&key("a"), &deletion).await.unwrap_err(), unsupported);
    assert_eq!(plain.update(&a, &under(&held)).await.unwrap_err(), unsupported);
    assert_eq!(plain.patch(&key("a"), &patch, &under(&held)).await.unwrap_err(), unsupported);
    assert_eq!(silent.requests(), Vec::<String>::new());
}

/// A port with a field unknown to its kind.
mod wide {
    use machinery_kube::PartialMetadata;
    use machinery_objects::{Labels, Object, ObjectKey, ResourceVersion};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Serialize, Deserialize)]
    pub(super) struct Wide {
        #[serde(serialize_with = "written")]
        metadata: PartialMetadata,
        spec: WideSpec,
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct WideSpec {
        vni: String,
        novel: u32,
    }

    fn written<S: serde::Serializer>(meta: &PartialMetadata, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::json!({"name": meta.key.name(), "namespace": meta.key.namespace()}).serialize(serializer)
    }

    pub(super) fn wide(name: &str, namespace: &str, version: Option<ResourceVersion>) -> Wide {
        let key = ObjectKey::new(Some(namespace), name).unwrap();
        let metadata =
            PartialMetadata { key, version, labels: Labels::default(), uid: None, is_deleting: false };
        Wide { metadata, spec: WideSpec { vni: "1".into(), novel: 1 } }
    }

    impl Object for Wide {
        fn key(&self) -> ObjectKey {
            self.metadata.key.clone()
        }

        fn version(&self) -> Option<ResourceVersion> {
            self.metadata.version.clone()
        }

        fn labels(&self) -> Labels {
            self.metadata.labels.clone()
        }
    }
}

/// As any Kubernetes server decodes it.
#[tokio::test]
async fn preconditions_are_sent_in_the_fields_that_the_server_compares() {
    let both = Preconditions { uid: Uid::new("u"), version: Some(Revision(7).into()), ..none() };
    let apply = PatchFormat::Apply { manager: "me".into(), force: true };
    let path = "/apis/example.com/v1/namespaces/default/ports/a";
    let check = async |format: PatchFormat, body: &str, status, query: &str, expected: Option<&str>| {
        let script = Script::new([Reply::of(404, "")]);
        let ports = Remote::<Port>::new(script.client(), kind(), ServerProfile::kubernetes());
        let patch = Patch { format, body: body.as_bytes().into(), status };
        let error = ports.patch(&key("a"), &patch, &both).await.unwrap_err();
        let expected = expected.map(|body| format!("PATCH {path}{query} {body}"));
        assert_eq!(script.requests(), Vec::from_iter(expected), "{error}");
    };
    let strict = "?fieldValidation=Strict";
    let applied = "?fieldValidation=Strict&fieldManager=me&force=true";
    let merged = r#"{"metadata":{"resourceVersion":"7","uid":"u"}}"#;
    check(PatchFormat::Merge, "{}", false, strict, Some(merged)).await;
    check(PatchFormat::Merge, r#"{"metadata":{"uid":"u"}}"#, false, strict, Some(merged)).await;
    check(apply.clone(), r#"{"metadata":null}"#, false, applied, Some(merged)).await;
    let tested = r#"[{"op":"test","path":"/metadata/uid","value":"u"},{"op":"remove","path":"/a"},{"op":"add","path":"/metadata/resourceVersion","value":"7"}]"#;
    for (status, query) in [(false, strict.to_owned()), (true, format!("/status{strict}"))] {
        check(PatchFormat::Json, r#"[{"op":"remove","path":"/a"}]"#, status, &query, Some(tested)).await;
    }
    // A contradiction in the object is not sent, nor a field that a server would ignore.
    check(PatchFormat::Merge, r#"{"metadata":{"resourceVersion":"8"}}"#, false, strict, None).await;
    check(apply.clone(), r#"{"metadata":{"uid":"v"}}"#, false, applied, None).await;
    let own = r#"[{"op":"replace","path":"/metadata/resourceVersion","value":"8"}]"#;
    check(PatchFormat::Json, own, false, strict, None).await;
    check(PatchFormat::Merge, "{}", true, strict, None).await;
    check(apply, "{}", true, applied, None).await;

    let script = Script::new([Reply::of(404, "")]);
    let ports = Remote::<Port>::new(script.client(), kind(), ServerProfile::kubernetes());
    let deletion = Deletion { only_if: both.clone(), propagation: Propagation::Orphan };
    ports.delete(&key("a"), &deletion).await.unwrap_err();
    let options = r#"{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"resourceVersion":"7","uid":"u"},"propagationPolicy":"Orphan"}"#;
    assert_eq!(script.requests(), [format!("DELETE {path} {options}")]);
}

#[tokio::test]
async fn ports_are_used_as_dyn() {
    let (_server, ports) = ports().await;
    let source: Arc<dyn ListWatch<Port>> = Arc::new(ports.clone());
    let writer: Arc<dyn Writer<Port>> = Arc::new(ports);
    writer.create(&port("a", "1"), None).await.unwrap();
    assert_eq!(source.get(&key("a"), Freshness::Newest).await.unwrap().unwrap().spec.vni, "1");
}
