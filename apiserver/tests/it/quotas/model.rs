//! Random creates, deletes and quotas against a naive reading of them, one after the other and at
//! the same time.

use std::collections::{BTreeMap, BTreeSet};

use machinery_objects::Revision;
use machinery_store::{Backend, Change, Entry, KeySpan, Memory, Options, Range, Retention, WatchItem};
use serde_json::{Map, Value, json};

use super::tools::{beside, named, on, says, widget};
use crate::client::Client;

/// Pseudo-random numbers from a seed.
struct ModelNumbers(u64);

impl ModelNumbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// A counted kind: its path, its key prefix in the store, and the quota keys that count it.
struct CountedKind {
    path: &'static str,
    place: &'static str,
    plural: &'static str,
    keys: &'static [&'static str],
}

const KINDS: [CountedKind; 4] = [
    CountedKind { path: "/api/v1", place: "core", plural: "secrets", keys: &["secrets", "count/secrets"] },
    CountedKind { path: "/api/v1", place: "core", plural: "configmaps", keys: &["count/configmaps"] },
    CountedKind {
        path: "/apis/example.com/v1",
        place: "example.com",
        plural: "widgets",
        keys: &["count/widgets.example.com"],
    },
    CountedKind { path: "/api/v1", place: "core", plural: "resourcequotas", keys: &["resourcequotas"] },
];
const QUOTAS: &CountedKind = &KINDS[3];
const NAMESPACES: [&str; 2] = ["default", "n"];

impl CountedKind {
    fn at(&self, namespace: &str) -> String {
        format!("{}/namespaces/{namespace}/{}", self.path, self.plural)
    }

    fn is(&self, key: &str) -> bool {
        key.strip_prefix(self.place)
            .and_then(|rest| rest.strip_prefix('/'))
            .and_then(|rest| rest.strip_prefix(self.plural))
            .is_some_and(|rest| rest.starts_with('/'))
    }
}

enum QuotaStep {
    Create(&'static CountedKind, &'static str, String),
    Delete(&'static CountedKind, &'static str, String),
    /// A quota is made with this, or wants this from now on.
    Allow(&'static str, String, BTreeMap<&'static str, u64>),
}

fn step(numbers: &mut ModelNumbers) -> QuotaStep {
    let namespace = NAMESPACES[numbers.below(2) as usize];
    let of = &KINDS[numbers.below(3) as usize];
    match numbers.below(10) {
        0..5 => QuotaStep::Create(of, namespace, format!("o{}", numbers.below(6))),
        5..8 => QuotaStep::Delete(of, namespace, format!("o{}", numbers.below(6))),
        8 => {
            let mut hard = BTreeMap::new();
            for key in KINDS.iter().flat_map(|of| of.keys) {
                if numbers.below(3) == 0 {
                    // Of quotas at least as many as are tried.
                    hard.insert(*key, numbers.below(5) + if *key == "resourcequotas" { 1 } else { 0 });
                }
            }
            QuotaStep::Allow(namespace, format!("q{}", numbers.below(2)), hard)
        }
        _ => QuotaStep::Delete(QUOTAS, namespace, format!("q{}", numbers.below(2))),
    }
}

/// Runs the step, and returns the code of the answer.
async fn done(client: &Client, step: &QuotaStep) -> u16 {
    match step {
        QuotaStep::Create(of, namespace, name) => {
            let object = if of.plural == "widgets" { widget(name) } else { named(name) };
            client.post(&of.at(namespace), &object).await.code
        }
        QuotaStep::Delete(of, namespace, name) => {
            client.delete(&format!("{}/{name}", of.at(namespace))).await.code
        }
        QuotaStep::Allow(namespace, name, hard) => {
            let hard: Map<String, Value> =
                hard.iter().map(|(key, most)| ((*key).to_owned(), most.to_string().into())).collect();
            let quota = json!({"metadata": {"name": name}, "spec": {"hard": hard}});
            let path = QUOTAS.at(namespace);
            match client.post(&path, &quota).await.code {
                409 => client.put(&format!("{path}/{name}"), &quota).await.code,
                code => code,
            }
        }
    }
}

