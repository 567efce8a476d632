//! Kills servers under load, repeatedly on the same data, while clients reconnect and continue.
//!
//! Each writer owns its objects, so it knows their history; after an unknown outcome it reads the
//! object. Each watch starts once and then only resumes from its last revision. At the end every
//! watch must have received exactly the writers' history. `SERVE_KILLS` sets the number of kills.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::client::{Connection, ConnectionLost, WatchFrames};
use crate::program::{Access, ServerProcess, free_port};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WRITERS: u64 = 4;
const NAMES: u64 = 4;
/// Minimum of acknowledged writes between two kills.
const WRITES_PER_KILL: u64 = 25;
const COLORS: [&str; 2] = ["red", "blue"];
/// Prefix of the objects written last: after them a watch is complete.
const LAST: &str = "last";

/// State that all clients share.
struct SharedState {
    access: Access,
    acknowledged: AtomicU64,
    enough: AtomicBool,
}

/// One state in the history of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ObjectState {
    /// Created or updated at this revision, with this count.
    Put {
        revision: u64,
        count: u64,
    },
    Deleted,
}

/// An event that a watch received.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WatchedEvent {
    event: String,
    name: String,
    revision: u64,
    count: u64,
    color: String,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_killed_under_load_lose_nothing_and_every_watch_resumes() {
    let kills = std::env::var("SERVE_KILLS").map_or(20, |kills| kills.parse().unwrap());
    timeout(Duration::from_secs(60 + 10 * kills), kill_and_check(kills)).await.expect("the run ends in time");
}

async fn kill_and_check(kills: u64) {
    let home = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let start =
        async || ServerProcess::start(&["--listen", &address, "--data-dir", "data"], home.path()).await;
    let mut serving = start().await;
    let world = Arc::new(SharedState {
        access: serving.access.clone(),
        acknowledged: AtomicU64::new(0),
        enough: AtomicBool::new(false),
    });
    let (_, list) = request_until_answered(&world, Method::GET, MAPS, None).await;
    let begin = revision(&list["metadata"]);

    let (mut writers, mut watchers) = (JoinSet::new(), JoinSet::new());
    for writer in 0..WRITERS {
        writers.spawn(write(world.clone(), writer));
    }
    for color in [None, None, Some(COLORS[0]), Some(COLORS[1])] {
        for bookmarks in [false, true] {
            watchers.spawn(watch(world.clone(), begin, color, bookmarks));
        }
    }
    for kill in 0..kills {
        let before = world.acknowledged.load(SeqCst);
        // Vary the point of the kill.
        while world.acknowledged.load(SeqCst) < before + WRITES_PER_KILL + kill % 7 {
            // A client that found an error has panicked.
            if let Some(Err(wrong)) = writers.try_join_next() {
                panic!("a writer: {wrong}");
            }
            if let Some(Err(wrong)) = watchers.try_join_next() {
                panic!("a watch: {wrong}");
            }
            sleep(Duration::from_millis(1)).await;
        }
        serving.kill().await;
        serving = start().await;
        assert_eq!(serving.access, world.access, "certificates and tokens are kept");
    }
    world.enough.store(true, SeqCst);
    let histories: BTreeMap<String, History> = writers.join_all().await.into_iter().flatten().collect();
    for color in COLORS {
        let map = map(&format!("{LAST}-{color}"), color, 0);
        let (code, _) = request_until_answered(&world, Method::POST, MAPS, Some(&map)).await;
        assert_eq!(code, 201);
    }
    let watched = watchers.join_all().await;
    let (_, list) = request_until_answered(&world, Method::GET, MAPS, None).await;
    serving.kill().await;

    let steps: usize = histories.values().map(|history| history.steps.len()).sum();
    assert!(steps as u64 >= kills * WRITES_PER_KILL, "{steps} steps");
    let (_, whole) = watched.iter().find(|(color, _)| color.is_none()).unwrap();
    check_against_histories(whole, &histories);
    check_list(whole, &histories, list["items"].as_array().unwrap());
    for (color, seen) in &watched {
        assert_eq!(*seen, selected(whole, *color), "{color:?}");
    }
}

/// The history of an object, as its writer knows it.
#[derive(Default)]
struct History {
    steps: Vec<ObjectState>,
    uid: Option<String>,
    count: u64,
}

impl History {
    /// The revision of the object, if it exists.
    fn revision(&self) -> Option<u64> {
        match self.steps.last()? {
            ObjectState::Put { revision, .. } => Some(*revision),
            ObjectState::Deleted => None,
        }
    }
}

