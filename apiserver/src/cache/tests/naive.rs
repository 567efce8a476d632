//! The indexed dispatch against a naive one that evaluates every selector on every event: every
//! watch receives the same events, for any start revision and reading speed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::Stream;
use machinery_objects::{FieldSelector, LabelSelector, Revision};
use machinery_store::faulty::Dice;
use machinery_store::{Backend, Entry, KeySpan, Memory, Options, Range, Transaction, WatchError, WatchItem};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::tools::{Running, kind, stored};
use crate::cache::{EventType, ObjectFilter};
use crate::kind::Kind;
use crate::select::Selection;
use crate::verbs::output::read;
use crate::watch::{End, Feed, Item, Plan};

const NAMESPACES: [&str; 3] = ["a", "b", "c"];
const VALUES: [&str; 4] = ["1", "2", "3", ""];

/// An event: type, key, revision of the state, revision of the event.
type DeliveredEvent = (EventType, String, Revision, Revision);

struct Watcher {
    feed: Feed,
    woken: Arc<Woken>,
    filter: ObjectFilter,
    after: Revision,
    told: Vec<DeliveredEvent>,
    begun_with_state: bool,
}

/// Whether the watcher was woken since its last poll; initially true.
struct Woken(AtomicBool);

impl Woken {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

#[tokio::test]
async fn indexed_dispatch_equals_naive_evaluation() {
    for seed in 0..8 {
        run(seed).await;
    }
}

async fn run(seed: u64) {
    let random = &mut Dice::new(seed);
    let (store, kind) = (Memory::new(Options::default()), kind());
    let first = store.revision().await.expect("it is open");
    // A short ring makes slow watchers read from the store.
    let running =
        Running::begin(Arc::new(store.clone()), kind.clone(), [1, 16, 4096][seed as usize % 3]).await;
    let mut watchers: Vec<Watcher> = Vec::new();
    for step in 0..1500 {
        write(random, &store, &kind).await;
        if step % 8 == 0 {
            let filter = ObjectFilter { selection: selection(random, &kind), namespace: namespace(random) };
            watchers.push(begin(random, &running, &store, filter, first).await);
        }
        if step % 16 == 0 {
            tokio::task::yield_now().await;
        }
        // Some are read at once, some rarely, some at the end.
        for (at, watcher) in watchers.iter_mut().enumerate() {
            if at % 3 == 0 || at % 3 == 1 && one_in(random, 1, 50) {
                watcher.read();
            }
        }
        if one_in(random, 1, 40) && !watchers.is_empty() {
            let gone = random.below(watchers.len() as u64) as usize;
            // Resumes from its last revision as a new watch.
            let Watcher { filter, told, after, .. } = watchers.swap_remove(gone);
            let after = told.last().map_or(after, |(.., revision)| *revision);
            let feed = Feed::after(running.cache.follow(filter.clone(), None, after), after, plan());
            watchers.push(Watcher {
                feed,
                filter,
                after,
                told: Vec::new(),
                begun_with_state: false,
                woken: Woken::new(),
            });
        }
    }
    let end = store.revision().await.expect("it is open");
    running.cache.view(Some(end)).await.unwrap_or_else(|refusal| panic!("{}", refusal.message));
    let history = history(&store, &kind, first, end).await;
    let mut events = 0;
    for watcher in &mut watchers {
        watcher.read_all().await;
        let expected = watcher.expected(&kind, &store, &history).await;
        events += expected.len();
        assert_eq!(
            watcher.told,
            expected,
            "seed {seed}, after {}: {:?} {:?} in {:?}",
            watcher.after,
            watcher.filter.selection.labels,
            watcher.filter.selection.fields,
            watcher.filter.namespace
        );
    }
    assert!(events > 2000, "seed {seed}: the watches were told of {events} events only");
    drop(watchers);
    assert!(running.cache.has_no_watches(), "seed {seed}: what ended is forgotten");
    running.stop().await;
}

/// Creates, changes or deletes some objects in one revision, half of the time among only twenty.
async fn write(random: &mut Dice, store: &Memory, kind: &Arc<Kind>) {
    let mut transaction = Transaction::new();
    let mut keys = BTreeSet::new();
    for _ in 0..=random.below(8).saturating_sub(5) {
        let of = if random.coin() { 20 } else { 1200 };
        let (namespace, name) = (pick(random, &NAMESPACES), format!("w{}", random.below(of)));
        let key = kind.place.key(Some(namespace), &name);
        if !keys.insert(key.clone()) {
            continue;
        }
        transaction = match one_in(random, 1, 5) {
            true => transaction.delete(key),
            false => transaction.put(key, stored(kind, &object(random, namespace, &name))),
        };
    }
    store.commit(transaction).await.expect("it is committed");
}

fn object(random: &mut Dice, namespace: &str, name: &str) -> Value {
    let mut labels = Map::new();
    for label in ["x", "y", "z"] {
        if one_in(random, 2, 3) {
            labels.insert(label.into(), pick(random, &VALUES).into());
        }
    }
    let mut object = json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": name, "namespace": namespace}, "spec": {}});
    if one_in(random, 3, 4) {
        object["metadata"]["labels"] = labels.into();
    }
    for field in ["color", "size"] {
        if one_in(random, 2, 3) {
            object["spec"][field] = pick(random, &VALUES).into();
        }
    }
    object
}

/// Label equality, sets, presence, absence and negation; fields, names and namespaces; combined.
fn selection(random: &mut Dice, kind: &Arc<Kind>) -> Selection {
    let mut labels = Vec::new();
    for _ in 0..random.below(3) {
        let (key, a, b) =
            (pick(random, &["x", "y", "z"]), pick(random, &VALUES), pick(random, &["1", "2", "3"]));
        labels.push(match random.below(6) {
            0 | 1 => format!("{key}={a}"),
            2 => format!("{key} in ({a},{b})"),
            3 => key.to_owned(),
            4 => format!("!{key}"),
            _ => format!("{key} notin ({b})"),
        });
    }
    let mut fields = Vec::new();
    if one_in(random, 1, 2) {
        let (name, value) = (random.below(20), pick(random, &VALUES));
        let sign = pick(random, &["=", "!="]);
        fields.push(match random.below(5) {
            0 | 1 => format!("spec.color{sign}{value}"),
            2 => format!("spec.size{sign}{value}"),
            3 => format!("metadata.name{sign}w{name}"),
            _ => format!("metadata.namespace{sign}{}", pick(random, &NAMESPACES)),
        });
    }
    let labels: LabelSelector = labels.join(",").parse().expect("labels");
    let fields: FieldSelector = fields.join(",").parse().expect("fields");
    Selection { kind: kind.clone(), labels, fields }
}

fn namespace(random: &mut Dice) -> Option<Arc<str>> {
    one_in(random, 1, 2).then(|| pick(random, &NAMESPACES).into())
}

fn pick<'a>(random: &mut Dice, from: &[&'a str]) -> &'a str {
    from[random.below(from.len() as u64) as usize]
}

