//! Edits, changes, lost connections, restarts, slow readers and compaction in any order: the
//! client's state converges to the server's.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_apiserver::{ApiServer, Handle, Limits};
use machinery_objects::{Deletion, InterestBy, InterestEdit, ObjectKey, Preconditions, WriteOutcome, Writer};
use machinery_store::{Backend, Memory, Options};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::oracle::{InterestOracle, OracleKey, is_in, key_of, value_of};
use super::road::{Ask, InterestFailure, InterestStream, Road, StreamItem, of_edit, revision, widgets};
use crate::client::{Client, definition};
use crate::interposed::Interposed;

const NAMESPACES: [&str; 2] = ["default", "other"];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const COLORS: [&str; 3] = ["red", "green", "blue"];

/// One step of a history. Steps that are impossible, such as a delete of a missing object, are
/// skipped.
#[derive(Clone, Debug)]
enum InterestOp {
    Put {
        namespace: usize,
        name: usize,
        key: Option<usize>,
        color: Option<usize>,
        is_in: bool,
    },
    Delete {
        namespace: usize,
        name: usize,
    },
    /// Indexes into the possible keys.
    Edit {
        remove: Vec<usize>,
        add: Vec<usize>,
    },
    /// The client reads up to that many events.
    Read(usize),
    /// The client loses its connection, and reconnects.
    CutOff,
    /// The same, and makes at once the edits that it does not know to be done.
    CutOffInMidEdit,
    Restart,
    Compact,
    /// The client reads all events.
    Settle,
}

fn ops() -> impl Strategy<Value = Vec<InterestOp>> {
    let indexes = || prop::collection::vec(0..6_usize, 0..4);
    let put = (
        0..2_usize,
        0..4_usize,
        prop::option::weighted(0.9, 0..4_usize),
        prop::option::of(0..3_usize),
        any::<bool>(),
    )
        .prop_map(|(namespace, name, key, color, is_in)| InterestOp::Put {
            namespace,
            name,
            key,
            color,
            is_in,
        });
    let op = prop_oneof![
        14 => put,
        4 => (0..2_usize, 0..4_usize).prop_map(|(namespace, name)| InterestOp::Delete { namespace, name }),
        8 => (indexes(), indexes()).prop_map(|(remove, add)| InterestOp::Edit { remove, add }),
        8 => (0..8_usize).prop_map(InterestOp::Read),
        2 => Just(InterestOp::CutOff),
        1 => Just(InterestOp::CutOffInMidEdit),
        1 => Just(InterestOp::Restart),
        1 => Just(InterestOp::Compact),
        2 => Just(InterestOp::Settle),
    ];
    prop::collection::vec(op, 10..80)
}

fn asks() -> impl Strategy<Value = Ask> {
    let by = prop_oneof![
        4 => Just(InterestBy::Label("key".into())),
        2 => Just(InterestBy::Field("spec.color".into())),
        1 => Just(InterestBy::Field("metadata.name".into())),
        1 => Just(InterestBy::Field("metadata.namespace".into())),
    ];
    let namespace = any::<bool>();
    let labels = prop_oneof![Just(""), Just("in=yes")];
    (by, namespace, labels, prop::collection::vec(0..6_usize, 0..3)).prop_map(
        |(by, namespace, labels, first)| {
            let keys = chosen(&by, &first);
            // A name is one of a namespace.
            let is_name = by == InterestBy::Field("metadata.name".into());
            let namespace = (namespace || is_name).then_some("default");
            Ask { by, namespace, labels, keys, after: None }
        },
    )
}

/// Keys by their indexes.
fn chosen(by: &InterestBy, indexes: &[usize]) -> BTreeSet<Arc<str>> {
    let key = |index: &usize| match by {
        InterestBy::Label(_) => format!("k{index}").into(),
        InterestBy::Field(field) => match &**field {
            "metadata.name" => NAMES[index % 4].into(),
            "metadata.namespace" => NAMESPACES[index % 2].into(),
            _ => COLORS[index % 3].into(),
        },
    };
    indexes.iter().map(key).collect()
}

/// Counters of rare steps: without them a run may have tested nothing.
#[derive(Default)]
struct Seen {
    left: Cell<u64>,
    deleted: Cell<u64>,
    resumed: Cell<u64>,
    expired: Cell<u64>,
    compared: Cell<u64>,
    over_keys: Cell<u64>,
    again: Cell<u64>,
    overtaken: Cell<u64>,
}

fn count(cell: &Cell<u64>) {
    cell.set(cell.get() + 1);
}

