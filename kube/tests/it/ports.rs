//! The promises of the read port.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use machinery_kube::{Remote, ServerProfile};
use machinery_objects::{
    Capabilities, Filter, Freshness, InterestBy, InterestRequest, InterestSource, Kind, ListAt, ListError,
    ListRequest, ListWatch, Object, Page, Revision, Scope, SourceError, WatchError, WatchEvent, WatchFrom,
    WatchRequest, Writer,
};
use machinery_store::{Backend, Memory, Options};

use crate::plane::{
    Port, all, create, from, key, kind, labelled, moved, next, on, plane, ports, served, within, words,
};

fn names(page: &Page<Port>) -> Vec<String> {
    page.items.iter().map(|port| port.key().name().to_owned()).collect()
}

#[tokio::test]
async fn consecutive_pages_have_one_version() {
    let (server, ports) = ports().await;
    for name in ["a", "b", "c", "d", "e"] {
        create(&ports, name, "1").await;
    }
    let limit = NonZeroU32::new(2);
    let first = ports.list(ListRequest { limit, ..ListRequest::default() }).await.unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["a".into(), "b".into()], Some(3)));
    create(&ports, "cc", "1").await;
    let (mut rest, mut found) = (first.rest.clone(), Vec::new());
    while let Some(place) = rest {
        let request = ListRequest { limit, rest: Some(place), ..ListRequest::default() };
        let page = ports.list(request).await.unwrap();
        assert_eq!(page.version, first.version);
        found.extend(names(&page));
        rest = page.rest;
    }
    assert_eq!(found, ["c", "d", "e"]);
    // A list may request this version, or one not older.
    let at = |at| ListRequest { at, ..ListRequest::default() };
    let exactly = ports.list(at(ListAt::Exactly(first.version.clone()))).await.unwrap();
    assert_eq!(
        (exactly.items.len(), exactly.version, exactly.remaining),
        (5, first.version.clone(), Some(0))
    );
    for fresh in [Freshness::Newest, Freshness::AtLeast(first.version)] {
        assert_eq!(ports.list(at(ListAt::Fresh(fresh))).await.unwrap().items.len(), 6);
    }
    assert!(ports.list(at(ListAt::Fresh(Freshness::Any))).await.is_ok());
    server.stop().await;
}

#[tokio::test]
async fn labels_fields_and_namespaces_select() {
    let (_server, ports) = ports().await;
    for (name, vni) in [("a", "1"), ("b", "2"), ("c", "1")] {
        create(&ports, name, vni).await;
    }
    let check = async |filter: Filter, expected: &[&str]| {
        let page = ports.list(ListRequest { filter, ..ListRequest::default() }).await.unwrap();
        assert_eq!(names(&page), expected);
    };
    check(labelled("vni in (1, 3)"), &["a", "c"]).await;
    check(labelled("vni!=1"), &["b"]).await;
    let fields = |fields: &str| Filter { fields: fields.parse().unwrap(), ..Filter::default() };
    check(fields("spec.vni=2"), &["b"]).await;
    check(fields("spec.vni=1,metadata.name!=a"), &["c"]).await;
    check(Filter { namespace: Some("default".into()), ..Filter::default() }, &["a", "b", "c"]).await;
    check(Filter { namespace: Some("elsewhere".into()), ..Filter::default() }, &[]).await;
    let request = ListRequest { filter: fields("spec.mac=1"), ..ListRequest::default() };
    let error = ports.list(request).await.unwrap_err();
    assert!(matches!(error, ListError::Source(SourceError::Invalid { .. })), "{error}");
}

