//! Events of interest streams, step by step.

use machinery_apiserver::{ApiServer, Limits};
use machinery_objects::{InterestBy, InterestEdit};
use machinery_store::{Backend, Memory, Options};
use serde_json::{Value, json};

use super::road::{Ask, InterestFailure, InterestStream, Road, StreamItem, begin, interests, keys, revision};
use crate::client::{Client, definition};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";

async fn server(store: &Memory) -> (ApiServer, Client) {
    let server = ApiServer::builder(store.clone()).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

/// Creates or updates a widget, and returns its revision.
async fn put(client: &Client, name: &str, key: &str) -> u64 {
    let mut widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "labels": {"key": key}},
    });
    let made = client.post(ALL, &widget).await;
    if made.code != 409 {
        return revision(&made.fine());
    }
    let there = client.get(&format!("{ALL}/{name}")).await.fine();
    widget["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
    revision(&client.put(&format!("{ALL}/{name}"), &widget).await.fine())
}

fn edit(remove: &str, add: &str) -> InterestEdit {
    InterestEdit { remove: keys(remove), add: keys(add) }
}

/// Both roads.
fn roads(server: &ApiServer) -> [Road; 2] {
    [Road::wire(server), Road::handle(server)]
}

#[tokio::test]
async fn an_edit_lists_objects_of_one_revision() {
    let store = Memory::new(Options::default());
    let (server, client) = server(&store).await;
    for (at, road) in roads(&server).iter().enumerate() {
        let name = |name: &str| format!("{name}{at}");
        let (a, b) = (put(&client, &name("a"), "k1").await, put(&client, &name("b"), "k2").await);
        let mut stream =
            road.open(&Ask::by_label("key", "k1"), &format!("interest-{at}-of-two-roads")).await.unwrap();
        let expected = [format!("ADDED {} k1 {a}", name("a")), format!("done 0 {b}")];
        assert_eq!(stream.told(0).await, expected, "the state, and its mark");

        // Changes before the edit are sent before it, by the old keys.
        let moved = put(&client, &name("a"), "k2").await;
        let again = put(&client, &name("a"), "k1").await;
        assert_eq!(stream.edit(&client, &edit("k1", "k2 k3")).await, Ok(1));
        let told = stream.told(1).await;
        let expected = [
            format!("LEFT {} k1 {moved}", name("a")),
            format!("ADDED {} k1 {again}", name("a")),
            format!("ADDED {} k2 {b}", name("b")),
            format!("done 1 {again}"),
        ];
        assert_eq!(told, expected);

        // No event under a removed key; a move from key to key is a modification.
        put(&client, &name("a"), "k1").await;
        let over = put(&client, &name("b"), "k3").await;
        let enters = put(&client, &name("a"), "k3").await;
        client.delete(&format!("{ALL}/{}", name("b"))).await.fine();
        let told = stream.some(3).await;
        assert_eq!(
            told[..2],
            [format!("MODIFIED {} k3 {over}", name("b")), format!("ADDED {} k3 {enters}", name("a")),]
        );
        assert!(told[2].starts_with(&format!("DELETED {} k3 ", name("b"))), "{told:?}");

        // A key that is removed and added is listed again; an edit without changes has its
        // bookmark.
        stream.edit(&client, &edit("k3", "k3")).await.unwrap();
        let told = stream.told(2).await;
        assert_eq!(told[0], format!("ADDED {} k3 {enters}", name("a")));
        assert_eq!(told.len(), 2);
        stream.edit(&client, &edit("k9", "k3")).await.unwrap();
        assert_eq!(stream.told(3).await.len(), 1);
        client.delete(&format!("{ALL}/{}", name("a"))).await.fine();
    }
    server.stop().await;
}