/// Changes its own objects until `enough` is set. Returns their histories.
async fn write(world: Arc<SharedState>, writer: u64) -> Vec<(String, History)> {
    let mut histories: Vec<(String, History)> =
        (0..NAMES).map(|one| (format!("w{writer}-{one}"), History::default())).collect();
    let mut dice = writer * 7919 + 1;
    let mut client = None;
    while !world.enough.load(SeqCst) {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (name, history) = &mut histories[usize::try_from(dice >> 33).unwrap() % NAMES as usize];
        let delete = (dice >> 50).is_multiple_of(4);
        if client.is_none() {
            client = Connection::to(&world.access).await.ok();
        }
        let Some(connection) = &mut client else {
            sleep(Duration::from_millis(5)).await;
            continue;
        };
        let color = COLORS[usize::try_from(dice >> 40).unwrap() % 2];
        if change(connection, name, history, delete, color).await.is_ok() {
            world.acknowledged.fetch_add(1, SeqCst);
            continue;
        }
        // The outcome is unknown: a read must find the state before or after the change.
        client = None;
        let path = format!("{MAPS}/{name}");
        let (code, found) = request_until_answered(&world, Method::GET, &path, None).await;
        let was = history.revision();
        match code {
            404 if was.is_some() => {
                assert!(delete, "{name} was at {was:?}, and was deleted without a request");
                history.steps.push(ObjectState::Deleted);
            }
            404 => {}
            200 if Some(revision(&found["metadata"])) == was => {}
            200 => {
                let count = count(&found);
                assert_eq!(count, history.count + 1, "{name}: a change without a request");
                record_put(history, &found, count);
            }
            _ => panic!("{code} {found}"),
        }
    }
    histories
}

/// Makes one change, and records its result.
async fn change(
    client: &mut Connection,
    name: &str,
    history: &mut History,
    delete: bool,
    color: &str,
) -> Result<(), ConnectionLost> {
    let path = format!("{MAPS}/{name}");
    let mut next = map(name, color, history.count + 1);
    let (code, answer) = match history.revision() {
        None => client.request(Method::POST, MAPS, Some(&next)).await?,
        Some(_) if delete => {
            let (code, answer) = client.request(Method::DELETE, &path, None).await?;
            assert_eq!(code, 200, "{answer}");
            history.steps.push(ObjectState::Deleted);
            return Ok(());
        }
        Some(revision) => {
            next["metadata"]["resourceVersion"] = revision.to_string().into();
            client.request(Method::PUT, &path, Some(&next)).await?
        }
    };
    assert!(code == 200 || code == 201, "{name}: {code} {answer}");
    let count = history.count + 1;
    record_put(history, &answer, count);
    Ok(())
}

fn record_put(history: &mut History, object: &Value, count: u64) {
    if history.revision().is_none() {
        history.uid = Some(object["metadata"]["uid"].as_str().unwrap().to_owned());
    }
    history.count = count;
    history.steps.push(ObjectState::Put { revision: revision(&object["metadata"]), count });
}

/// Watches from `begin` on, resuming after each disconnect, until the last object is received.
async fn watch(
    world: Arc<SharedState>,
    begin: u64,
    color: Option<&'static str>,
    bookmarks: bool,
) -> (Option<&'static str>, Vec<WatchedEvent>) {
    let (mut after, mut seen) = (begin, Vec::new());
    let selector = color.map(|color| format!("&labelSelector=color%3D{color}")).unwrap_or_default();
    // Watches with bookmarks also time out, and resume from the bookmark before the end.
    let marks = if bookmarks { "&allowWatchBookmarks=true&timeoutSeconds=2" } else { "" };
    let last = format!("{LAST}-{}", color.unwrap_or(COLORS[1]));
    loop {
        let path = format!("{MAPS}?watch=1&resourceVersion={after}{selector}{marks}");
        let began = async {
            let mut client = Connection::to(&world.access).await?;
            let (code, body) = client.send(Method::GET, &path, None).await?;
            assert_eq!(code, 200);
            Ok::<_, ConnectionLost>((client, WatchFrames::of(body)))
        };
        let Ok((_client, mut frames)) = began.await else {
            sleep(Duration::from_millis(5)).await;
            continue;
        };
        while let Some(frame) = frames.next().await {
            let (event, object) = (frame["type"].as_str().unwrap(), &frame["object"]);
            assert_ne!(event, "ERROR", "{color:?} after {after}: {frame}");
            let revision = revision(&object["metadata"]);
            if event == "BOOKMARK" {
                assert!(revision >= after, "a bookmark at {revision} after {after}");
                after = revision;
                continue;
            }
            assert!(revision > after, "{event} at {revision} after {after}");
            after = revision;
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let (name, shown) =
                (text(&object["metadata"]["name"]), text(&object["metadata"]["labels"]["color"]));
            let done = name == last;
            seen.push(WatchedEvent {
                event: event.to_owned(),
                name,
                revision,
                count: count(object),
                color: shown,
            });
            if done {
                return (color, seen);
            }
        }
    }
}