fn one_in(random: &mut Dice, so_many: u64, of: u64) -> bool {
    random.below(of) < so_many
}

/// Starts with the state, at the current, an old or a future revision.
async fn begin(
    random: &mut Dice,
    running: &Running,
    store: &Memory,
    filter: ObjectFilter,
    first: Revision,
) -> Watcher {
    let now = store.revision().await.expect("it is open");
    let after = match random.below(4) {
        0 => {
            let begun = running.cache.view_and_follow(filter.clone(), None, None).await;
            let (view, follow) = begun.unwrap_or_else(|refusal| panic!("{}", refusal.message));
            let state = view.select(&filter, None).entries;
            let (after, feed) = (view.at, Feed::with_state(follow, state, view.at, End::Silent, plan()));
            return Watcher {
                feed,
                filter,
                after,
                told: Vec::new(),
                begun_with_state: true,
                woken: Woken::new(),
            };
        }
        1 => now,
        2 => Revision(first.0 + random.below(now.0 - first.0 + 1)),
        _ => Revision(now.0 + random.below(5)),
    };
    let feed = Feed::after(running.cache.follow(filter.clone(), None, after), after, plan());
    Watcher { feed, filter, after, told: Vec::new(), begun_with_state: false, woken: Woken::new() }
}

fn plan() -> Plan {
    Plan { bookmarks: false, until: Instant::now() + Duration::from_secs(3600) }
}