#[tokio::test]
async fn concurrent_edits_are_answered_together() {
    let store = Memory::new(Options::default());
    let (server, client) = server(&store).await;
    let a = put(&client, "a", "k2").await;
    for (at, road) in roads(&server).iter().enumerate() {
        let id = format!("interest-{at}-of-two-roads");
        let mut stream = road.open(&Ask::by_label("key", ""), &id).await.unwrap();
        assert_eq!(stream.told(0).await.len(), 1);
        for (number, (remove, add)) in [("", "k1"), ("k1", "k2"), ("", "k3"), ("k3", "")].iter().enumerate() {
            assert_eq!(stream.edit(&client, &edit(remove, add)).await, Ok(number as u64 + 1));
        }
        let told = stream.told(4).await;
        assert_eq!(told, [format!("ADDED a k2 {a}"), format!("done 4 {a}")], "one mark for all");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_resumes_at_its_clients_revision() {
    let store = Memory::new(Options::default());
    for at in 0..2 {
        let (server, client) = server(&store).await;
        let road = roads(&server).into_iter().nth(at).unwrap();
        let id = |id: &str| format!("interest-{at}-{id}-12345");
        let mut ask = Ask::by_label("key", "k1 k2");
        let name = format!("a{at}");
        let known = put(&client, &name, "k1").await;
        let mut stream = road.open(&ask, &id("first")).await.unwrap();
        stream.told(0).await;
        drop(stream);
        let changed = put(&client, &name, "k2").await;
        server.stop().await;

        let (server, client) = self::server(&store).await;
        let road = roads(&server).into_iter().nth(at).unwrap();
        let left = put(&client, &name, "k3").await;
        ask.after = Some(known);
        let mut stream = road.open(&ask, &id("second")).await.unwrap();
        let told = stream.told(0).await;
        let expected = [
            format!("MODIFIED {name} k2 {changed}"),
            format!("LEFT {name} k2 {left}"),
            format!("done 0 {left}"),
        ];
        assert_eq!(told, expected, "what happened meanwhile, and no state");
        drop(stream);

        store.compact(machinery_objects::Revision(left)).await.unwrap();
        let refused = road.open(&ask, &id("third")).await.err();
        assert_eq!(refused, Some(InterestFailure::Expired));
        server.stop().await;
    }
}

/// A field, a namespace, labels, keys, and the selected objects.
type SelectionRow = (&'static str, Option<&'static str>, &'static str, &'static str, &'static [&'static str]);

#[tokio::test]
async fn names_namespaces_and_fields_are_keys_too() {
    let store = Memory::new(Options::default());
    let (server, client) = server(&store).await;
    client.post("/api/v1/namespaces", &json!({"metadata": {"name": "other"}})).await.fine();
    for (namespace, name, color) in
        [("default", "a", "red"), ("other", "a", "blue"), ("other", "b", "red"), ("default", "b", "")]
    {
        let mut widget = json!({
            "apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": name, "labels": {"in": color}}, "spec": {},
        });
        if !color.is_empty() {
            widget["spec"]["color"] = color.into();
        }
        client.post(&interests(Some(namespace)), &widget).await.fine();
    }
    let rows: [SelectionRow; 6] = [
        ("metadata.name", Some("default"), "in=red", "a b", &["default/a"]),
        ("metadata.name", Some("other"), "", "a b z", &["other/a", "other/b"]),
        ("metadata.namespace", None, "", "other", &["other/a", "other/b"]),
        ("metadata.namespace", None, "in=red", "other default", &["default/a", "other/b"]),
        ("spec.color", None, "", "red", &["default/a", "other/b"]),
        ("spec.color", Some("default"), "in!=red", "red blue", &[]),
    ];
    for (at, (field, namespace, labels, first, expected)) in rows.into_iter().enumerate() {
        for (on, road) in roads(&server).iter().enumerate() {
            let ask = Ask {
                by: InterestBy::Field(field.into()),
                namespace,
                labels,
                keys: keys(first),
                after: None,
            };
            let mut stream = road.open(&ask, &format!("interest-{at}-on-road-{on}")).await.unwrap();
            let mut found = Vec::new();
            loop {
                match stream.next().await.unwrap().unwrap() {
                    StreamItem::Object("ADDED", object) => found.push(place(&object)),
                    StreamItem::Complete(0, _) => break,
                    other => panic!("{other:?}"),
                }
            }
            found.sort();
            assert_eq!(found, expected, "{field} {namespace:?} {labels} {first}");
        }
    }
    // Of a kind that is in no namespace, and below the path of which there is much else.
    let path = "/api/v1/namespaces";
    let body = json!({"edit": 0, "by": {"field": "metadata.name"}, "add": ["other"]});
    client.post(&format!("{path}/interests/of-namespaces-12345"), &body).await.fine();
    let stream = format!("{path}?watch=true&interest=of-namespaces-12345");
    let mut stream = InterestStream::reading(begin(&client, &stream).await.unwrap());
    let told = stream.told(0).await;
    assert!(told.len() == 2 && told[0].starts_with("ADDED other - "), "{told:?}");
    server.stop().await;
}