#[tokio::test]
async fn get_returns_an_object_or_none() {
    let (server, client, _) = served().await;
    let ports = Remote::<Port>::new(client.clone(), kind(), ServerProfile::kubernetes());
    let a = create(&ports, "a", "1").await;
    for fresh in [Freshness::Newest, Freshness::Any, Freshness::AtLeast(a.version().unwrap())] {
        assert_eq!(ports.get(&key("a"), fresh).await.unwrap(), Some(a.clone()));
    }
    for absent in ["default/b", "elsewhere/a", "a"] {
        assert_eq!(ports.get(&absent.parse().unwrap(), Freshness::Newest).await.unwrap(), None, "{absent}");
    }
    let namespaces = Remote::<Namespace>::new(
        client.clone(),
        Kind::of::<Namespace>().unwrap(),
        ServerProfile::kubernetes(),
    );
    assert!(namespaces.get(&"default".parse().unwrap(), Freshness::Newest).await.unwrap().is_some());
    assert!(namespaces.get(&key("default"), Freshness::Newest).await.unwrap().is_none());
    // An unserved kind is distinguished from an absent object.
    let absent = Kind::new("example.com/v1", "Absent", "absents", Scope::Namespaced).unwrap();
    let absent = Remote::<Port>::new(client, absent, ServerProfile::kubernetes());
    let error = absent.get(&key("a"), Freshness::Newest).await.unwrap_err();
    assert!(matches!(error, ListError::Source(SourceError::NotServed { .. })), "{error}");
    let error = absent.list(ListRequest::default()).await.unwrap_err();
    assert!(matches!(error, ListError::Source(SourceError::NotServed { .. })), "{error}");
    let error = absent.watch(from(WatchFrom::State(Freshness::Newest))).await.err().unwrap();
    assert!(matches!(error, WatchError::Source(SourceError::NotServed { .. })), "{error}");
    server.stop().await;
}

#[tokio::test]
async fn a_watch_continues_from_a_list() {
    let (_server, ports) = ports().await;
    let a = create(&ports, "a", "1").await;
    let page = all(&ports).await;
    let mut events = ports.watch(from(WatchFrom::After(page.version))).await.unwrap();
    create(&ports, "b", "1").await;
    let a = moved(&ports, &a, "2").await;
    ports.delete(&key("a"), &Default::default()).await.unwrap();
    assert_eq!(words(&mut events, 3).await, ["+b", "*a", "-a"]);
    // From a version in between, the remaining events.
    let mut events = ports.watch(from(WatchFrom::After(a.version().unwrap()))).await.unwrap();
    let Some(Ok(WatchEvent::Deleted(last))) = next(&mut events).await else { panic!("a is deleted") };
    assert_eq!(last.spec, a.spec);
    assert!(last.version() > a.version(), "at the version at which it went");
}

#[tokio::test]
async fn a_watch_starts_with_the_state_and_marks_its_end() {
    let (_server, ports) = ports().await;
    let last = create(&ports, "a", "1").await;
    create(&ports, "b", "2").await;
    for fresh in [Freshness::Newest, Freshness::Any, Freshness::AtLeast(last.version().unwrap())] {
        let mut events = ports.watch(from(WatchFrom::State(fresh))).await.unwrap();
        assert_eq!(words(&mut events, 3).await, ["+a", "+b", "|"]);
        let c = create(&ports, "c", "1").await;
        assert_eq!(words(&mut events, 1).await, ["+c"]);
        drop(events);
        // Over the wire, leaving a selector looks like a deletion.
        let request = WatchRequest { filter: labelled("vni=1"), ..from(WatchFrom::State(Freshness::Newest)) };
        let mut events = ports.watch(request).await.unwrap();
        assert_eq!(words(&mut events, 3).await, ["+a", "+c", "|"]);
        moved(&ports, &c, "2").await;
        assert_eq!(words(&mut events, 1).await, ["-c"]);
        ports.delete(&key("c"), &Default::default()).await.unwrap();
        // `Any` may return an old state: repeated until c is deleted.
        let whatever = ListRequest { at: ListAt::Fresh(Freshness::Any), ..ListRequest::default() };
        within(async { while ports.list(whatever.clone()).await.unwrap().items.len() > 2 {} }).await;
    }
    let silent = WatchRequest { bookmarks: false, ..from(WatchFrom::State(Freshness::Newest)) };
    assert_eq!(words(&mut ports.watch(silent).await.unwrap(), 2).await, ["+a", "+b"]);
}

#[tokio::test]
async fn capabilities_match_the_server() {
    let (server, client) = plane().await;
    let remote = |server| Remote::<Port>::new(client.clone(), kind(), server);
    let capabilities = |server| ListWatch::capabilities(&remote(server));
    let mut all_but_one = Capabilities::ALL;
    all_but_one.reports_left = false;
    assert_eq!(capabilities(ServerProfile::machinery()), all_but_one);
    let mut all_but_two = all_but_one;
    all_but_two.carries_traces = false;
    assert_eq!(capabilities(ServerProfile::kubernetes()), all_but_two);
    let mut little = Capabilities::LEAST;
    little.bookmarks = true;
    let least =
        ServerProfile { watches_state: false, versions_are_ordered: false, ..ServerProfile::kubernetes() };
    assert_eq!(capabilities(least.clone()), little);
    let unsupported = remote(least).watch(from(WatchFrom::State(Freshness::Newest))).await.err();
    assert!(matches!(unsupported, Some(WatchError::Source(SourceError::Unsupported { .. }))));
    assert!(remote(ServerProfile::kubernetes()).interests().is_none());
    assert!(remote(ServerProfile::machinery()).interests().is_some());
    assert!(!Writer::capabilities(&remote(ServerProfile::kubernetes())).fences);
    assert!(Writer::capabilities(&remote(ServerProfile::machinery())).fences);
    server.stop().await;
}

