//! The verb `watch`: streams events of the selected objects until its timeout.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::Response;
use machinery_objects::{FieldTerm, NAME, Revision};
use machinery_store::WatchError;
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::VerbRequest;
use super::list::selection;
use super::output::{Output, read, write};
use crate::accept::{EndpointKind, Media, Representation};
use crate::cache::{EventEncoding, EventType, ObjectFilter};
use crate::http::{Body, answer};
use crate::metrics::GoingOn;
use crate::protobuf;
use crate::refusal::Refusal;
use crate::request::ListOptions;
use crate::select::Selection;
use crate::server::Shared;
use crate::storage::expired;
use crate::table::{Tables, partial};
use crate::watch::{Changed, End, Feed, Item, Plan};

/// The default timeout of a watch; up to twice as long, at random.
const LASTS: Duration = Duration::from_secs(1800);

pub(super) async fn watch(request: &VerbRequest<'_>) -> Result<Response<Body>, Refusal> {
    let frames = Frames::of(request)?;
    let options = ListOptions::parse(&request.wire.query, true)?;
    let filter = filter(request, selection(request, &options)?);
    let environment = &request.shared.environment;
    // As in Kubernetes: watches that began together do not end together.
    let chance = u64::from_le_bytes(environment.bytes()) % LASTS.as_secs();
    let lasts = options.time_limit().unwrap_or(LASTS + Duration::from_secs(chance));
    let until = Instant::now() + lasts;
    let content_type = frames.content_type();
    let begin = begin(request, &options).await?;
    let plan = Plan { bookmarks: options.bookmarks, until };
    let starting = start(request.shared.clone(), begin, filter, plan);
    // A watch from a future revision still respects its timeout.
    let starting = async move { timeout_at(until, starting).await.ok() };
    let watching = WatchBody { frames, at: WatchPhase::Starting(Box::pin(starting)) };
    // Headers are sent at once, since clients wait for them.
    Ok(answer::bytes(200, content_type, Body::frames(watching)))
}

/// Returns the filter of a watch, restricted to the name in the path.
fn filter(request: &VerbRequest<'_>, mut selection: Selection) -> ObjectFilter {
    if let Some(name) = &request.wire.resource.name
        && let Ok(named) = FieldTerm::equals(NAME, name)
    {
        selection.fields = selection.fields.terms().iter().cloned().chain([named]).collect();
    }
    ObjectFilter { selection, namespace: request.namespace().map(Arc::from) }
}

/// The start of a watch.
#[derive(Clone, Copy)]
enum WatchStart {
    /// With the current objects, at this revision or later.
    State(Option<Revision>, End),
    After(Revision),
}

async fn begin(request: &VerbRequest<'_>, options: &ListOptions) -> Result<WatchStart, Refusal> {
    let least = options.revision.filter(|revision| *revision != 0).map(Revision);
    if options.initial_events {
        return Ok(WatchStart::State(least, if options.bookmarks { End::Annotated } else { End::Silent }));
    }
    // Starts at the request's time, not at the first event.
    Ok(WatchStart::After(match least {
        Some(least) => least,
        None => request.shared.objects.revision().await?,
    }))
}

/// The response body of a watch.
struct WatchBody {
    frames: Frames,
    at: WatchPhase,
}

enum WatchPhase {
    Starting(Starting),
    Going(Feed),
    Over,
}

/// None: timed out before it started.
type Starting = Pin<Box<dyn Future<Output = Option<Result<Feed, Refusal>>> + Send>>;

impl Stream for WatchBody {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Self { frames, at } = &mut *self;
        loop {
            let bytes = match at {
                WatchPhase::Over => return Poll::Ready(None),
                WatchPhase::Starting(starting) => match ready!(starting.as_mut().poll(cx)) {
                    Some(Ok(feed)) => {
                        *at = WatchPhase::Going(feed);
                        continue;
                    }
                    Some(Err(refusal)) => Err(refusal),
                    None => {
                        *at = WatchPhase::Over;
                        continue;
                    }
                },
                WatchPhase::Going(feed) => match ready!(feed.poll_next_unpin(cx)) {
                    Some(Ok(item)) => frames.item(item),
                    Some(Err(error)) => Err(watch_refused(&error)),
                    None => {
                        *at = WatchPhase::Over;
                        continue;
                    }
                },
            };
            return Poll::Ready(Some(bytes.unwrap_or_else(|refusal| {
                *at = WatchPhase::Over;
                frames.error(&refusal)
            })));
        }
    }
}

async fn start(
    shared: Arc<Shared>,
    begin: WatchStart,
    filter: ObjectFilter,
    plan: Plan,
) -> Result<Feed, Refusal> {
    match begin {
        WatchStart::State(least, end) => {
            let (view, follow) = shared.view_and_follow(&filter, None, least).await?;
            let state = view.select(follow.filter(), None).entries;
            Ok(Feed::with_state(follow, state, view.at, end, plan))
        }
        // A watch from a future revision is silent until then.
        WatchStart::After(after) => {
            let cache = shared.cache(&filter.selection.kind).await?;
            Ok(Feed::after(cache.follow(filter, None, after), after, plan))
        }
    }
}

