//! Interests leave no resources behind when they end, and only the identity that opened one can
//! edit it.

use std::time::Duration;

use http::Request;
use http_body_util::Full;
use machinery_apiserver::{ApiServer, Identity, Limits};
use machinery_objects::{InterestEdit, InterestRequest, InterestSource, WatchError};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::road::{Ask, InterestFailure, InterestStream, Road, begin, widgets};
use crate::client::{Answer, Client, definition};
use crate::rights::{server, who_may};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";

async fn series(client: &Client, name: &str) -> String {
    let page = client.get("/metrics").await.fine();
    let line = page.as_str().unwrap().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}")).to_owned()
}

fn opening() -> Value {
    Ask::by_label("key", "k1").body()
}

fn at(id: &str) -> String {
    format!("{ALL}/interests/{id}")
}

fn stream(id: &str) -> String {
    format!("{ALL}?watch=true&interest={id}")
}

#[track_caller]
fn unknown(answer: &Answer) {
    let (code, reason, message) = answer.refused();
    assert_eq!((code, reason), (404, "NotFound"));
    assert!(message.contains("open another, with edit 0, all keys and the resourceVersion"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_closed_interest_leaves_no_resources() {
    let store = Memory::new(Options::default());
    // Keys for three interests of one key, of which two may be.
    let limits = Limits { interests: 2, interests_bytes: 3 * 130, ..Limits::default() };
    let server = ApiServer::builder(store).crds([definition()]).limits(limits).start().await.unwrap();
    let client = Client::of(&server);
    let edit = json!({"edit": 1, "remove": ["k1"]});
    for round in 0..20 {
        let id = format!("interest-0123456789-{round}");
        client.post(&at(&id), &opening()).await.fine();
        assert_eq!(series(&client, "machinery_interests").await, "1");
        if round % 2 == 0 {
            // The client never opens its stream.
            tokio::time::sleep(Duration::from_secs(29)).await;
            assert_eq!(series(&client, "machinery_interests").await, "1");
            tokio::time::sleep(Duration::from_secs(2)).await;
        } else {
            let mut told = InterestStream::reading(begin(&client, &stream(&id)).await.unwrap());
            told.told(0).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(series(&client, "machinery_interests").await, "1", "it has its stream");
        }
        assert_eq!(series(&client, "machinery_interests").await, "0");
        unknown(&client.post(&at(&id), &edit).await);
        assert_eq!(begin(&client, &stream(&id)).await.err(), Some(InterestFailure::Gone));
    }
    // A cancelled request for a stream ends the interest, too.
    client.post(&at("interest-0123456789"), &opening()).await.fine();
    let request = Request::get(stream("interest-0123456789")).body(Full::default()).unwrap();
    drop(client.send(request).await);
    unknown(&client.post(&at("interest-0123456789"), &edit).await);

    let road = Road::handle(&server);
    let Ok(InterestStream::Handle { events, interest }) = road.open(&Ask::by_label("key", "k1"), "").await
    else {
        panic!("it opens")
    };
    assert!(interest.edit(InterestEdit::default()).await.is_ok());
    drop(events);
    assert_eq!(interest.edit(InterestEdit::default()).await, Err(WatchError::Ended));
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_at_its_timeout_or_with_its_server() {
    let store = Memory::new(Options::default());
    let server = ApiServer::builder(store).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    client.post(&at("interest-0123456789"), &opening()).await.fine();
    let short = format!("{}&timeoutSeconds=100&allowWatchBookmarks=true", stream("interest-0123456789"));
    let mut told = InterestStream::reading(begin(&client, &short).await.unwrap());
    told.told(0).await;
    let later = client.post("/api/v1/namespaces", &json!({"metadata": {"name": "later"}})).await.fine();
    let mark = format!("mark {}", super::road::revision(&later));
    assert_eq!(told.next().await.unwrap().unwrap().short(), mark, "how far it has come");
    assert!(told.next().await.is_none());
    assert_eq!(series(&client, "machinery_interests").await, "0");

    client.post(&at("interest-0123456789"), &opening()).await.fine();
    let mut told = InterestStream::reading(begin(&client, &stream("interest-0123456789")).await.unwrap());
    told.told(0).await;
    let handle = widgets(&server);
    server.stop().await;
    assert!(told.next().await.is_none());
    let Ask { by, keys, .. } = Ask::by_label("key", "k1");
    let request = InterestRequest { by, keys, filter: Default::default(), after: None };
    assert!(InterestSource::open(&handle, request).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_stream_with_a_long_timeout_continues() {
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    for seconds in [u64::from(u32::MAX), i64::MAX as u64] {
        client.post(&at("interest-0123456789"), &opening()).await.fine();
        let long = format!("{}&timeoutSeconds={seconds}", stream("interest-0123456789"));
        let mut told = InterestStream::reading(begin(&client, &long).await.unwrap());
        told.told(0).await;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert!(told.try_next().await.is_none(), "it goes on");
    }
    server.stop().await;
}

/// A slow reader of an edit's initial objects could read on after its deadline, or after the server
/// stopped.
#[tokio::test(start_paused = true)]
async fn a_stream_ends_during_an_edit() {
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    for name in ["a", "b", "c"] {
        let widget = json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "labels": {"key": "k1"}},
        });
        client.post(ALL, &widget).await.fine();
    }
    client.post(&at("interest-0123456789"), &opening()).await.fine();
    let short = format!("{}&timeoutSeconds=100", stream("interest-0123456789"));
    let mut told = InterestStream::reading(begin(&client, &short).await.unwrap());
    told.some(1).await;
    tokio::time::sleep(Duration::from_secs(101)).await;
    assert!(told.next().await.is_none(), "its time is over");

    let roads = [Road::wire(&server), Road::handle(&server)];
    let mut streams = Vec::new();
    for road in &roads {
        let mut told = road.open(&Ask::by_label("key", "k1"), "interest-1111111111").await.unwrap();
        told.some(1).await;
        streams.push(told);
    }
    server.stop().await;
    for mut told in streams {
        assert!(told.next().await.is_none(), "the server stopped");
    }
}

#[tokio::test]
async fn an_interest_ends_with_its_kind() {
    const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    let opened = async || {
        client.post(&at("interest-0123456789"), &opening()).await.fine();
        let mut told = InterestStream::reading(begin(&client, &stream("interest-0123456789")).await.unwrap());
        told.told(0).await;
        told
    };
    let ended = async |mut told: InterestStream| {
        assert!(told.next().await.is_none());
        unknown(&client.post(&at("interest-0123456789"), &json!({"edit": 1, "add": ["k2"]})).await);
    };
    let told = opened().await;
    let printed = json!([{"name": "Kept", "type": "string", "jsonPath": ".spec.color"}]);
    let mut other = client.get(DEFINITION).await.fine();
    other["spec"]["versions"][0]["additionalPrinterColumns"] = printed;
    client.put(DEFINITION, &other).await.fine();
    ended(told).await;

    let mut told = opened().await;
    client.delete(DEFINITION).await.fine();
    assert!(told.next().await.is_none());
    let answer = client.post(&at("interest-0123456789"), &opening()).await;
    assert_eq!(answer.code, 404, "{answer:?}");
    assert_eq!(series(&client, "machinery_interests").await, "0");
    server.stop().await;
}

#[tokio::test]
async fn an_ended_stream_cannot_be_edited() {
    let store = Memory::new(Options::default());
    let server = ApiServer::builder(store).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    let (road, ask) = (Road::handle(&server), Ask::by_label("key", "k1"));
    let mut told = road.open(&ask, "").await.unwrap();
    told.told(0).await;
    assert_eq!(told.edit(&client, &InterestEdit::default()).await, Ok(1));
    told.told(1).await;
    server.stop().await;
    assert!(told.next().await.is_none());
    let InterestStream::Handle { interest, .. } = &told else { panic!("it is of a handle") };
    assert_eq!(interest.edit(InterestEdit::default()).await, Err(WatchError::Ended));
}

#[tokio::test]
async fn only_its_creator_can_edit_an_interest() {
    let (server, admin) = server().await;
    let rules = json!([{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["watch"]}]);
    let ann = who_may(&server, &admin, rules).await;
    let bob = Client::to(server.service(Identity::new("bob")));
    let id = "interest-0123456789";
    assert_eq!(bob.post(&at(id), &opening()).await.code, 403);
    assert_eq!(
        begin(&bob, &stream(id)).await.err().map(|error| format!("{error:?}").contains("cannot watch")),
        Some(true)
    );
    ann.post(&at(id), &opening()).await.fine();
    let edit = json!({"edit": 1, "add": ["k2"]});
    unknown(&admin.post(&at(id), &edit).await);
    assert_eq!(
        begin(&admin, &stream(id)).await.err(),
        Some(InterestFailure::Gone),
        "also for who may do everything"
    );
    let mut other = opening();
    other["add"] = json!(["k7"]);
    assert_eq!(admin.post(&at(id), &other).await.code, 201, "that is another one");
    ann.post(&at(id), &edit).await.fine();
    let mut told = InterestStream::reading(begin(&ann, &stream(id)).await.unwrap());
    told.told(1).await;
    assert_eq!(
        ann.post("/apis/example.com/v1/widgets/interests/interest-0123456789", &opening()).await.code,
        403
    );
    server.stop().await;
}

#[tokio::test]
async fn the_right_to_watch_one_object_allows_an_interest_in_it() {
    let (server, admin) = server().await;
    let rules = json!([{
        "apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["watch"], "resourceNames": ["a"],
    }]);
    let ann = who_may(&server, &admin, rules).await;
    let id = "interest-0123456789";
    let body = json!({"edit": 0, "by": {"field": "spec.color"}, "add": ["red"]});
    assert_eq!(ann.post(&at(id), &body).await.code, 403);
    let only = "fieldSelector=metadata.name%3Da";
    ann.post(&format!("{}?{only}", at(id)), &body).await.fine();
    assert_eq!(
        begin(&ann, &stream(id)).await.err().map(|error| format!("{error:?}").contains("cannot watch")),
        Some(true)
    );
    let mut told = InterestStream::reading(begin(&ann, &format!("{}&{only}", stream(id))).await.unwrap());
    let edit = json!({"edit": 1, "add": ["blue"]});
    assert_eq!(ann.post(&at(id), &edit).await.code, 403);
    ann.post(&format!("{}?{only}", at(id)), &edit).await.fine();
    let told = told.told(1).await;
    assert!(told[0].starts_with("ADDED a "), "{told:?}");
    server.stop().await;
}
