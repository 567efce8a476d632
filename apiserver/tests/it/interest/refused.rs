//! Invalid and oversized edits: typed errors, and no effect.

use http::Method;
use machinery_apiserver::{ApiServer, Limits};
use machinery_objects::{InterestBy, InterestEdit, SourceError, WatchError};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::road::{Ask, InterestFailure, InterestStream, Road, begin, keys};
use crate::client::{Client, definition};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";
const ID: &str = "interest-0123456789";

async fn server() -> (ApiServer, Client) {
    let limits = Limits {
        interests: 2,
        interest_keys: 5,
        interest_key_bytes: 8,
        interests_bytes: 10_000,
        ..Limits::default()
    };
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]).limits(limits);
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

fn at(id: &str) -> String {
    format!("{ALL}/interests/{id}")
}

fn stream(id: &str) -> String {
    format!("{ALL}?watch=true&interest={id}")
}

/// A text, shortened, that is no edit of an interest: the code, the reason, and a part of the
/// message.
type RefusedRow = (Value, u16, &'static str, &'static str);

#[tokio::test]
async fn invalid_interests_are_refused() {
    let (server, client) = server().await;
    let by = json!({"label": "key"});
    let open = |more: Value| {
        let mut body = json!({"edit": 0, "by": by, "add": ["a"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let rows: Vec<RefusedRow> = vec![
        (json!([]), 422, "Invalid", "must be an object"),
        (json!({}), 422, "Invalid", "edit: Required value"),
        (json!({"edit": null}), 422, "Invalid", "edit: Required value"),
        (open(json!({"edit": -1})), 422, "Invalid", "edit: Invalid value: -1"),
        (open(json!({"edit": 1.5})), 422, "Invalid", "edit: Invalid value: 1.5"),
        (open(json!({"edit": "0"})), 422, "Invalid", "edit: Invalid value: \"0\""),
        (open(json!({"by": null})), 422, "Invalid", "by: Required value"),
        (open(json!({"by": "key"})), 422, "Invalid", "by: Invalid value"),
        (open(json!({"by": {}})), 422, "Invalid", "by: Invalid value"),
        (open(json!({"by": {"label": "a", "field": "b"}})), 422, "Invalid", "by: Invalid value"),
        (open(json!({"by": {"label": 7}})), 422, "Invalid", "by: Invalid value"),
        (open(json!({"by": {"name": "a"}})), 422, "Invalid", "by: Invalid value"),
        (open(json!({"by": {"label": "a b"}})), 400, "BadRequest", "can be no label"),
        (open(json!({"by": {"label": ""}})), 400, "BadRequest", "can be no label"),
        (
            open(json!({"by": {"field": "spec.size"}})),
            400,
            "BadRequest",
            "field label not supported: spec.size",
        ),
        (open(json!({"by": {"field": ""}})), 400, "BadRequest", "field label not supported"),
        (open(json!({"remove": ["a"]})), 422, "Invalid", "remove: Forbidden"),
        (open(json!({"add": "a"})), 422, "Invalid", "add: Invalid value: \"a\""),
        (open(json!({"add": {"a": 1}})), 422, "Invalid", "add: Invalid value: \"object\""),
        (open(json!({"add": ["a", 7]})), 422, "Invalid", "add[1]: Invalid value: 7"),
        (open(json!({"add": [["a"]]})), 422, "Invalid", "add[0]: Invalid value: \"array\""),
        (open(json!({"add": [""]})), 422, "Invalid", "a key may not be empty"),
        (open(json!({"add": ["123456789"]})), 422, "Invalid", "add: Too long: may not be more than 8 bytes"),
        (open(json!({"add": ["\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}"]})), 422, "Invalid", "add: Too long"),
        (
            open(json!({"add": ["1", "2", "3", "4", "5", "6"]})),
            422,
            "Invalid",
            "add: Too many: 6: must have at most 5 items",
        ),
        (open(json!({"resourceVersion": 7})), 422, "Invalid", "resourceVersion: Invalid value: 7"),
        (open(json!({"resourceVersion": "x"})), 400, "BadRequest", "invalid resource version"),
        (open(json!({"keys": []})), 422, "Invalid", "keys: Forbidden"),
        (json!({"edit": 1, "add": ["a"]}), 404, "NotFound", "interests \"interest-0123456789\" not found"),
        (json!({"edit": 1, "by": {"label": "key"}}), 422, "Invalid", "by: Forbidden"),
        (json!({"edit": 1, "resourceVersion": "1"}), 422, "Invalid", "resourceVersion: Forbidden"),
    ];
    for (body, code, reason, message) in &rows {
        let answer = client.post(&at(ID), body).await;
        let refused = answer.refused();
        assert!(
            (refused.0, refused.1) == (*code, *reason) && refused.2.contains(message),
            "{body}: {answer:#?}"
        );
    }
    for (body, code, message) in [
        ("", 400, "unexpected end"),
        ("{", 400, ""),
        ("{\"edit\": 0, \"add\": [\"a]}", 400, ""),
        ("{\"edit\": 0, \"edit\": 1, \"by\": {\"label\": \"a\"}}", 422, "Duplicate value"),
    ] {
        let answer = client.ask(Method::POST, &at(ID), &[], body).await;
        assert!(answer.code == code && answer.refused().2.contains(message), "{body}: {answer:#?}");
    }
    let body = open(json!({})).to_string();
    for (method, path, headers, code) in [
        (Method::POST, at("short"), &[][..], 404),
        (Method::POST, at("Interest-0123456789"), &[], 404),
        (Method::GET, at(ID), &[], 405),
        (Method::PUT, at(ID), &[], 405),
        (Method::DELETE, at(ID), &[], 405),
        (Method::POST, format!("{}/more", at(ID)), &[], 404),
        (Method::POST, at(ID), &[("content-type", "application/yaml")], 415),
        (Method::POST, at(ID), &[("accept", "application/yaml")], 406),
        (Method::POST, format!("{}?labelSelector=a%3D%3D%3D", at(ID)), &[], 400),
        (Method::POST, format!("{}?fieldSelector=spec.size%3D1", at(ID)), &[], 400),
        (Method::POST, "/apis/example.com/v1/things/interests/interest-0123456789".into(), &[], 404),
    ] {
        let answer = client.ask(method, &path, headers, &body).await;
        assert_eq!(answer.code, code, "{path} {headers:?}: {answer:#?}");
    }
    let by_name = json!({"edit": 0, "by": {"field": "metadata.name"}, "add": ["a"]});
    let everywhere = "/apis/example.com/v1/widgets/interests/interest-0123456789";
    let answer = client.post(everywhere, &by_name).await;
    let refused = answer.refused();
    assert!((refused.0, refused.1) == (422, "Invalid"), "{answer:?}");
    assert!(refused.2.contains("a name is one of a namespace: ask below the path of one"), "{answer:?}");
    let page = client.get("/metrics").await.fine();
    assert!(page.as_str().unwrap().contains("\nmachinery_interests 0\n"), "nothing was opened");
    server.stop().await;
}

#[tokio::test]
async fn edits_out_of_order_and_second_streams_are_refused() {
    let (server, client) = server().await;
    let open = json!({"edit": 0, "by": {"label": "key"}, "add": ["a"]});
    client.post(&at(ID), &open).await.fine();
    let edit = async |number: u64, add: &str| {
        let answer = client.post(&at(ID), &json!({"edit": number, "add": [add]})).await;
        (answer.code, answer.refused().2.to_owned())
    };
    let order = |next: u64| {
        let why = "is at another edit: the next one is";
        (409, format!("interests {ID:?} {why} {next}; the last one may be repeated as it was"))
    };
    assert_eq!(edit(2, "b").await, order(1));
    assert_eq!(edit(1, "b").await.0, 202);
    assert_eq!(edit(1, "b").await.0, 202, "once more");
    assert_eq!(edit(1, "c").await, order(2));
    assert_eq!(edit(3, "c").await, order(2));
    assert_eq!(edit(i64::MAX as u64, "c").await, order(2));
    assert_eq!(client.post(&at(ID), &open).await.code, 409, "it is past its opening");

    let mut told = InterestStream::reading(begin(&client, &stream(ID)).await.unwrap());
    told.told(1).await;
    let Err(InterestFailure::Other(why)) = begin(&client, &stream(ID)).await else {
        panic!("a second stream")
    };
    assert!(why.contains("has its stream"), "{why}");
    assert_eq!(begin(&client, &stream("interest-9999999999")).await.err(), Some(InterestFailure::Gone));
    assert_eq!(edit(2, "c").await.0, 202, "the first one goes on");
    assert_eq!(told.told(2).await.len(), 1);

    client.post(&at("interest-1111111111"), &open).await.fine();
    let answer = client.post(&at("interest-2222222222"), &open).await;
    assert_eq!(answer.refused().0, 429, "{answer:?}");
    for (more, message) in [
        ("&resourceVersion=0", "leave out resourceVersion"),
        ("&limit=5", "leave out limit"),
        ("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "leave out resourceVersionMatch"),
        ("&labelSelector=x%3Dy", "was opened with another labelSelector"),
        ("&fieldSelector=spec.size%3D1", "field label not supported"),
        ("&timeoutSeconds=x", "strconv.ParseInt"),
    ] {
        let path = format!("{}{more}", stream("interest-1111111111"));
        let Err(InterestFailure::Other(why)) = begin(&client, &path).await else { panic!("{more}") };
        assert!(why.contains(message), "{why}");
    }
    let mut told = InterestStream::reading(begin(&client, &stream("interest-1111111111")).await.unwrap());
    told.told(0).await;
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_resume_from_a_future_revision_is_refused() {
    let (server, client) = server().await;
    let mut open = json!({"edit": 0, "by": {"label": "key"}, "add": ["a"], "resourceVersion": "1000000"});
    client.post(&at(ID), &open).await.fine();
    let Err(InterestFailure::Other(why)) = begin(&client, &stream(ID)).await else {
        panic!("it is still to come")
    };
    assert!(why.contains("Too large resource version: 1000000"), "{why}");
    assert_eq!(begin(&client, &stream(ID)).await.err(), Some(InterestFailure::Gone), "it is over");
    open["resourceVersion"] = "0".into();
    client.post(&at(ID), &open).await.fine();
    let mut told = InterestStream::reading(begin(&client, &stream(ID)).await.unwrap());
    told.told(0).await;
    server.stop().await;
}

/// An edit up to the size limit of a body, and beyond: the number of keys is limited, and the
/// stream continues.
#[tokio::test]
async fn a_million_keys_are_refused() {
    let (server, client) = server().await;
    let many = |count: u32| json!({"edit": 0, "by": {"label": "key"}, "add": (0..count).map(|key| key.to_string()).collect::<Vec<_>>()});
    for (count, code, reason) in [
        (6, 422, "Invalid"),
        (90_000, 422, "Invalid"),
        (100_001, 413, "RequestEntityTooLarge"),
        (1_000_000, 413, "RequestEntityTooLarge"),
    ] {
        let answer = client.post(&at(ID), &many(count)).await;
        assert_eq!((answer.code, answer.refused().1), (code, reason), "{count}");
        assert!(answer.body.to_string().len() < 1000, "{answer:?}");
    }
    client.post(&at(ID), &many(5)).await.fine();
    let mut edit = many(1_000_000);
    edit["edit"] = 1.into();
    assert_eq!(client.post(&at(ID), &edit).await.code, 413);
    let edit = json!({"edit": 1, "remove": ["0"], "add": ["8", "9"]});
    assert_eq!(client.post(&at(ID), &edit).await.code, 422);
    let edit = json!({"edit": 1, "remove": ["0"], "add": ["8"]});
    assert_eq!(client.post(&at(ID), &edit).await.code, 202);
    server.stop().await;

    let limits = Limits { interests_bytes: 10_000, ..Limits::default() };
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]).limits(limits);
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    let answer = client.post(&at(ID), &many(90_000)).await;
    assert_eq!((answer.code, answer.refused().1), (429, "TooManyRequests"), "not so much at once");
    client.post(&at(ID), &many(60)).await.fine();
    assert_eq!(client.post(&at("interest-1111111111"), &many(60)).await.code, 429);
    server.stop().await;
}

#[tokio::test]
async fn odd_bytes_are_keys_as_any() {
    let limits = Limits { interest_keys: 100, ..Limits::default() };
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]).limits(limits);
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    let odd =
        ["\u{0}", "a/b", "..", "%2e", "\u{202e}", "\u{1f600}", "\n", "\"", "\\", " ", "k=1,b", "*", "null"];
    let body = json!({"edit": 0, "by": {"field": "metadata.name"}, "add": odd});
    client.post(&at(ID), &body).await.fine();
    let mut told = InterestStream::reading(begin(&client, &stream(ID)).await.unwrap());
    assert_eq!(told.told(0).await.len(), 1);
    let edit = r#"{"edit": 1, "add": ["\ud800", "ok"]}"#;
    assert_eq!(client.ask(Method::POST, &at(ID), &[], edit).await.code, 202);
    assert_eq!(told.told(1).await.len(), 1);
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "ok"}});
    client.post(ALL, &widget).await.fine();
    assert!(told.some(1).await[0].starts_with("ADDED ok "));
    server.stop().await;
}