fn place(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap().to_owned();
    format!("{}/{}", text("namespace"), text("name"))
}

#[tokio::test]
async fn a_lost_answer_does_no_harm() {
    let store = Memory::new(Options::default());
    let (server, client) = server(&store).await;
    let a = put(&client, "a", "k1").await;
    let (ask, id) = (Ask::by_label("key", "k1"), "interest-0123456789");
    let path = format!("{ALL}/interests/{id}?labelSelector=");
    assert_eq!(client.post(&path, &ask.body()).await.code, 201);
    let InterestStream::Wire(wire) =
        Road::wire(&server).open(&ask, id).await.expect("opened twice is opened")
    else {
        panic!("it is on the wire")
    };
    let mut stream = InterestStream::Wire(wire);
    assert_eq!(stream.told(0).await, [format!("ADDED a k1 {a}"), format!("done 0 {a}")]);
    stream.edit(&client, &edit("k1", "k1")).await.unwrap();
    let InterestStream::Wire(wire) = &stream else { panic!("it is on the wire") };
    let again = json!({"edit": 1, "add": ["k1"], "remove": ["k1", "k1"]});
    assert_eq!(wire.post(&client, &again).await.code, 202);
    assert_eq!(wire.edits(), 1);
    assert_eq!(stream.told(1).await, [format!("ADDED a k1 {a}"), format!("done 1 {a}")]);
    let b = put(&client, "b", "k1").await;
    assert_eq!(stream.some(1).await, [format!("ADDED b k1 {b}")], "it was done once");
    server.stop().await;
}

#[tokio::test]
async fn ten_thousand_keys_edited_one_by_one_are_one_stream() {
    let store = Memory::new(Options::default());
    let limits = Limits { interest_keys: 10_001, ..Limits::default() };
    let builder = ApiServer::builder(store.clone()).crds([definition()]).limits(limits);
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    for at in 0..20 {
        put(&client, &format!("a{at}"), &format!("k{}", at * 500)).await;
    }
    for road in roads(&server) {
        let mut stream = road.open(&Ask::by_label("key", ""), "interest-of-many-keys-1").await.unwrap();
        stream.told(0).await;
        let (mut added, mut done) = (0, 0);
        for at in 0..10_000_u64 {
            let key = format!("k{at}");
            assert_eq!(stream.edit(&client, &edit("", &key)).await, Ok(at + 1));
            while let Some(next) = stream.try_next().await {
                match next.unwrap().unwrap() {
                    StreamItem::Object("ADDED", _) => added += 1,
                    StreamItem::Complete(edit, _) => done = edit,
                    other => panic!("{other:?}"),
                }
            }
        }
        while done < 10_000 {
            match stream.next().await.unwrap().unwrap() {
                StreamItem::Object("ADDED", _) => added += 1,
                StreamItem::Complete(edit, _) => done = edit,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(added, 20, "each object once, however many edits");
        let last = put(&client, "last", "k9999").await;
        assert_eq!(stream.some(1).await, [format!("ADDED last k9999 {last}")]);
        // Watches are not evaluated for changes under other keys.
        let before = asked(&client).await;
        for other in 0..50 {
            put(&client, &format!("other{other}"), "elsewhere").await;
        }
        assert_eq!(asked(&client).await, before);
        let page = client.get("/metrics").await.fine();
        let open = page.as_str().unwrap().lines().filter(|line| line.starts_with("machinery_interests 1"));
        assert_eq!(open.count(), usize::from(matches!(road, Road::Wire(_))), "{page}");
        drop(stream);
        client.delete(&format!("{ALL}/last")).await.fine();
    }
    server.stop().await;
}

/// Returns the number of evaluations of watches of widgets.
async fn asked(client: &Client) -> u64 {
    // A list from the cache includes all earlier writes.
    client.get(ALL).await.fine();
    let page = client.get("/metrics").await.fine();
    let mut lines =
        page.as_str().unwrap().lines().filter(|line| line.starts_with("machinery_watches_asked_total"));
    let line = lines.find(|line| line.contains("\"widgets\"")).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}
