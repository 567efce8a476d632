//! The wire and in-process handles are equivalent: random writes through either have the same
//! outcomes and leave the same objects, and reads of one server through both are equal.

use std::sync::Arc;

use http::Method;
use jiff::Timestamp;
use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_objects::{
    Deletion, Filter, Freshness, Kind, ListRequest, ListWatch, ObjectKey, Patch, PatchFormat, Preconditions,
    Scope, SourceError, WriteError, Writer,
};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::{Answer, Client, definition};

const PATH: &str = "/apis/example.com/v1/namespaces/default/widgets";

#[derive(Clone, Debug)]
enum RequestStep {
    Create(Value),
    /// The name, the color, whether the resourceVersion is current, whether finalizers are removed.
    Update(String, String, bool, bool),
    Status(String, u64),
    Patch(String, PatchFormat, Value),
    Delete(String),
}

struct WireClient(Client);
struct InProcess(Handle<Value>);

impl WireClient {
    async fn run(&self, step: &RequestStep) -> &'static str {
        let answer = match step {
            RequestStep::Create(object) => self.send(Method::POST, PATH, "application/json", object).await,
            RequestStep::Update(name, color, fresh, free) => {
                let path = format!("{PATH}/{name}");
                let Some(there) = self.there(name).await else { return "not found" };
                self.send(Method::PUT, &path, "application/json", &changed(there, color, *fresh, *free)).await
            }
            RequestStep::Status(name, phase) => {
                let Some(mut there) = self.there(name).await else { return "not found" };
                there["status"] = json!({"phase": phase});
                self.send(Method::PUT, &format!("{PATH}/{name}/status"), "application/json", &there).await
            }
            RequestStep::Patch(name, format, body) => {
                let content = match format {
                    PatchFormat::Json => "application/json-patch+json",
                    _ => "application/merge-patch+json",
                };
                self.send(Method::PATCH, &format!("{PATH}/{name}"), content, body).await
            }
            RequestStep::Delete(name) => {
                let options = json!({"propagationPolicy": "Background"});
                self.send(Method::DELETE, &format!("{PATH}/{name}"), "application/json", &options).await
            }
        };
        match answer.refused() {
            (200..300, ..) => "done",
            (_, "NotFound", _) => "not found",
            (_, "AlreadyExists", _) => "there already",
            (_, "Conflict", _) => "conflict",
            (422, "Invalid", _) => "invalid",
            other => panic!("{step:?}: {other:?}"),
        }
    }

    async fn send(&self, method: Method, path: &str, content: &str, body: &Value) -> Answer {
        let strict = format!("{path}?fieldValidation=Strict");
        let path = if method == Method::DELETE { path } else { &strict };
        let headers = [("content-type", content), ("user-agent", "admin/1")];
        self.0.ask(method, path, &headers, &body.to_string()).await
    }

    async fn there(&self, name: &str) -> Option<Value> {
        let answer = self.0.get(&format!("{PATH}/{name}")).await;
        (answer.code == 200).then_some(answer.body)
    }

    async fn all(&self) -> Vec<Value> {
        self.0.get(PATH).await.fine()["items"].as_array().unwrap().clone()
    }
}

impl InProcess {
    fn of(server: &ApiServer) -> Self {
        let kind = Kind::new("example.com/v1", "Widget", "widgets", Scope::Namespaced).unwrap();
        Self(server.handle_of(kind, Identity::admin()))
    }