#[tokio::test]
async fn a_handle_refuses_the_same() {
    let (server, client) = server().await;
    let road = Road::handle(&server);
    let refused = async |ask: Ask| match road.open(&ask, "").await {
        Err(InterestFailure::Other(why)) => why,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was opened"),
    };
    let ask = |by, first: &str| Ask { by, ..Ask::by_label("key", first) };
    let label = || InterestBy::Label("key".into());
    assert!(
        refused(ask(InterestBy::Field("spec.size".into()), "a")).await.contains("field label not supported")
    );
    let by_name = Ask { namespace: None, ..ask(InterestBy::Field("metadata.name".into()), "a") };
    assert!(refused(by_name).await.contains("a name is one of a namespace"));
    assert!(refused(ask(InterestBy::Label("a b".into()), "a")).await.contains("can be no label"));
    assert!(refused(ask(label(), "1 2 3 4 5 6")).await.contains("6 keys, and 5 is the limit"));
    assert!(refused(ask(label(), "123456789")).await.contains("longer than 8 bytes"));
    let Ok(InterestStream::Handle { interest, .. }) = road.open(&ask(label(), "1 2"), "").await else {
        panic!("it opens")
    };
    drop(interest);

    let mut stream = road.open(&ask(label(), "1 2"), "").await.unwrap();
    let InterestStream::Handle { interest, .. } = &stream else { panic!("it is of a handle") };
    let many = InterestEdit { add: keys("3 4 5 6"), ..InterestEdit::default() };
    let Err(WatchError::Source(SourceError::Invalid { causes, .. })) = interest.edit(many).await else {
        panic!("too many")
    };
    assert_eq!(causes[0].field, "add");
    let fine = InterestEdit { add: keys("3"), ..InterestEdit::default() };
    assert_eq!(stream.edit(&client, &fine).await, Ok(1), "what was refused has no number");
    server.stop().await;
}