pub(crate) fn watch_refused(error: &WatchError) -> Refusal {
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

/// Encodes watch events in the response format of the client.
pub(crate) struct Frames {
    output: Output,
    shared: Arc<Shared>,
    kind: Arc<crate::kind::Kind>,
    /// Only the first table has column definitions.
    first: bool,
    /// Whether objects that left the selection have their own event type.
    reports_left: bool,
    events: Counter,
    _open: GoingOn,
}

impl Frames {
    /// Creates an encoder in the accepted format. The watch counts as open while it exists.
    pub(crate) fn of(request: &VerbRequest<'_>) -> Result<Self, Refusal> {
        let output = Output::of(request, EndpointKind::Watch)?;
        let about =
            request.shared.metrics.about(&request.shared.kinds(), request.wire.verb, &request.wire.resource);
        let (open, events) = request.shared.metrics.watched(&about);
        let (shared, kind) = (request.shared.clone(), request.kind.clone());
        Ok(Self { output, shared, kind, first: true, reports_left: false, events, _open: open })
    }

    /// Reports objects that left the selection as `LEFT`.
    pub(crate) fn reporting_left(self) -> Self {
        Self { reports_left: true, ..self }
    }

    pub(crate) const fn content_type(&self) -> &'static str {
        self.output.form.stream_type()
    }

    fn item(&mut self, item: Item) -> Result<Bytes, Refusal> {
        match item {
            Item::Changed(changed) => self.change(&changed),
            Item::Bookmark(revision, ends) => {
                self.mark(revision, ends.then_some(("k8s.io/initial-events-end", "true")))
            }
        }
    }

    pub(crate) fn change(&mut self, changed: &Changed) -> Result<Bytes, Refusal> {
        self.events.inc();
        // Not shared: the first table with column definitions, and events with the type `LEFT`.
        let is_own = self.is_first_table() || (self.reports_left && changed.what == EventType::Left);
        match changed.shared().filter(|_| !is_own) {
            Some(change) => {
                let (answer, include) = (self.output.form, self.output.include);
                change
                    .encoded(EventEncoding { answer, include, what: changed.what }, || self.changed(changed))
            }
            None => self.changed(changed),
        }
    }

    /// Encodes a bookmark.
    pub(crate) fn mark(
        &mut self,
        revision: Revision,
        annotation: Option<(&str, &str)>,
    ) -> Result<Bytes, Refusal> {
        let mut object = json!({
            "kind": self.kind.names.kind, "apiVersion": self.kind.api_version,
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if let Some((name, value)) = annotation {
            object["metadata"]["annotations"] = json!({name: value});
        }
        self.event("BOOKMARK", object)
    }

    fn is_first_table(&self) -> bool {
        self.first && matches!(self.output.form.shape, Representation::Table(_))
    }

    fn changed(&mut self, changed: &Changed) -> Result<Bytes, Refusal> {
        let name = self.name(changed.what);
        if self.output.is_plain() {
            let mut bytes = format!(r#"{{"type":"{name}","object":"#).into_bytes();
            write(&self.kind, changed.entry(), changed.revision, &mut bytes)?;
            bytes.extend_from_slice(b"}\n");
            return Ok(bytes.into());
        }
        self.event(name, read(&self.kind, changed.entry(), changed.revision)?)
    }

    /// Returns the event type. Without an interest, an object that left is reported as deleted.
    const fn name(&self, what: EventType) -> &'static str {
        match what {
            EventType::Added => "ADDED",
            EventType::Modified => "MODIFIED",
            EventType::Left if self.reports_left => "LEFT",
            EventType::Deleted | EventType::Left => "DELETED",
        }
    }

    fn event(&mut self, name: &str, object: Value) -> Result<Bytes, Refusal> {
        let object = match self.output.form.shape {
            Representation::Whole | Representation::Discovery(_) => object,
            Representation::Table(version) => {
                let (include, now) = (self.output.include, self.shared.environment.now());
                let (columns, secret_fields) = (&self.kind.columns, self.kind.secret_fields());
                let tables = Tables { columns, secret_fields, version, include, now };
                tables.event(object, std::mem::take(&mut self.first))
            }
            Representation::Metadata(version) | Representation::MetadataList(version) => {
                partial(object, version)?
            }
        };
        self.frame(name, &object)
    }

    pub(crate) fn error(&self, refusal: &Refusal) -> Bytes {
        let status = refusal.status();
        self.frame("ERROR", &status).unwrap_or_else(|_| line("ERROR", &status))
    }

    fn frame(&self, name: &str, object: &Value) -> Result<Bytes, Refusal> {
        match self.output.form.media {
            Media::Protobuf => protobuf::watch_frame(name, object).map(Bytes::from),
            Media::Json | Media::Yaml => Ok(line(name, object)),
        }
    }
}

fn line(name: &str, object: &Value) -> Bytes {
    format!("{{\"type\":\"{name}\",\"object\":{object}}}\n").into()
}