/// The existing objects, by key, and the quotas.
#[derive(Default)]
struct Naive {
    there: BTreeSet<String>,
    quotas: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Naive {
    fn key(of: &CountedKind, namespace: &str, name: &str) -> String {
        format!("{}/{}/{namespace}/{name}", of.place, of.plural)
    }

    fn count(&self, of: &CountedKind, namespace: &str) -> u64 {
        let start = Self::key(of, namespace, "");
        self.there.iter().filter(|key| key.starts_with(&start)).count() as u64
    }

    /// Returns the limits of a kind in a namespace, by key.
    fn limits<'a>(&'a self, of: &'a CountedKind, namespace: &str) -> impl Iterator<Item = u64> + 'a {
        let start = Self::key(QUOTAS, namespace, "");
        let quotas = self.quotas.iter().filter(move |(key, _)| key.starts_with(&start));
        quotas.flat_map(|(_, hard)| of.keys.iter().filter_map(|key| hard.get(*key).copied()))
    }

    fn is_full(&self, of: &CountedKind, namespace: &str) -> bool {
        self.limits(of, namespace).any(|most| self.count(of, namespace) >= most)
    }

    /// Does the same. Returns the code.
    fn done(&mut self, step: &QuotaStep) -> u16 {
        match step {
            QuotaStep::Create(of, namespace, name) => self.made(of, namespace, name),
            QuotaStep::Delete(of, namespace, name) => {
                let key = Self::key(of, namespace, name);
                self.quotas.remove(&key);
                if self.there.remove(&key) { 200 } else { 404 }
            }
            QuotaStep::Allow(namespace, name, hard) => {
                let key = Self::key(QUOTAS, namespace, name);
                let code = match self.made(QUOTAS, namespace, name) {
                    409 => 200,
                    code => code,
                };
                if code != 403 {
                    let hard = hard.iter().map(|(key, most)| ((*key).to_owned(), *most));
                    self.quotas.insert(key, hard.collect());
                }
                code
            }
        }
    }

    fn made(&mut self, of: &CountedKind, namespace: &str, name: &str) -> u16 {
        if self.is_full(of, namespace) {
            return 403;
        }
        if self.there.insert(Self::key(of, namespace, name)) { 201 } else { 409 }
    }

    /// Returns the final status of a quota.
    fn status(&self, key: &str) -> Value {
        let namespace = key.split('/').nth(2).unwrap();
        let hard = &self.quotas[key];
        if hard.is_empty() {
            return json!({});
        }
        let used = KINDS.iter().flat_map(|of| of.keys.iter().map(move |key| (*key, of)));
        let used = used.filter(|(key, _)| hard.contains_key(*key));
        let used: BTreeMap<&str, String> =
            used.map(|(key, of)| (key, self.count(of, namespace).to_string())).collect();
        let hard: BTreeMap<&String, String> =
            hard.iter().map(|(key, most)| (key, most.to_string())).collect();
        json!({"hard": hard, "used": used})
    }

    /// Waits until the statuses of all quotas are correct.
    async fn rests(&self, client: &Client) {
        for key in self.quotas.keys() {
            let mut parts = key.split('/').skip(2);
            let (namespace, name) = (parts.next().unwrap(), parts.next().unwrap());
            let path = format!("{}/{name}", QUOTAS.at(namespace));
            let said = match self.status(key) {
                // A quota without any counted object never gets a status.
                Value::Object(status) if status.is_empty() => continue,
                status => says(client, &path, status).await,
            };
            assert_eq!(said["metadata"]["name"], name);
        }
    }
}

/// The namespaces that have a record.
async fn recorded(store: &impl Backend) -> BTreeSet<String> {
    let range = Range::of(KeySpan::prefix("/quotas/"));
    let entries = store.range(range).await.unwrap().entries;
    entries.iter().map(|entry| entry.key.strip_prefix("/quotas/").unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sequential_writes_are_allowed_exactly_as_in_a_naive_model() {
    for seed in 0..12_u64 {
        println!("seed {seed}");
        let mut numbers = ModelNumbers((seed + 1) * 0x9e37_79b9);
        let store = Memory::new(Options::default());
        let servers = [on(&store).await, on(&store).await];
        let clients = [Client::of(&servers[0]), Client::of(&servers[1])];
        clients[0].post("/api/v1/namespaces", &named("n")).await.fine();
        let mut naive = Naive::default();
        for at in 0..120 {
            let (step, client) = (step(&mut numbers), &clients[numbers.below(2) as usize]);
            let (code, expected) = (done(client, &step).await, naive.done(&step));
            assert_eq!(code, expected, "seed {seed}, step {at}");
            let with_quotas = naive.quotas.keys().map(|key| key.split('/').nth(2).unwrap().to_owned());
            assert_eq!(recorded(&store).await, with_quotas.collect(), "seed {seed}, step {at}");
        }
        naive.rests(&clients[0]).await;
        for server in servers {
            server.stop().await;
        }
    }
}

/// Follows the store from its first revision to its last, and checks each.
async fn audited(store: &impl Backend) -> (Naive, usize) {
    let until = store.revision().await.unwrap();
    let mut watch = store.watch(KeySpan::all(), Revision(1)).await.unwrap();
    let (mut naive, mut records, mut made, mut at) = (Naive::default(), BTreeSet::new(), 0, Revision(1));
    while at < until {
        let WatchItem::Changes { revision, events } = watch.next().await.unwrap() else { continue };
        at = revision;
        let mut new = Vec::new();
        for event in &events {
            match &event.change {
                Change::Put(entry) if entry.key.starts_with("/quotas/") => {
                    records.insert(entry.key.to_string());
                }
                Change::Deleted(key) if key.starts_with("/quotas/") => {
                    records.remove(&**key);
                }
                Change::Put(entry) => new.extend(put(&mut naive, entry)),
                Change::Deleted(key) => {
                    naive.there.remove(&**key);
                    naive.quotas.remove(&**key);
                }
            }
        }
        for (of, namespace) in new {
            made += 1;
            let count = naive.count(of, &namespace);
            // A new quota does not count itself.
            let own = u64::from(of.plural == "resourcequotas");
            let most = naive.limits(of, &namespace).min();
            assert!(
                own == 1 || most.is_none_or(|most| count <= most),
                "at {at:?} there are {count} {} in {namespace}, and may be {most:?}",
                of.plural
            );
        }
        let with_quotas =
            naive.quotas.keys().map(|key| format!("/quotas/{}", key.split('/').nth(2).unwrap()));
        assert_eq!(records, with_quotas.collect(), "at {at:?}");
    }
    (naive, made)
}

/// Applies a state; returns the kind and namespace of a new object.
fn put(naive: &mut Naive, entry: &Entry) -> Option<(&'static CountedKind, String)> {
    let of = KINDS.iter().find(|of| of.is(&entry.key))?;
    if of.plural == "resourcequotas" {
        // JSON behind a head of thirteen bytes.
        let quota: Value = serde_json::from_slice(&entry.value[13..]).unwrap();
        let hard = quota["spec"]["hard"].as_object().into_iter().flatten();
        let hard = hard.map(|(key, most)| (key.clone(), most.as_str().unwrap().parse().unwrap())).collect();
        naive.quotas.insert(entry.key.to_string(), hard);
    }
    let namespace = entry.key.split('/').nth(2).unwrap().to_owned();
    naive.there.insert(entry.key.to_string()).then_some((of, namespace))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_revision_exceeds_a_quota_and_final_counts_are_exact() {
    for seed in 0..8_u64 {
        println!("seed {seed}");
        let store = Memory::new(Options { retention: Retention::MANUAL, ..Options::default() });
        let servers = [on(&store).await, on(&store).await];
        let clients = [Client::of(&servers[0]), Client::of(&servers[1])];
        clients[0].post("/api/v1/namespaces", &named("n")).await.fine();
        let writer = |at: u64| {
            let (client, mut numbers) =
                (clients[(at % 2) as usize].clone(), ModelNumbers((seed * 4 + at + 1) * 0x9e37_79b9));
            beside(async move {
                for _ in 0..120 {
                    let code = done(&client, &step(&mut numbers)).await;
                    assert!(matches!(code, 200 | 201 | 403 | 404 | 409), "{code}");
                }
            })
        };
        for writer in [writer(0), writer(1), writer(2), writer(3)] {
            writer.await.unwrap();
        }
        let (naive, made) = audited(&store).await;
        assert!(made > 50, "seed {seed}: {made} were made");
        naive.rests(&clients[0]).await;
        for server in servers {
            server.stop().await;
        }
    }
}
