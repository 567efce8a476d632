//! Watching the objects that are selected.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::Response;
use machinery_objects::Revision;
use machinery_store::{Range, Span, WatchError};
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::Job;
use super::list::selection;
use super::output::{Output, read, write};
use crate::accept::{Place, Shape};
use crate::http::{Body, answer};
use crate::metrics::GoingOn;
use crate::refusal::Refusal;
use crate::request::{ListAt, ListOptions};
use crate::select::Selection;
use crate::server::Shared;
use crate::storage::{Moment, expired};
use crate::table::{Tables, partial};
use crate::watch::{End, Feed, Item, Plan, State};

/// A watch that says nothing of how long it should last is ended after so long, and up to as long again.
const LASTS: Duration = Duration::from_secs(1800);

pub(super) async fn watch(job: &Job<'_>) -> Result<Response<Body>, Refusal> {
    let output = Output::of(job, Place::Watch)?;
    let options = ListOptions::parse(&job.asked.query, true)?;
    let selection = selection(job, &options)?;
    let span = match &job.asked.resource.name {
        Some(_) => Span::one(job.key()),
        None => selection.span(job.namespace()),
    };
    let world = &job.shared.world;
    let chance = u64::from_le_bytes(world.bytes()) % LASTS.as_secs();
    let lasts = options.time_limit().unwrap_or(LASTS + Duration::from_secs(chance));
    let until = Instant::now() + lasts;
    let content_type = output.form.content_type();
    let begin = begin(job, &options)?;
    let about = job.shared.metrics.about(&job.shared.kinds(), job.asked.verb, &job.asked.resource);
    let (open, events) = job.shared.metrics.watched(&about);
    let frames = Frames {
        output,
        shared: job.shared.clone(),
        kind: job.kind.clone(),
        first: true,
        events,
        _open: open,
    };
    let watching =
        Watching { frames, begin: Some((begin, selection)), feed: None, until, bookmarks: options.bookmarks };
    let body = stream::unfold((watching, span), |(mut watching, span)| async move {
        let stopping = watching.frames.shared.stopping.clone();
        let next = tokio::select! {
            biased;
            () = stopping.cancelled() => None,
            next = watching.next(&span) => next,
        };
        next.map(|bytes| (bytes, (watching, span)))
    });
    // The headers go out at once: clients wait for them before they wait for events.
    Ok(answer::bytes(200, content_type, Body::frames(body)))
}

/// What a watch begins with.
#[derive(Clone, Copy)]
enum Begin {
    /// What is there, at this revision or later.
    State(Option<Revision>, End),
    After(Revision),
}

fn begin(job: &Job<'_>, options: &ListOptions) -> Result<Begin, Refusal> {
    let least = options.revision.filter(|revision| *revision != 0).map(Revision);
    if options.initial_events {
        let end = match (&options.at, options.bookmarks) {
            (_, false) => End::Silent,
            _ if job.asked.query.flag("sendInitialEvents") => End::Annotated,
            (ListAt::Any, true) => End::Bookmark,
            _ => End::Silent,
        };
        return Ok(Begin::State(least, end));
    }
    Ok(Begin::After(least.unwrap_or_default()))
}

struct Watching {
    frames: Frames,
    begin: Option<(Begin, Selection)>,
    feed: Option<Feed<Selection>>,
    until: Instant,
    bookmarks: bool,
}

impl Watching {
    /// The next frames. `None`: the watch is over.
    async fn next(&mut self, span: &Span) -> Option<Bytes> {
        if let Some((begin, selection)) = self.begin.take() {
            let replaced = self.frames.kind.replaced.clone();
            let plan = Plan { state: None, bookmarks: self.bookmarks, until: self.until, replaced };
            let starting = start(self.frames.shared.clone(), begin, selection, span.clone(), plan);
            match timeout_at(self.until, starting).await {
                Ok(Ok(feed)) => self.feed = Some(feed),
                Ok(Err(refusal)) => return Some(self.frames.error(&refusal)),
                Err(_) => return None,
            }
        }
        let feed = self.feed.as_mut()?;
        let item = feed.next().await?;
        match item.map_err(|error| watch_refused(&error)).and_then(|item| self.frames.item(item)) {
            Ok(bytes) => Some(bytes),
            Err(refusal) => {
                self.feed = None;
                Some(self.frames.error(&refusal))
            }
        }
    }
}

async fn start(
    shared: Arc<Shared>,
    begin: Begin,
    selection: Selection,
    span: Span,
    mut plan: Plan,
) -> Result<Feed<Selection>, Refusal> {
    let objects = &shared.objects;
    let after = match begin {
        Begin::State(least, end) => {
            let moment = least.map_or(Moment::Newest, Moment::AtLeast);
            let listed = objects.list(Range::of(span.clone()), moment).await?;
            plan.state = Some(State { entries: listed.entries, at: listed.at, end });
            listed.at
        }
        Begin::After(after) => after,
    };
    // What is to begin with a revision that has not happened is silent until then.
    let watch = objects
        .watch(span, after.min(objects.revision().await?))
        .await
        .map_err(|error| watch_refused(&error))?;
    Ok(Feed::new(watch, after, selection, plan))
}

fn watch_refused(error: &WatchError) -> Refusal {
    match error {
        WatchError::Compacted { after, compacted } => {
            expired(&format!("too old resource version: {after} ({compacted})"))
        }
        WatchError::TooSlow { .. } => expired(&error.to_string()),
        WatchError::TooMany { .. } => {
            Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", error.to_string()) }
        }
        _ => Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", error.to_string()) },
    }
}

/// Makes events into bytes.
struct Frames {
    output: Output,
    shared: Arc<Shared>,
    kind: Arc<crate::kind::Kind>,
    /// Only the first table says what its columns are.
    first: bool,
    events: Counter,
    _open: GoingOn,
}

impl Frames {
    fn item(&mut self, item: Item) -> Result<Bytes, Refusal> {
        match item {
            Item::Sight(sight, revision) => {
                self.events.inc();
                let (kind, entry) = (self.kind.clone(), sight.entry());
                if self.output.is_plain() {
                    let mut bytes = format!(r#"{{"type":"{}","object":"#, sight.name()).into_bytes();
                    write(&kind, entry, revision, &mut bytes)?;
                    bytes.extend_from_slice(b"}\n");
                    return Ok(bytes.into());
                }
                let object = read(&kind, entry, revision)?;
                self.event(sight.name(), object)
            }
            Item::Bookmark(revision, ends) => {
                let mut object = json!({
                    "kind": self.kind.names.kind, "apiVersion": self.kind.api_version,
                    "metadata": {"resourceVersion": revision.to_string()},
                });
                if ends {
                    object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
                }
                self.event("BOOKMARK", object)
            }
        }
    }

    fn event(&mut self, name: &str, object: Value) -> Result<Bytes, Refusal> {
        let object = match self.output.form.shape {
            Shape::Whole | Shape::Discovery(_) => object,
            Shape::Table(version) => {
                let (include, now) = (self.output.include, self.shared.world.now());
                let tables = Tables { columns: &self.kind.columns, version, include, now };
                tables.event(object, std::mem::take(&mut self.first))
            }
            Shape::Metadata(version) | Shape::MetadataList(version) => partial(object, version)?,
        };
        Ok(frame(name, &object))
    }

    fn error(&self, refusal: &Refusal) -> Bytes {
        frame("ERROR", &refusal.status())
    }
}

fn frame(name: &str, object: &Value) -> Bytes {
    format!("{{\"type\":\"{name}\",\"object\":{object}}}\n").into()
}
