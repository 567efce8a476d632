//! Guards that fail, and limits of their keys and objects.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use machinery_apiserver::{ApiServer, KindOf, Limits};
use machinery_objects::{Deletion, InvalidField, Preconditions, SourceError, WriteError, Writer};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::subnet::{PATH, Subnet, key, posted, records, subnet, subnets_of, unguarded};
use crate::client::{Client, definition};

/// A gate that stays shut until a test opens it.
#[derive(Clone, Default)]
struct Gate(Arc<OnceLock<()>>);

impl Gate {
    fn wait(&self) {
        self.0.wait();
    }

    fn open(&self) {
        let _ = self.0.set(());
    }
}

/// Opens the gate at the end of the test in any case: a runtime waits for its threads.
struct Opens(Gate);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.open();
    }
}

const PANICS: u64 = 1;
const NEVER_ENDS: u64 = 2;
const HAS_NO_KEYS: u64 = 3;

/// A guard whose behaviour is given by the subnet's color.
fn obedient(gate: &Gate) -> KindOf<Subnet> {
    let gate = gate.clone();
    let keys = |subnet: &Subnet| {
        assert_ne!(subnet.spec.from, HAS_NO_KEYS, "as it was asked");
        super::subnet::keys(subnet)
    };
    unguarded().guard("obedient", keys, move |subnet: &Subnet, others: &[Arc<Subnet>]| {
        match subnet.spec.from {
            PANICS => panic!("as it was asked"),
            NEVER_ENDS => gate.wait(),
            _ => {}
        }
        let alone = InvalidField { field: String::new(), reason: "there is another one".into() };
        let same = others.iter().any(|other| other.spec.from == subnet.spec.from);
        same.then_some(alone).into_iter().collect()
    })
}

/// Another kind with a guard.
fn widgets() -> KindOf<Value> {
    let keys = |widget: &Value| [widget["spec"]["color"].to_string()];
    KindOf::defined(definition()).guard("one-of-a-color", keys, |_: &Value, others: &[Arc<Value>]| {
        let wrong = InvalidField { field: "spec.color".into(), reason: "it is taken".into() };
        others.first().map(|_| wrong).into_iter().collect()
    })
}

async fn start(gate: &Gate, limits: Limits) -> (ApiServer, Memory) {
    let store = Memory::new(Options::default());
    let builder = ApiServer::builder(store.clone()).kind(obedient(gate)).kind(widgets()).limits(limits);
    (builder.start().await.unwrap(), store)
}

/// Other writes succeed.
async fn goes_on(client: &Client, color: &str) {
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": color}, "spec": {"color": color},
    });
    client.post("/apis/example.com/v1/namespaces/default/widgets", &widget).await.fine();
    let map = json!({"metadata": {"name": color}});
    client.post("/api/v1/namespaces/default/configmaps", &map).await.fine();
}

async fn counted(client: &Client, why: &str) -> Option<u64> {
    let page = client.get("/metrics").await.fine();
    let series = format!("machinery_refused_total{{why=\"{why}\"}} ");
    page.as_str().unwrap().lines().find_map(|line| line.strip_prefix(&*series)?.parse().ok())
}

