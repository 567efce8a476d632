//! HTTP requests of interests: open, edit, stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::Response;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::json;
use tokio::time::Instant;

use super::channel::{EditChannel, EditError};
use super::edit_request::{EditRequest, wrong};
use super::edits::{InvalidEdit, KeyLimits};
use super::feed::{InterestEvent, InterestFeed, StreamError, StreamRequest};
use super::registry::{
    AwaitedStream, InterestName, InterestOpening, OpenError, Selectors, StreamGuard, Unavailable,
};
use crate::accept::{ResponseFormat, accepts_json};
use crate::cache::ObjectFilter;
use crate::http::{Body, answer};
use crate::invalid::{FieldError, Problem};
use crate::refusal::{About, Refusal};
use crate::request::{FieldLabels, Format, ListOptions, Resource, check_fields};
use crate::select::Selection;
use crate::server::{Limits, Shared};
use crate::verbs::{Frames, VerbRequest, watch_refused};
use crate::watch::Plan;

/// Minimum duration of a stream without a timeout; the maximum is twice that.
const LASTS: Duration = Duration::from_secs(1800);
/// Annotation of a marker: the completed edit.
const MARK: &str = "machinery.dev/interest-edit";

/// Expires interests that await their streams for too long.
pub(crate) async fn run(shared: Arc<Shared>) {
    shared.interests.expire_overdue().await;
}

/// Opens or edits an interest.
pub(crate) fn edit(call: &VerbRequest<'_>, id: &str) -> Result<Response<Body>, Refusal> {
    accepts_json(call.wire.header(ACCEPT))?;
    Format::of(call.wire.header(CONTENT_TYPE), &[Format::Json])?;
    // In the query and not in the body: authorization precedes the reading of a body.
    let selectors = selectors(call, &ListOptions::parse(&call.wire.query, true)?)?;
    let request = EditRequest::parse(id, &call.wire.body)?;
    let (interests, limits) = (&call.shared.interests, &call.shared.limits);
    let (name, edit) = (name(call, id), request.edit(&selectors));
    let refuse = |why: EditError| edit_refused(call, id, limits, why);
    let Some(by) = request.by else {
        let channel = interests.find(&name, &selectors).map_err(|why| absent(call, id, &why))?;
        channel.edit(edit, &request.change, interests.memory()).map_err(refuse)?;
        call.shared.metrics.interested.edits.inc();
        return Ok(accepted(202, request.number));
    };
    super::relevance::index_for(&by, call.kind, call.namespace())?;
    let resumes = request.after.map(|after| (request.change.clone(), after));
    let bounds = KeyLimits::of(limits);
    let make = || {
        EditChannel::open(
            &request.change,
            request.after.is_some(),
            edit.digest,
            bounds,
            Some(interests.memory()),
        )
    };
    let awaited = AwaitedStream {
        opening: InterestOpening { by, resumes },
        until: Instant::now() + limits.interest_wait,
    };
    interests.open(name, selectors, edit, awaited, make).map_err(|why| match why {
        OpenError::There { expected } => refuse(EditError::Wrong(InvalidEdit::Order { expected })),
        OpenError::TooMany(most) => too_many(&format!("the server has {most} interests, as many as it may")),
        OpenError::Edit(why) => refuse(why),
    })?;
    call.shared.metrics.interested.edits.inc();
    Ok(accepted(201, request.number))
}

/// Serves the stream of an interest.
pub(crate) async fn stream(call: &VerbRequest<'_>, id: &str) -> Result<Response<Body>, Refusal> {
    let options = ListOptions::parse(&call.wire.query, true)?;
    let selectors = selectors(call, &options)?;
    let only = ["resourceVersion", "resourceVersionMatch", "sendInitialEvents", "continue", "limit"];
    if let Some(parameter) = only.into_iter().find(|name| call.wire.query.first(name).is_some()) {
        let message =
            format!("the stream of an interest begins as the interest was opened: leave out {parameter}");
        return Err(Refusal::bad_request(message));
    }
    let frames = Frames::of(call)?.reporting_left();
    let held = call.shared.interests.hold(name(call, id), &selectors);
    let (held, InterestOpening { by, resumes }) = held.map_err(|why| absent(call, id, &why))?;
    let selection = Selection { kind: call.kind.clone(), labels: selectors.labels, fields: selectors.fields };
    let filter = ObjectFilter { selection, namespace: call.namespace().map(Arc::from) };
    // Random, so that streams opened together do not end and reconnect together.
    let chance = u64::from_le_bytes(call.shared.environment.bytes()) % LASTS.as_secs();
    let lasts = options.time_limit().unwrap_or(LASTS + Duration::from_secs(chance));
    let plan = Plan { bookmarks: options.bookmarks, until: Instant::now() + lasts };
    let asked = StreamRequest { by, filter, resumes };
    let feed = InterestFeed::open(call.shared, held.channel.clone(), asked, plan).await.map_err(refused)?;
    let content_type = frames.content_type();
    let body = StreamBody(Some(ActiveStream { feed, frames, _held: held }));
    Ok(answer::bytes(200, content_type, Body::frames(body)))
}

/// The response body: the frames of the stream.
struct StreamBody(Option<ActiveStream>);