/// Repeats a request until it is answered. For idempotent requests only.
async fn request_until_answered(
    world: &SharedState,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    loop {
        if let Ok(mut client) = Connection::to(&world.access).await
            && let Ok(answer) = client.request(method.clone(), path, body).await
        {
            return answer;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

fn map(name: &str, color: &str, count: u64) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"color": color}},
        "data": {"count": count.to_string()}})
}

fn revision(metadata: &Value) -> u64 {
    metadata["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn count(map: &Value) -> u64 {
    map["data"]["count"].as_str().unwrap().parse().unwrap()
}

/// Compares the events of each object with its writer's history: none is missing, repeated or
/// foreign.
fn check_against_histories(whole: &[WatchedEvent], histories: &BTreeMap<String, History>) {
    let mut events: BTreeMap<&str, Vec<&WatchedEvent>> = BTreeMap::new();
    for seen in whole {
        events.entry(&seen.name).or_default().push(seen);
    }
    events.retain(|name, _| !name.starts_with(LAST));
    for (name, history) in histories {
        let events = events.remove(name.as_str()).unwrap_or_default();
        let steps: Vec<ObjectState> = events
            .iter()
            .map(|seen| match seen.event.as_str() {
                "DELETED" => ObjectState::Deleted,
                _ => ObjectState::Put { revision: seen.revision, count: seen.count },
            })
            .collect();
        assert_eq!(steps, history.steps, "{name}");
        let mut there = false;
        for seen in events {
            let expected = if there { ["MODIFIED", "DELETED"] } else { ["ADDED", "ADDED"] };
            assert!(expected.contains(&seen.event.as_str()), "{seen:?}");
            there = seen.event != "DELETED";
        }
    }
    assert!(events.is_empty(), "{events:?}");
}

/// Compares the final list with the state that the events lead to.
fn check_list(whole: &[WatchedEvent], histories: &BTreeMap<String, History>, items: &[Value]) {
    let mut left = BTreeMap::new();
    for seen in whole {
        match seen.event.as_str() {
            "DELETED" => left.remove(&seen.name),
            _ => left.insert(seen.name.clone(), (seen.revision, seen.count)),
        };
    }
    let mut listed = BTreeMap::new();
    for item in items {
        let name = item["metadata"]["name"].as_str().unwrap();
        // That of the server itself was there before.
        if name == "kube-root-ca.crt" {
            continue;
        }
        if let Some(history) = histories.get(name) {
            assert_eq!(item["metadata"]["uid"].as_str(), history.uid.as_deref(), "{name}");
        }
        listed.insert(name.to_owned(), (revision(&item["metadata"]), count(item)));
    }
    assert_eq!(listed, left);
}

/// The events that a watch of one color must receive: leaving the selector is a deletion, entering
/// it an addition.
fn selected(whole: &[WatchedEvent], color: Option<&str>) -> Vec<WatchedEvent> {
    let Some(color) = color else { return whole.to_vec() };
    let mut shown: BTreeMap<&str, &WatchedEvent> = BTreeMap::new();
    let mut events = Vec::new();
    for seen in whole {
        let now = seen.event != "DELETED" && seen.color == color;
        let event = match (shown.contains_key(seen.name.as_str()), now) {
            (false, false) => continue,
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
        };
        // A deletion event has the last state that matched the selector.
        let before = shown.remove(seen.name.as_str()).filter(|_| !now).unwrap_or(seen);
        events.push(WatchedEvent { event: event.to_owned(), revision: seen.revision, ..before.clone() });
        if now {
            shown.insert(&seen.name, seen);
        }
        if seen.name == format!("{LAST}-{color}") {
            break;
        }
    }
    events
}