#[test]
fn client_state_equals_server_state_under_its_keys() {
    let cases = if cfg!(debug_assertions) { 150 } else { 1500 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let seen = Seen::default();
    let mut runner = TestRunner::new_with_rng(config, rng);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runner.run(&(any::<bool>(), any::<bool>(), asks(), ops()), |(on_wire, short, ask, ops)| {
        runtime.block_on(run((on_wire, short), ask, &ops, &seen));
        Ok(())
    });
    found.unwrap_or_else(|error| panic!("{error}"));
    for (what, cell) in [
        ("left", &seen.left),
        ("deleted", &seen.deleted),
        ("resumed", &seen.resumed),
        ("expired", &seen.expired),
        ("compared", &seen.compared),
        ("went from key to key", &seen.over_keys),
        ("told anew", &seen.again),
        ("overtaken", &seen.overtaken),
    ] {
        assert!(cell.get() > 10, "{what}: {} times", cell.get());
    }
}

/// `short`: the server keeps little history, and slow readers expire.
async fn run((on_wire, short): (bool, bool), ask: Ask, ops: &[InterestOp], seen: &Seen) {
    let store = Interposed::over(Memory::new(Options::default()));
    let mut plane = ModelServer::start(&store, short).await;
    let space = json!({"metadata": {"name": "other"}});
    plane.client.post("/api/v1/namespaces", &space).await.fine();
    let mut oracle = InterestOracle::default();
    let mut client = Follower::new(on_wire, ask, seen, &store);
    client.open(&plane, &oracle).await;
    for op in ops {
        match op {
            InterestOp::Put { namespace, name, key, color, is_in } => {
                let labels = [("key", key.map(|key| format!("k{key}"))), ("in", is_in.then(|| "yes".into()))];
                let labels: BTreeMap<_, _> =
                    labels.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
                let color = color.map(|color| COLORS[color]);
                let mut object = json!({
                    "metadata": {"namespace": NAMESPACES[*namespace], "name": NAMES[*name], "labels": labels},
                    "spec": {},
                });
                if let Some(color) = color {
                    object["spec"]["color"] = color.into();
                }
                plane.put(object, &mut oracle).await;
            }
            InterestOp::Delete { namespace, name } => {
                plane.delete((NAMESPACES[*namespace].into(), NAMES[*name].into()), &mut oracle).await;
            }
            InterestOp::Edit { remove, add } => {
                let by = client.ask.by.clone();
                let edit = InterestEdit { remove: chosen(&by, remove), add: chosen(&by, add) };
                client.edit(&plane, &oracle, edit).await;
            }
            InterestOp::Read(count) => {
                for _ in 0..*count {
                    let Some(told) = client.try_next().await else { break };
                    client.hear(told, &plane, &oracle).await;
                }
            }
            InterestOp::CutOff => client.resume(&plane, &oracle, false).await,
            InterestOp::CutOffInMidEdit => client.resume(&plane, &oracle, true).await,
            InterestOp::Restart => {
                plane.server.stop().await;
                plane = ModelServer::start(&store, short).await;
                client.resume(&plane, &oracle, false).await;
            }
            InterestOp::Compact => {
                let newest = store.revision().await.unwrap();
                store.compact(newest).await.unwrap();
            }
            InterestOp::Settle => client.settle(&plane, &oracle).await,
        }
    }
    client.settle(&plane, &oracle).await;
    let page = plane.client.get("/metrics").await.fine();
    let irrelevant = "\nmachinery_interest_irrelevant_events_total 0\n";
    assert!(page.as_str().unwrap().contains(irrelevant), "nothing outside was told: {page}");
    plane.server.stop().await;
}

/// The server as it is now.
struct ModelServer {
    server: ApiServer,
    client: Client,
    handle: Handle<Value>,
}

impl ModelServer {
    async fn start(store: &Interposed, short: bool) -> Self {
        let mut limits = Limits::default();
        if short {
            limits.ring_revisions = 2;
        }
        let builder = ApiServer::builder(store.clone()).crds([definition()]).limits(limits);
        let server = builder.start().await.unwrap();
        let (client, handle) = (Client::of(&server), widgets(&server));
        Self { server, client, handle }
    }

    async fn put(&self, mut object: Value, oracle: &mut InterestOracle) {
        let there = oracle.newest().get(&key_of(&object));
        let written = match there {
            None => self.handle.create(&object, None).await.unwrap().object,
            Some(there) => {
                object["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
                self.handle.update(&object, &Preconditions::default()).await.unwrap().object
            }
        };
        oracle.put(written);
    }

    async fn delete(&self, key: OracleKey, oracle: &mut InterestOracle) {
        if !oracle.newest().contains_key(&key) {
            return;
        }
        let object = ObjectKey::new(Some(&*key.0), &key.1).unwrap();
        let gone = self.handle.delete(&object, &Deletion::default()).await.unwrap();
        let WriteOutcome::Removed(Some(at)) = &gone.token().wrote else { panic!("{gone:?}") };
        oracle.delete(&key, at.revision().unwrap().0);
    }
}

/// A client: its objects, and its stream.
struct Follower<'a> {
    on_wire: bool,
    ask: Ask,
    seen: &'a Seen,
    store: &'a Interposed,
    stream: Option<InterestStream>,
    /// Whether it has read from this stream: missed changes are read at once.
    has_read: bool,
    /// How many interests it has opened.
    opened: u32,
    /// The keys whose bookmark it has received.
    keys: BTreeSet<Arc<str>>,
    /// Edits whose bookmark it has not received.
    pending: Vec<(u64, InterestEdit)>,
    /// Whether it has all objects under its keys, apart from pending events.
    is_complete: bool,
    objects: BTreeMap<OracleKey, Value>,
    newest: u64,
}

impl<'a> Follower<'a> {
    fn new(on_wire: bool, ask: Ask, seen: &'a Seen, store: &'a Interposed) -> Self {
        let keys = ask.keys.clone();
        let (pending, objects) = Default::default();
        Self {
            on_wire,
            ask,
            seen,
            store,
            stream: None,
            has_read: false,
            opened: 0,
            keys,
            pending,
            is_complete: false,
            objects,
            newest: 0,
        }
    }

    /// Opens an interest from its revision; without one, if that is too old.
    async fn open(&mut self, plane: &ModelServer, oracle: &InterestOracle) {
        self.stream = None;
        loop {
            self.opened += 1;
            let road = if self.on_wire { Road::wire(&plane.server) } else { Road::handle(&plane.server) };
            let after = self.is_complete.then_some(self.newest);
            let ask = Ask { keys: self.keys.clone(), after, ..self.ask.clone() };
            match road.open(&ask, &format!("interest-{:08}", self.opened)).await {
                Ok(stream) => {
                    if after.is_some() {
                        count(&self.seen.resumed);
                    }
                    self.stream = Some(stream);
                    self.has_read = false;
                    return;
                }
                Err(InterestFailure::Expired) if after.is_some() => self.expire(),
                Err(other) => panic!("{other:?} of {}", oracle.newest().len()),
            }
        }
    }

    fn expire(&mut self) {
        count(&self.seen.expired);
        self.is_complete = false;
        self.objects.clear();
        self.newest = 0;
    }

    /// Resumes after the stream was lost. Objects under incomplete keys are dropped.
    async fn resume(&mut self, plane: &ModelServer, oracle: &InterestOracle, edits: bool) {
        let (keys, ask) = (&self.keys, &self.ask);
        self.objects.retain(|_, object| is_in(ask, keys, object));
        if !self.is_complete {
            self.objects.clear();
        }
        let lost = std::mem::take(&mut self.pending);
        self.open(plane, oracle).await;
        if edits {
            for (_, edit) in lost {
                self.edit(plane, oracle, edit).await;
            }
        }
    }

    /// Edits, on the wire sometimes twice, as if the answer was lost, and sometimes with a wrong
    /// number before.
    async fn edit(&mut self, plane: &ModelServer, oracle: &InterestOracle, edit: InterestEdit) {
        let turn = self.pending.len() + edit.add.len();
        loop {
            let stream = self.stream.as_mut().expect("it has one");
            if let InterestStream::Wire(wire) = stream
                && turn.is_multiple_of(3)
            {
                let wrong = json!({"edit": wire.edits() + 2, "remove": ["k0", "k1"], "add": ["red"]});
                let code = wire.post(&plane.client, &wrong).await.code;
                assert!(code == 409 || code == 404, "{code}");
            }
            match stream.edit(&plane.client, &edit).await {
                Ok(number) => {
                    if let InterestStream::Wire(wire) = stream
                        && turn.is_multiple_of(2)
                    {
                        let again = of_edit(number, &edit);
                        assert_eq!(wire.post(&plane.client, &again).await.code, 202);
                    }
                    self.pending.push((number, edit));
                    return;
                }
                Err(InterestFailure::Gone) => Box::pin(self.resume(plane, oracle, false)).await,
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    async fn try_next(&mut self) -> Option<Option<Result<StreamItem, InterestFailure>>> {
        let before = self.store.watched();
        let told = self.stream.as_mut().expect("it has one").try_next().await;
        self.has_read_since(before);
        told
    }

    async fn next(&mut self) -> Option<Result<StreamItem, InterestFailure>> {
        let before = self.store.watched();
        let told = self.stream.as_mut().expect("it has one").next().await;
        self.has_read_since(before);
        told
    }

    /// A stream that read from the store while changes continued missed some.
    fn has_read_since(&mut self, before: usize) {
        if self.has_read && self.store.watched() > before {
            count(&self.seen.overtaken);
        }
        self.has_read = true;
    }

    /// Reads all pending events, and compares the state with the server's.
    async fn settle(&mut self, plane: &ModelServer, oracle: &InterestOracle) {
        let newest = oracle.newest().values().map(revision).max().unwrap_or(0);
        loop {
            self.edit(plane, oracle, InterestEdit::default()).await;
            let wanted = self.pending.last().expect("there is one").0;
            let opened = self.opened;
            while self.opened == opened && self.pending.last().is_some_and(|(last, _)| *last <= wanted) {
                let told = self.next().await;
                self.hear(told, plane, oracle).await;
            }
            if self.opened == opened {
                break;
            }
        }
        assert!(self.newest >= newest, "it came to {} and not to {newest}", self.newest);
        assert_eq!(self.objects, oracle.under(&self.ask, &self.keys, u64::MAX));
    }

    /// Applies an event, and compares it with the server's history.
    async fn hear(
        &mut self,
        told: Option<Result<StreamItem, InterestFailure>>,
        plane: &ModelServer,
        oracle: &InterestOracle,
    ) {
        match told {
            Some(Ok(StreamItem::Object(what, object))) => self.object(what, object, oracle),
            Some(Ok(StreamItem::Bookmark(at))) => self.newest = self.newest.max(at),
            Some(Ok(StreamItem::Complete(number, at))) => self.complete(number, at, oracle),
            Some(Err(InterestFailure::Expired)) => {
                self.expire();
                self.resume(plane, oracle, false).await;
            }
            Some(Err(other)) => panic!("{other:?}"),
            None => self.resume(plane, oracle, false).await,
        }
    }

    fn object(&mut self, what: &str, object: Value, oracle: &InterestOracle) {
        let (key, at) = (key_of(&object), revision(&object));
        let mut possible = self.keys.clone();
        possible.extend(self.pending.iter().flat_map(|(_, edit)| edit.add.iter().cloned()));
        assert!(is_in(&self.ask, &possible, &object), "{what} {object} is of no interest: {possible:?}");
        let known = self.objects.get(&key);
        if let Some(known) = known {
            let again = what == "ADDED" && revision(known) == at;
            assert!(revision(known) < at || again, "{what} goes back: {known} {object}");
            if again {
                count(&self.seen.again);
            }
        }
        // An event is the state at its revision, or before.
        match what {
            "ADDED" | "MODIFIED" => {
                assert_eq!(oracle.at(at).get(&key), Some(&object));
                assert!(what == "ADDED" || known.is_some(), "{object} was not there");
                let value = |object| value_of(&self.ask.by, object);
                if known.is_some_and(|known| what == "MODIFIED" && value(known) != value(&object)) {
                    count(&self.seen.over_keys);
                }
                self.objects.insert(key, object);
            }
            "LEFT" | "DELETED" => {
                let mut last = known.unwrap_or_else(|| panic!("{what} {object} was not there")).clone();
                last["metadata"]["resourceVersion"] = at.to_string().into();
                assert_eq!(object, last, "its last state that was in");
                let is_there = oracle.at(at).get(&key).is_some_and(|there| revision(there) == at);
                assert_eq!(is_there, what == "LEFT", "{what} {object}");
                count(if is_there { &self.seen.left } else { &self.seen.deleted });
                self.objects.remove(&key);
            }
            other => panic!("{other}"),
        }
        self.newest = self.newest.max(at);
    }

    fn complete(&mut self, number: u64, at: u64, oracle: &InterestOracle) {
        let rest = self.pending.iter().position(|(edit, _)| *edit > number).unwrap_or(self.pending.len());
        for (_, edit) in self.pending.drain(..rest) {
            self.keys.retain(|key| !edit.remove.contains(key));
            self.keys.extend(edit.add);
        }
        let (keys, ask) = (&self.keys, &self.ask);
        self.objects.retain(|_, object| is_in(ask, keys, object));
        assert!(at >= self.newest, "a mark at {at} after {}", self.newest);
        self.newest = at;
        self.is_complete = true;
        assert_eq!(self.objects, oracle.under(&self.ask, &self.keys, at), "at the mark of {number}");
        count(&self.seen.compared);
    }
}