#[tokio::test]
async fn a_panic_of_a_guard_is_reported_and_refuses_one_write() {
    // The backtrace of a panic may take seconds to write.
    let limits = Limits { guard_time: Duration::from_secs(60), ..Limits::default() };
    let (server, store) = start(&Gate::default(), limits).await;
    let (client, handle) = (Client::of(&server), subnets_of(&server));
    for from in [PANICS, HAS_NO_KEYS] {
        let refused = client.post(PATH, &posted(&subnet("a", &[1], from, 9))).await;
        let why = "the guard \"obedient\" of subnets.example.com panicked, and nothing was written: the server's log \
                   says where";
        assert_eq!(refused.refused(), (500, "InternalError", why));
        let error = handle.create(&subnet("a", &[1], from, 9), None).await.unwrap_err();
        assert!(matches!(error, WriteError::Source(SourceError::Malformed { .. })), "{error:?}");
    }
    handle.create(&subnet("a", &[1], 7, 9), None).await.unwrap();
    let panics = subnet("a", &[1], PANICS, 9);
    let error = handle.update(&panics, &Preconditions::default()).await.unwrap_err();
    assert!(error.to_string().contains("\"obedient\""), "{error}");
    goes_on(&client, "red").await;
    assert_eq!(counted(&client, "panic").await, Some(5));
    handle.delete(&key("a"), &Deletion::default()).await.unwrap();
    assert_eq!(records(&store).await, 1, "that of the color");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_hangs_blocks_only_its_kind() {
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let time = Duration::from_millis(1500);
    let limits = Limits { guard_time: time, guards_at_once: 2, ..Limits::default() };
    let (server, _) = start(&gate, limits).await;
    let (client, handle) = (Client::of(&server), subnets_of(&server));
    handle.create(&subnet("there", &[1], 50, 50), None).await.unwrap();
    let never = async |name: &str| {
        let refused = client.post(PATH, &posted(&subnet(name, &[1], NEVER_ENDS, 9))).await;
        let why = "the guard \"obedient\" of subnets.example.com did not answer within 1.5 seconds, and nothing was \
                   written";
        assert_eq!(refused.refused(), (503, "ServiceUnavailable", why));
        assert_eq!(refused.body["details"]["retryAfterSeconds"], 1);
    };
    tokio::join!(never("a"), never("b"), goes_on(&client, "red"));
    // They still have their places, and there are two.
    let refused = client.post(PATH, &posted(&subnet("c", &[1], 7, 9))).await;
    let why = "the guard \"obedient\" of subnets.example.com is asked as often as it may be: ask again";
    assert_eq!(refused.refused(), (429, "TooManyRequests", why));
    let error = handle.create(&subnet("c", &[1], 7, 9), None).await.unwrap_err();
    assert!(matches!(error, WriteError::Source(SourceError::TooManyRequests { .. })), "{error:?}");
    goes_on(&client, "green").await;
    handle.delete(&key("there"), &Deletion::default()).await.unwrap();
    let refused = (counted(&client, "late_guard").await, counted(&client, "too_many_guards").await);
    assert_eq!(refused, (Some(2), Some(2)));
    gate.open();
    handle.create(&subnet("c", &[1], 7, 9), None).await.unwrap();
    assert_eq!(client.get(&format!("{PATH}/a")).await.code, 404, "that it ended writes nothing");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_stops_despite_a_guard_that_hangs() {
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let time = Duration::from_millis(300);
    let (server, _) = start(&gate, Limits { guard_time: time, ..Limits::default() }).await;
    let refused = Client::of(&server).post(PATH, &posted(&subnet("a", &[1], NEVER_ENDS, 9))).await;
    assert_eq!(refused.code, 503);
    let stopped = tokio::time::timeout(10 * time, server.stop()).await;
    stopped.expect("it waits for no longer than a check may take");
}

#[tokio::test]
async fn the_numbers_of_compared_objects_and_keys_are_limited() {
    let limits = Limits { guarded_objects: 2, guard_keys: 3, ..Limits::default() };
    let (server, store) = start(&Gate::default(), limits).await;
    let (client, handle) = (Client::of(&server), subnets_of(&server));
    for at in 10..13 {
        handle.create(&subnet(&format!("s{at}"), &[1], at, at), None).await.unwrap();
    }
    let refused = client.post(PATH, &posted(&subnet("a", &[1], 20, 20))).await;
    let why = "Subnet.example.com \"a\" is invalid: <nil>: Too many: 3: the guard \"obedient\" would hold it against so \
               many others, and may against 2: split them, or delete some";
    assert_eq!(refused.refused(), (422, "Invalid", why));
    let error = handle.create(&subnet("a", &[1], 20, 20), None).await.unwrap_err();
    assert!(matches!(error, WriteError::Source(SourceError::Invalid { .. })), "{error:?}");
    handle.delete(&key("s10"), &Deletion::default()).await.unwrap();
    handle.create(&subnet("a", &[1], 20, 20), None).await.unwrap();

    let refused = client.post(PATH, &posted(&subnet("b", &[2, 3, 4, 5], 20, 20))).await;
    let why = "Subnet.example.com \"b\" is invalid: <nil>: Too many: 4: it would be under so many keys of guards, and may \
               be under 3";
    assert_eq!(refused.refused(), (422, "Invalid", why));
    handle.create(&subnet("b", &[2, 3, 4], 20, 20), None).await.unwrap();
    assert_eq!(records(&store).await, 4);
    server.stop().await;
}

#[tokio::test]
async fn the_maximum_number_of_keys_fits_a_transaction() {
    let (server, store) = start(&Gate::default(), Limits::default()).await;
    let handle = subnets_of(&server);
    let (first, second): (Vec<u64>, Vec<u64>) = ((0..16).collect(), (16..32).collect());
    handle.create(&subnet("other", &second, 10, 10), None).await.unwrap();
    handle.create(&subnet("a", &first, 20, 20), None).await.unwrap();
    handle.update(&subnet("a", &second, 20, 20), &Preconditions::default()).await.unwrap();
    assert_eq!(records(&store).await, 16);
    handle.delete(&key("a"), &Deletion::default()).await.unwrap();
    handle.delete(&key("other"), &Deletion::default()).await.unwrap();
    assert_eq!(records(&store).await, 0);
    server.stop().await;
}
