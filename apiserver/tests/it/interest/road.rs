//! One interest watch, on either transport: requests and events.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use http::Request;
use http_body_util::{BodyExt, Full};
use machinery_apiserver::{ApiServer, Body, Handle, Identity};
use machinery_objects::{
    Filter, Interest, InterestBy, InterestEdit, InterestRequest, InterestSource, Kind, Revision, Scope,
    SourceError, WatchError, WatchEvent, WatchStream,
};
use serde_json::{Value, json};

use crate::client::{Answer, Client};

pub(super) const MARK: &str = "machinery.dev/interest-edit";

/// An item of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StreamItem {
    /// `ADDED`, `MODIFIED`, `DELETED` or `LEFT`.
    Object(&'static str, Value),
    Bookmark(u64),
    Complete(u64, u64),
}

/// Why there is nothing to hear, or nothing was edited.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum InterestFailure {
    Expired,
    /// The interest is over.
    Gone,
    Other(String),
}

pub(super) enum Road {
    Wire(Client),
    Handle(Handle<Value>),
}

/// The options of an interest.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) by: InterestBy,
    pub(super) namespace: Option<&'static str>,
    pub(super) labels: &'static str,
    pub(super) keys: BTreeSet<Arc<str>>,
    pub(super) after: Option<u64>,
}

pub(super) enum InterestStream {
    Wire(WireStream),
    Handle { events: WatchStream<Arc<Value>>, interest: Arc<dyn Interest> },
}

/// A stream on the wire.
pub(super) struct WireStream {
    path: String,
    query: String,
    id: String,
    edits: u64,
    body: Body,
    told: VecDeque<Result<StreamItem, InterestFailure>>,
    rest: Vec<u8>,
}

pub(super) fn keys(keys: &str) -> BTreeSet<Arc<str>> {
    keys.split_whitespace().map(Arc::from).collect()
}

fn texts(keys: &BTreeSet<Arc<str>>) -> Vec<&str> {
    keys.iter().map(|key| &**key).collect()
}

/// The wire form of an edit.
pub(super) fn of_edit(number: u64, edit: &InterestEdit) -> Value {
    json!({"edit": number, "remove": texts(&edit.remove), "add": texts(&edit.add)})
}

pub(super) fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// Returns the path of interests in widgets.
pub(super) fn interests(namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("/apis/example.com/v1/namespaces/{namespace}/widgets"),
        None => "/apis/example.com/v1/widgets".into(),
    }
}

pub(super) fn widgets(server: &ApiServer) -> Handle<Value> {
    let kind = Kind::new("example.com/v1", "Widget", "widgets", Scope::Namespaced).unwrap();
    server.handle_of::<Value>(kind, Identity::admin())
}

impl Ask {
    pub(super) fn by_label(label: &str, first: &str) -> Self {
        let by = InterestBy::Label(label.into());
        Self { by, namespace: Some("default"), labels: "", keys: keys(first), after: None }
    }

    /// The wire form.
    pub(super) fn body(&self) -> Value {
        let by = match &self.by {
            InterestBy::Field(field) => json!({"field": &**field}),
            InterestBy::Label(label) => json!({"label": &**label}),
        };
        let mut body = json!({"edit": 0, "by": by, "add": texts(&self.keys)});
        if let Some(after) = self.after {
            body["resourceVersion"] = after.to_string().into();
        }
        body
    }
}

impl Road {
    pub(super) fn wire(server: &ApiServer) -> Self {
        Self::Wire(Client::of(server))
    }

    pub(super) fn handle(server: &ApiServer) -> Self {
        Self::Handle(widgets(server))
    }