#[tokio::test]
async fn a_watch_ends_cleanly_at_its_timeout() {
    let (_server, ports) = ports().await;
    let version = all(&ports).await.version;
    let request =
        WatchRequest { timeout: Some(Duration::from_millis(200)), ..from(WatchFrom::After(version)) };
    let mut events = ports.watch(request).await.unwrap();
    while let Some(event) = next(&mut events).await {
        assert!(matches!(event, Ok(WatchEvent::Bookmark { .. })), "{event:?}");
    }
}

#[tokio::test]
async fn a_future_version_is_reported() {
    let (_server, ports) = ports().await;
    let newest = all(&ports).await.version;
    let far = Freshness::AtLeast(Revision(1 << 40).into());
    let request = ListRequest { at: ListAt::Fresh(far.clone()), ..ListRequest::default() };
    let check = |error| match error {
        ListError::FutureRevision { newest: Some(said), .. } => assert!(said >= newest),
        other => panic!("{other:?}"),
    };
    check(within(ports.list(request)).await.unwrap_err());
    check(within(ports.get(&key("a"), far)).await.unwrap_err());
}

#[tokio::test]
async fn a_compacted_version_is_expired() {
    let store = Memory::new(Options::default());
    let (_server, client) = on(store.clone()).await;
    let ports = Remote::<Port>::new(client, kind(), ServerProfile::machinery());
    for name in ["a", "b", "c"] {
        create(&ports, name, "1").await;
    }
    let limit = NonZeroU32::new(1);
    let first = ports.list(ListRequest { limit, ..ListRequest::default() }).await.unwrap();
    create(&ports, "d", "1").await;
    let newest = create(&ports, "e", "1").await.version().unwrap();
    store.compact(newest.revision().unwrap()).await.unwrap();

    let old = first.version;
    let expired = match ports.watch(from(WatchFrom::After(old.clone()))).await {
        Ok(mut events) => next(&mut events).await.unwrap().unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(expired, WatchError::Expired);
    let exactly = ListRequest { at: ListAt::Exactly(old.clone()), ..ListRequest::default() };
    assert_eq!(ports.list(exactly).await, Err(ListError::Expired { rest: None }));
    let by = InterestBy::Field("spec.vni".into());
    let keys = BTreeSet::from(["1".into()]);
    let request = InterestRequest { by, keys, filter: Filter::default(), after: Some(old) };
    let expired = match ports.open(request).await {
        Ok(mut watch) => next(&mut watch.events).await.unwrap().unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(expired, WatchError::Expired);
    // The list can continue, at another version.
    let on = ListRequest { rest: first.rest, ..ListRequest::default() };
    let Err(ListError::Expired { rest: Some(rest) }) = ports.list(on).await else {
        panic!("it is compacted")
    };
    let page = ports.list(ListRequest { rest: Some(rest), ..ListRequest::default() }).await.unwrap();
    assert_eq!(names(&page), ["b", "c", "d", "e"]);
}

#[tokio::test]
async fn built_in_kinds_are_kinds() {
    let (server, client_of_it, _) = served().await;
    let configs =
        Remote::<ConfigMap>::new(client_of_it, Kind::of::<ConfigMap>().unwrap(), ServerProfile::kubernetes());
    let mut config = ConfigMap::default();
    config.metadata.name = Some("a b".into());
    config.metadata.namespace = Some("default".into());
    let refused = configs.create(&config, None).await.unwrap_err();
    assert!(refused.to_string().contains("metadata.name"), "{refused}");
    config.metadata.name = Some("a".into());
    config.data = Some([("k".into(), "ö\n\"".into())].into());
    let made = configs.create(&config, None).await.unwrap();
    assert_eq!(all(&configs).await.items.into_iter().find(|it| it.key() == key("a")), Some(made.object));
    configs.delete(&key("a"), &Default::default()).await.unwrap();
    server.stop().await;
}