    async fn run(&self, step: &RequestStep) -> &'static str {
        let none = Preconditions::default();
        let error = match step {
            RequestStep::Create(object) => self.0.create(object, None).await.err(),
            RequestStep::Update(name, color, fresh, free) => {
                let Some(there) = self.there(name).await else { return "not found" };
                self.0.update(&changed((*there).clone(), color, *fresh, *free), &none).await.err()
            }
            RequestStep::Status(name, phase) => {
                let Some(there) = self.there(name).await else { return "not found" };
                let mut there = (*there).clone();
                there["status"] = json!({"phase": phase});
                self.0.update_status(&there, &none).await.err()
            }
            RequestStep::Patch(name, format, body) => {
                let body = body.to_string().into_bytes().into();
                let patch = Patch { format: format.clone(), body, status: false };
                self.0.patch(&key(name), &patch, &none).await.err()
            }
            RequestStep::Delete(name) => self.0.delete(&key(name), &Deletion::default()).await.err(),
        };
        match error {
            None => "done",
            Some(WriteError::NotFound) => "not found",
            Some(WriteError::AlreadyExists { uid: Some(_) }) => "there already",
            Some(WriteError::Conflict(_)) => "conflict",
            Some(WriteError::Source(SourceError::Invalid { causes, .. })) if !causes.is_empty() => "invalid",
            other => panic!("{step:?}: {other:?}"),
        }
    }

    async fn there(&self, name: &str) -> Option<Arc<Value>> {
        self.0.get(&key(name), Freshness::Newest).await.unwrap()
    }

    async fn all(&self) -> Vec<Value> {
        let filter = Filter { namespace: Some("default".into()), ..Filter::default() };
        let page = self.0.list(ListRequest { filter, ..ListRequest::default() }).await.unwrap();
        page.items.iter().map(|object| (**object).clone()).collect()
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

fn changed(mut object: Value, color: &str, fresh: bool, free: bool) -> Value {
    object["spec"]["color"] = color.into();
    if !fresh {
        object["metadata"]["resourceVersion"] = "1".into();
    }
    if free {
        object["metadata"].as_object_mut().unwrap().remove("finalizers");
    }
    object
}

/// Small numbers, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn step(&mut self) -> RequestStep {
        let name = ["a", "b", "c", "d"][self.below(4) as usize].to_owned();
        let color = ["red", "green", "blue", "pink"][self.below(4) as usize].to_owned();
        match self.below(8) {
            0..3 => {
                let mut metadata = json!({"name": name, "namespace": "default", "labels": {"color": color}});
                if self.below(3) == 0 {
                    metadata["finalizers"] = json!(["example.com/hold"]);
                }
                let (head, spec) =
                    ("example.com/v1", json!({"color": color, "tags": [self.below(3).to_string()]}));
                RequestStep::Create(
                    json!({"apiVersion": head, "kind": "Widget", "metadata": metadata, "spec": spec}),
                )
            }
            3 => RequestStep::Update(name, color, self.below(4) > 0, self.below(2) > 0),
            4 => RequestStep::Status(name, self.below(3)),
            5 => RequestStep::Patch(name, PatchFormat::Merge, json!({"spec": {"size": self.below(3)}})),
            6 => {
                let replace = json!([{"op": "replace", "path": "/spec/color", "value": color}]);
                RequestStep::Patch(name, PatchFormat::Json, replace)
            }
            _ => RequestStep::Delete(name),
        }
    }
}

/// Removes the fields in which two servers necessarily differ.
fn without_identity(mut objects: Vec<Value>) -> Vec<Value> {
    for object in &mut objects {
        let metadata = object["metadata"].as_object_mut().unwrap();
        assert!(metadata.remove("uid").is_some() && metadata.remove("resourceVersion").is_some());
    }
    objects
}

#[tokio::test]
async fn service_and_handle_writes_give_the_same_objects() {
    let start = async || {
        let store = Memory::new(Options::default());
        let clock = || Timestamp::from_second(1_800_000_000).expect("a time that there is");
        ApiServer::builder(store).crds([definition()]).clock(clock).start().await.unwrap()
    };
    let mut seen = std::collections::BTreeMap::<&str, usize>::new();
    for seed in 1..=12_u64 {
        let (one, other) = (start().await, start().await);
        let (wire, handle) = (WireClient(Client::of(&one)), InProcess::of(&other));
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for at in 0..60 {
            let step = dice.step();
            let (expected, found) = (wire.run(&step).await, handle.run(&step).await);
            assert_eq!(found, expected, "seed {seed}, step {at}: {step:?}");
            *seen.entry(expected).or_default() += 1;
        }
        let (expected, found) = (wire.all().await, handle.all().await);
        assert_eq!(InProcess::of(&one).all().await, expected, "seed {seed}");
        assert_eq!(WireClient(Client::of(&other)).all().await, found, "seed {seed}");
        assert_eq!(without_identity(found), without_identity(expected), "seed {seed}");
    }
    for outcome in ["done", "not found", "there already", "conflict", "invalid"] {
        assert!(seen.get(outcome).is_some_and(|count| *count > 5), "{outcome}: {seen:?}");
    }
}