    /// Opens an interest, and its stream. The ID is for the wire, and must be new.
    pub(super) async fn open(&self, ask: &Ask, id: &str) -> Result<InterestStream, InterestFailure> {
        match self {
            Self::Wire(client) => {
                let path = interests(ask.namespace);
                let query = format!("labelSelector={}", ask.labels.replace('=', "%3D"));
                let opened = client.post(&format!("{path}/interests/{id}?{query}"), &ask.body()).await;
                assert_eq!(opened.code, 201, "{opened:?}");
                let stream = format!("{path}?watch=true&interest={id}&allowWatchBookmarks=true&{query}");
                let (id, told, rest) = (id.to_owned(), VecDeque::new(), Vec::new());
                let body = begin(client, &stream).await?;
                Ok(InterestStream::Wire(WireStream { path, query, id, edits: 0, body, told, rest }))
            }
            Self::Handle(handle) => {
                let filter = Filter {
                    namespace: ask.namespace.map(Into::into),
                    labels: ask.labels.parse().unwrap(),
                    ..Filter::default()
                };
                let after = ask.after.map(|after| Revision(after).into());
                let request = InterestRequest { by: ask.by.clone(), keys: ask.keys.clone(), filter, after };
                let watch = InterestSource::open(handle, request).await.map_err(failed)?;
                Ok(InterestStream::Handle { events: watch.events, interest: watch.interest })
            }
        }
    }
}

/// The stream itself.
pub(super) async fn begin(client: &Client, stream: &str) -> Result<Body, InterestFailure> {
    let request = Request::get(stream).body(Full::<Bytes>::default()).unwrap();
    let (head, body) = client.send(request).await.into_parts();
    if head.status == 200 {
        return Ok(body);
    }
    let bytes = body.collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&bytes).unwrap();
    Err(of_status(&status))
}

fn of_status(status: &Value) -> InterestFailure {
    match status["code"].as_u64() {
        Some(410) => InterestFailure::Expired,
        Some(404) => InterestFailure::Gone,
        _ => InterestFailure::Other(status["message"].to_string()),
    }
}

fn failed(error: WatchError) -> InterestFailure {
    match error {
        WatchError::Expired => InterestFailure::Expired,
        WatchError::Ended | WatchError::Source(SourceError::Unavailable { .. }) => InterestFailure::Gone,
        other => InterestFailure::Other(other.to_string()),
    }
}

impl InterestStream {
    /// A stream without edits.
    pub(super) fn reading(body: Body) -> Self {
        let (path, query, id) = Default::default();
        Self::Wire(WireStream { path, query, id, edits: 0, body, told: VecDeque::new(), rest: Vec::new() })
    }

    /// Edits the keys; the number of the edit. `client` is one of the server as it is now.
    pub(super) async fn edit(
        &mut self,
        client: &Client,
        edit: &InterestEdit,
    ) -> Result<u64, InterestFailure> {
        match self {
            Self::Handle { interest, .. } => {
                interest.edit(edit.clone()).await.map(|number| number.0).map_err(failed)
            }
            Self::Wire(wire) => {
                let body = of_edit(wire.edits + 1, edit);
                let answer = wire.post(client, &body).await;
                if answer.code != 202 {
                    return Err(of_status(&answer.body));
                }
                wire.edits += 1;
                assert_eq!(answer.body, json!({"edit": wire.edits}));
                Ok(wire.edits)
            }
        }
    }

    /// The next thing, within two minutes. `None`: the stream is over.
    pub(super) async fn next(&mut self) -> Option<Result<StreamItem, InterestFailure>> {
        let next = async {
            match self {
                Self::Handle { events, .. } => events.next().await.map(of_event),
                Self::Wire(wire) => wire.next().await,
            }
        };
        tokio::time::timeout(Duration::from_secs(120), next).await.expect("something is told soon")
    }

    /// The next thing, if it is there.
    pub(super) async fn try_next(&mut self) -> Option<Option<Result<StreamItem, InterestFailure>>> {
        for _ in 0..3 {
            let next = match self {
                Self::Handle { events, .. } => events.next().now_or_never().map(|event| event.map(of_event)),
                Self::Wire(wire) => wire.next().now_or_never(),
            };
            if next.is_some() {
                return next;
            }
            tokio::task::yield_now().await;
        }
        None
    }