/// The state of a running stream.
struct ActiveStream {
    feed: InterestFeed,
    frames: Frames,
    _held: StreamGuard,
}

impl Stream for StreamBody {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(ActiveStream { feed, frames, .. }) = &mut self.0 else { return Poll::Ready(None) };
        let Some(event) = ready!(feed.poll_next_unpin(cx)) else {
            self.0 = None;
            return Poll::Ready(None);
        };
        let bytes = event.map_err(refused).and_then(|event| match event {
            InterestEvent::Changed(changed) => frames.change(&changed),
            InterestEvent::Bookmark(at) => frames.mark(at, None),
            InterestEvent::Complete(edit, at) => frames.mark(at, Some((MARK, &edit.to_string()))),
        });
        Poll::Ready(Some(match bytes {
            Ok(bytes) => bytes,
            Err(refusal) => {
                let error = frames.error(&refusal);
                self.0 = None;
                error
            }
        }))
    }
}

/// 404 for a malformed ID, with the syntax of IDs.
pub(crate) fn misnamed(resource: &Resource) -> Option<Refusal> {
    let is_meant = resource.name.as_deref() == Some("interests") && resource.rest.is_empty();
    let id = resource.subresource.as_deref().filter(|_| is_meant)?;
    let message = format!(
        "interests {id:?} not found: the ID of an interest is 16 to 64 of a-z, 0-9 and -, with a digit among them"
    );
    Some(Refusal::new(404, "NotFound", message))
}

fn name(call: &VerbRequest<'_>, id: &str) -> InterestName {
    let identity = call.identity;
    InterestName {
        user: identity.user.clone(),
        uid: identity.uid.clone(),
        group: call.kind.group.to_string(),
        version: call.kind.version.to_string(),
        plural: call.kind.names.plural.clone(),
        namespace: call.namespace().map(str::to_owned),
        id: id.to_owned(),
    }
}

fn selectors(call: &VerbRequest<'_>, options: &ListOptions) -> Result<Selectors, Refusal> {
    let fields: Vec<String> =
        call.kind.selectable.iter().map(|selectable| selectable.field.clone()).collect();
    let labels = FieldLabels::These { namespaced: call.kind.namespaced, fields: &fields };
    check_fields(&options.fields, labels)?;
    Ok(Selectors { labels: options.labels.clone(), fields: options.fields.clone() })
}

fn accepted(code: u16, number: u64) -> Response<Body> {
    answer::value(code, ResponseFormat::default(), &json!({"edit": number}))
}

fn absent(call: &VerbRequest<'_>, id: &str, why: &Unavailable) -> Refusal {
    let about = about(call, id);
    match why {
        Unavailable::Unknown => {
            let message = format!(
                "interests {id:?} not found: it is over with its stream, or no stream came in time; open another, with edit 0, \
                 all keys and the resourceVersion that you have come to"
            );
            Refusal { about, ..Refusal::new(404, "NotFound", message) }
        }
        Unavailable::Taken => {
            let message = format!("interests {id:?} has its stream: end that one, or open another interest");
            Refusal { about, ..Refusal::new(409, "Conflict", message) }
        }
        Unavailable::OtherSelectors => {
            let message = format!(
                "interests {id:?} was opened with another labelSelector or fieldSelector: say the same with each request"
            );
            Refusal { about, ..Refusal::bad_request(message) }
        }
    }
}

fn edit_refused(call: &VerbRequest<'_>, id: &str, limits: &Limits, why: EditError) -> Refusal {
    let why = match why {
        EditError::Ended => return absent(call, id, &Unavailable::Unknown),
        EditError::Full => {
            let limit = limits.interests_bytes;
            return too_many(&format!("the keys of all interests take {limit} bytes, as many as they may"));
        }
        EditError::Wrong(why) => why,
    };
    match why {
        InvalidEdit::Order { expected } => {
            let message = format!(
                "interests {id:?} is at another edit: the next one is {expected}; the last one may be repeated as it was"
            );
            Refusal { about: about(call, id), ..Refusal::new(409, "Conflict", message) }
        }
        InvalidEdit::TooMany { count, limit } => {
            let why = format!("must have at most {limit} items");
            wrong(id, &[FieldError::new("add", Problem::TooMany(count), why)])
        }
        InvalidEdit::TooLong { field, limit } => {
            let why = format!("may not be more than {limit} bytes");
            wrong(id, &[FieldError::new(field, Problem::TooLong, why)])
        }
        InvalidEdit::Empty { field } => {
            let why = "a key may not be empty: what is absent cannot be watched by it";
            wrong(id, &[FieldError::new(field, Problem::Invalid("".into()), why)])
        }
    }
}

fn about(call: &VerbRequest<'_>, id: &str) -> About {
    let (group, kind) = (call.kind.group.to_string(), call.kind.names.plural.clone());
    About { group, kind: format!("{kind}/interests"), name: id.to_owned(), ..About::default() }
}

fn too_many(what: &str) -> Refusal {
    Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", format!("{what}: ask again")) }
}

fn refused(lost: StreamError) -> Refusal {
    match lost {
        StreamError::Watch(error) => watch_refused(&error),
        StreamError::Refused(refusal) => *refusal,
    }
}
