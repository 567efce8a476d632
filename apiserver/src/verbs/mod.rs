//! The verbs of the API, one module each. [`serve`] dispatches authorized requests to them.

pub(crate) mod apply;
pub(crate) mod create;
pub(crate) mod delete;
mod get;
pub(crate) mod input;
pub(crate) mod list;
mod object_request;
pub(crate) mod output;
mod review;
mod scale;
pub(crate) mod update;
mod watch;

use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;

pub(crate) use object_request::ObjectRequest;
pub(crate) use watch::{Frames, watch_refused};

use http::Response;
use tokio::time::timeout;

use crate::admission::AdmissionNotes;
use crate::controllers;
use crate::http::{Body, answer};
use crate::interest;
use crate::kind::{Kind, Subresource};
use crate::long_work::LongWork;
use crate::metrics::Event;
use crate::refusal::Refusal;
use crate::request::{Verb, not_allowed, time_limit};
use crate::server::{self, Shared, WireRequest, fence_not_allowed};
use crate::strategy::not_found;

/// A request for objects of a served kind that arrived over the wire.
pub(crate) struct VerbRequest<'a> {
    pub(crate) object: ObjectRequest<'a>,
    pub(crate) wire: &'a WireRequest,
}

impl<'a> Deref for VerbRequest<'a> {
    type Target = ObjectRequest<'a>;

    fn deref(&self) -> &ObjectRequest<'a> {
        &self.object
    }
}

/// Finds the kind of a request and runs its verb.
pub(crate) async fn serve(shared: &Arc<Shared>, wire: WireRequest) -> Result<Response<Body>, Refusal> {
    let resource = &wire.resource;
    let registry = shared.kinds();
    let Some(kind) = registry.find(&resource.group, &resource.version, &resource.plural) else {
        return Ok(answer::nothing_there());
    };
    let is_of_all = matches!(wire.verb, Verb::List | Verb::Watch | Verb::Interest);
    match (kind.namespaced, &resource.namespace) {
        (true, Some(_)) | (false, None) => {}
        (true, None) if is_of_all => {}
        _ => return Ok(answer::nothing_there()),
    }
    let Some(subresource) = subresource(kind, &wire) else {
        if let Some(refusal) = interest::misnamed(resource).filter(|_| wire.verb == Verb::Create) {
            return Err(refusal);
        }
        return match kind.built_in {
            true => Ok(answer::nothing_there()),
            false => Err(not_found(kind, resource.name.as_deref().unwrap_or_default())),
        };
    };
    if !kind.can(wire.verb.name()) || (subresource != Subresource::Main && !of_parts(wire.verb)) {
        return Err(not_allowed(resource, wire.verb.name()));
    }
    let notes = AdmissionNotes::of(&wire);
    let object = ObjectRequest {
        shared,
        kind,
        subresource,
        identity: &wire.identity,
        fence: wire.fence.as_deref(),
        trace: server::trace::parent_span(&wire.headers),
        notes: Some(&notes),
        namespace: resource.namespace.as_deref(),
        name: resource.name.as_deref().unwrap_or_default(),
    };
    let request = VerbRequest { object, wire: &wire };
    let asked_for = time_limit(&wire.query)?;
    let work = LongWork { is_long: may_take_long(kind, &wire), future: pin!(dispatch(&request)) };
    let answer = if wire.verb == Verb::Watch {
        work.await
    } else {
        let limit = asked_for.map_or(shared.limits.work, |limit| limit.min(shared.limits.work));
        timeout(limit, work).await.unwrap_or_else(|_| {
            shared.metrics.counted.add(Event::LateAnswer);
            Err(late())
        })
    };
    let warnings: Vec<String> = kind.deprecation.iter().cloned().collect();
    let answer = answer.map_err(|mut refusal| {
        refusal.warnings.splice(0..0, warnings.iter().cloned());
        refusal.warnings.extend(notes.warnings());
        refusal
    })?;
    if !wire.verb.reads() {
        // From the response on the client may use a new kind, and new webhooks apply to it.
        controllers::after_write(shared, kind).await?;
    }
    let answer = answer::with_warnings(answer, &notes.warnings());
    Ok(answer::with_first_warnings(answer, &warnings))
}

async fn dispatch(request: &VerbRequest<'_>) -> Result<Response<Body>, Refusal> {
    if let Some(paths) = request.kind.scale.as_ref().filter(|_| request.subresource == Subresource::Scale) {
        return scale::scale(request, paths).await;
    }
    match request.wire.verb {
        Verb::Get => get::get(request).await,
        Verb::List => list::list(request).await,
        Verb::Watch => match request.wire.query.first("interest") {
            Some(id) => interest::stream(request, id).await,
            None => watch::watch(request).await,
        },
        Verb::Interest => {
            interest::edit(request, request.wire.resource.interest.as_deref().unwrap_or_default())
        }
        Verb::Create => match request.kind.review {
            Some(_) if request.fence.is_some() => Err(fence_not_allowed()),
            Some(review) => review::review(request, review).await,
            None => create::create(request).await,
        },
        Verb::Update => update::replace(request).await,
        Verb::Patch => update::patch(request).await,
        Verb::Delete => delete::delete(request).await,
        Verb::DeleteCollection => delete::collection(request).await,
    }
}

/// Bytes of a body or query above which a request may delay others.
const LONG_BODY: usize = 8 << 10;
const LONG_QUERY: usize = 256;

/// Returns whether a request may occupy its thread for long: by its size, or since it compiles or
/// evaluates expressions.
fn may_take_long(kind: &Kind, wire: &WireRequest) -> bool {
    let runs_expressions = !wire.verb.reads() && (kind.defines_kinds || kind.shape.has_rules());
    runs_expressions || wire.body.len() > LONG_BODY || wire.query.bytes() > LONG_QUERY
}

/// 504: the request exceeded the timeout of the server or its own. Its write may still be
/// committed.
fn late() -> Refusal {
    let message = "Timeout: request did not complete within the allotted timeout";
    Refusal::new(504, "Timeout", message)
}

fn subresource(kind: &Kind, wire: &WireRequest) -> Option<Subresource> {
    match wire.resource.subresource.as_deref() {
        None => Some(Subresource::Main),
        Some("status") if kind.has_status => Some(Subresource::Status),
        Some("scale") if kind.scale.is_some() => Some(Subresource::Scale),
        Some("finalize") if kind.has_finalize() => Some(Subresource::Finalize),
        Some("approval") if kind.has_approval() => Some(Subresource::Approval),
        Some(_) => None,
    }
}

const fn of_parts(verb: Verb) -> bool {
    matches!(verb, Verb::Get | Verb::Update | Verb::Patch)
}