    /// Returns the events up to the bookmark of an edit, inclusive, each as a short text.
    pub(super) async fn told(&mut self, edit: u64) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            let next = self.next().await.expect("the stream goes on").expect("it is well");
            told.push(next.short());
            if matches!(next, StreamItem::Complete(number, _) if number == edit) {
                return told;
            }
        }
    }

    /// Returns the next `count` items, each as a short text.
    pub(super) async fn some(&mut self, count: usize) -> Vec<String> {
        let mut told = Vec::new();
        while told.len() < count {
            told.push(self.next().await.expect("the stream goes on").expect("it is well").short());
        }
        told
    }
}

impl WireStream {
    /// A request to edit it.
    pub(super) async fn post(&self, client: &Client, body: &Value) -> Answer {
        client.post(&format!("{}/interests/{}?{}", self.path, self.id, self.query), body).await
    }

    pub(super) const fn edits(&self) -> u64 {
        self.edits
    }

    /// Dropping the future loses nothing.
    async fn next(&mut self) -> Option<Result<StreamItem, InterestFailure>> {
        loop {
            if let Some(told) = self.told.pop_front() {
                return Some(told);
            }
            let frame = self.body.frame().await?.unwrap().into_data().unwrap();
            self.rest.extend_from_slice(&frame);
            while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                self.told.push_back(of_frame(&serde_json::from_slice(&line).unwrap()));
            }
        }
    }
}

fn of_frame(frame: &Value) -> Result<StreamItem, InterestFailure> {
    let object = &frame["object"];
    let what = match frame["type"].as_str().unwrap() {
        "ADDED" => "ADDED",
        "MODIFIED" => "MODIFIED",
        "DELETED" => "DELETED",
        "LEFT" => "LEFT",
        "BOOKMARK" => {
            let edit = object["metadata"]["annotations"][MARK].as_str();
            return Ok(match edit {
                Some(edit) => StreamItem::Complete(edit.parse().unwrap(), revision(object)),
                None => StreamItem::Bookmark(revision(object)),
            });
        }
        "ERROR" => return Err(of_status(object)),
        other => panic!("{other}"),
    };
    Ok(StreamItem::Object(what, object.clone()))
}

fn of_event(event: Result<WatchEvent<Arc<Value>>, WatchError>) -> Result<StreamItem, InterestFailure> {
    let number = |version: machinery_objects::ResourceVersion| version.revision().unwrap().0;
    Ok(match event.map_err(failed)? {
        WatchEvent::Added(object) => StreamItem::Object("ADDED", Value::clone(&object)),
        WatchEvent::Modified(object) => StreamItem::Object("MODIFIED", Value::clone(&object)),
        WatchEvent::Deleted(object) => StreamItem::Object("DELETED", Value::clone(&object)),
        WatchEvent::Left(object) => StreamItem::Object("LEFT", Value::clone(&object)),
        WatchEvent::Bookmark { version, .. } => StreamItem::Bookmark(number(version)),
        WatchEvent::Complete { edit, version } => StreamItem::Complete(edit.0, number(version)),
        other => panic!("{other:?}"),
    })
}

impl StreamItem {
    /// `ADDED a k1 7`: event type, name, label `key`, revision; `done 1`: the bookmark of an edit.
    pub(super) fn short(&self) -> String {
        match self {
            Self::Object(what, object) => {
                let name = object["metadata"]["name"].as_str().unwrap();
                let key = object["metadata"]["labels"]["key"].as_str().unwrap_or("-");
                format!("{what} {name} {key} {}", revision(object))
            }
            Self::Bookmark(at) => format!("mark {at}"),
            Self::Complete(edit, at) => format!("done {edit} {at}"),
        }
    }
}