/// A change of one object.
struct Past {
    revision: Revision,
    before: Option<Read>,
    after: Option<Read>,
}

/// A state, parsed without an index.
struct Read {
    key: String,
    modified: Revision,
    object: Value,
}

impl Read {
    fn of(kind: &Kind, entry: &Entry) -> Self {
        let object =
            read(kind, entry, entry.modified).unwrap_or_else(|refusal| panic!("{}", refusal.message));
        Self { key: entry.key.to_string(), modified: entry.modified, object }
    }
}

/// Returns all changes of the store.
async fn history(store: &Memory, kind: &Kind, first: Revision, end: Revision) -> Vec<Past> {
    let mut watch = store.watch(KeySpan::all(), first).await.expect("nothing is compacted");
    let (mut history, mut seen) = (Vec::new(), first);
    watch.request_progress();
    while seen < end {
        match watch.next().await.expect("it goes on") {
            WatchItem::Changes { revision, events } => {
                history.extend(events.into_iter().map(|event| Past {
                    revision,
                    before: event.before.as_deref().map(|entry| Read::of(kind, entry)),
                    after: event.after().map(|entry| Read::of(kind, entry)),
                }));
                seen = revision;
            }
            WatchItem::Progress(revision) => seen = revision,
        }
    }
    history
}

impl Watcher {
    fn poll(&mut self) -> Poll<Option<Result<Item, WatchError>>> {
        let waker = Waker::from(self.woken.clone());
        std::pin::Pin::new(&mut self.feed).poll_next(&mut Context::from_waker(&waker))
    }

    /// Polls the watcher only if it was woken.
    fn read(&mut self) {
        while self.woken.0.swap(false, Ordering::AcqRel) {
            while let Poll::Ready(item) = self.poll() {
                let item = item.expect("its time is not over").expect("nothing is compacted");
                let Item::Changed(changed) = item else { panic!("no marks are wanted") };
                let entry = changed.entry();
                self.told.push((changed.what, entry.key.to_string(), entry.modified, changed.revision));
            }
        }
    }

    /// Reads from the store may need another turn.
    async fn read_all(&mut self) {
        for _ in 0..8 {
            self.read();
            tokio::task::yield_now().await;
        }
    }

    /// Returns the events of the naive implementation.
    async fn expected(&self, kind: &Arc<Kind>, store: &Memory, history: &[Past]) -> Vec<DeliveredEvent> {
        let matches = |read: &&Read| {
            let there = self.filter.namespace.as_deref();
            there.is_none_or(|one| read.object["metadata"]["namespace"] == one)
                && self.filter.selection.matches(&read.object)
        };
        let mut expected = Vec::new();
        if self.begun_with_state {
            let page =
                store.range(Range::of(KeySpan::all()).at(self.after)).await.expect("nothing is compacted");
            let states: Vec<Read> = page.entries.iter().map(|entry| Read::of(kind, entry)).collect();
            let states = states.iter().filter(matches);
            expected.extend(
                states.map(|read| (EventType::Added, read.key.clone(), read.modified, read.modified)),
            );
        }
        for past in history.iter().filter(|past| past.revision > self.after) {
            let (before, after) = (past.before.as_ref().filter(matches), past.after.as_ref().filter(matches));
            let (what, read) = match (before, after) {
                (None, None) => continue,
                (None, Some(read)) => (EventType::Added, read),
                (Some(_), Some(read)) => (EventType::Modified, read),
                (Some(read), None) if past.after.is_some() => (EventType::Left, read),
                (Some(read), None) => (EventType::Deleted, read),
            };
            expected.push((what, read.key.clone(), read.modified, past.revision));
        }
        expected
    }
}
