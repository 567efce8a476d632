//! The verbs of the API.

pub(crate) mod apply;
pub(crate) mod create;
pub(crate) mod delete;
mod get;
pub(crate) mod input;
pub(crate) mod list;
mod matter;
pub(crate) mod output;
mod review;
mod scale;
pub(crate) mod update;
mod watch;

use std::ops::Deref;
use std::sync::Arc;

pub(crate) use matter::Matter;
pub(crate) use watch::{Frames, watch_refused};

use http::Response;
use tokio::time::timeout;

use crate::admission::Notes;
use crate::http::{Body, answer};
use crate::interest;
use crate::kind::{Kind, Subresource};
use crate::metrics::Event;
use crate::refusal::Refusal;
use crate::request::{Verb, not_allowed, time_limit};
use crate::server::{self, Asked, Shared, unfenced};
use crate::strategy::not_found;
use crate::upkeep;

/// A request for objects of a served kind that arrived over the wire.
pub(crate) struct Job<'a> {
    pub(crate) matter: Matter<'a>,
    pub(crate) asked: &'a Asked,
}

impl<'a> Deref for Job<'a> {
    type Target = Matter<'a>;

    fn deref(&self) -> &Matter<'a> {
        &self.matter
    }
}

/// Serves a request.
pub(crate) async fn serve(shared: &Arc<Shared>, asked: Asked) -> Result<Response<Body>, Refusal> {
    let resource = &asked.resource;
    let registry = shared.kinds();
    let Some(kind) = registry.find(&resource.group, &resource.version, &resource.plural) else {
        return Ok(answer::nothing_there());
    };
    let is_of_all = matches!(asked.verb, Verb::List | Verb::Watch | Verb::Interest);
    match (kind.namespaced, &resource.namespace) {
        (true, Some(_)) | (false, None) => {}
        (true, None) if is_of_all => {}
        _ => return Ok(answer::nothing_there()),
    }
    let Some(part) = part(kind, &asked) else {
        if let Some(refusal) = interest::misnamed(resource).filter(|_| asked.verb == Verb::Create) {
            return Err(refusal);
        }
        return match kind.built_in {
            true => Ok(answer::nothing_there()),
            false => Err(not_found(kind, resource.name.as_deref().unwrap_or_default())),
        };
    };
    if !kind.can(asked.verb.name()) || (part != Subresource::Main && !of_parts(asked.verb)) {
        return Err(not_allowed(resource, asked.verb.name()));
    }
    let notes = Notes::of(&asked);
    let matter = Matter {
        shared,
        kind,
        part,
        identity: &asked.identity,
        fence: asked.fence.as_deref(),
        trace: server::trace::said(&asked.headers),
        notes: Some(&notes),
        namespace: resource.namespace.as_deref(),
        name: resource.name.as_deref().unwrap_or_default(),
    };
    let job = Job { matter, asked: &asked };
    let asked_for = time_limit(&asked.query)?;
    let answer = if asked.verb == Verb::Watch {
        done(&job).await
    } else {
        let limit = asked_for.map_or(shared.limits.work, |limit| limit.min(shared.limits.work));
        timeout(limit, done(&job)).await.unwrap_or_else(|_| {
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
    if !asked.verb.reads() {
        // From the response on the client may use a new kind, and new webhooks apply to it.
        upkeep::settle(shared, kind).await?;
    }
    let answer = answer::with_warnings(answer, &notes.warnings());
    Ok(answer::with_first_warnings(answer, &warnings))
}

async fn done(job: &Job<'_>) -> Result<Response<Body>, Refusal> {
    if let Some(paths) = job.kind.scale.as_ref().filter(|_| job.part == Subresource::Scale) {
        return scale::scale(job, paths).await;
    }
    match job.asked.verb {
        Verb::Get => get::get(job).await,
        Verb::List => list::list(job).await,
        Verb::Watch => match job.asked.query.first("interest") {
            Some(id) => interest::stream(job, id).await,
            None => watch::watch(job).await,
        },
        Verb::Interest => interest::edit(job, job.asked.resource.interest.as_deref().unwrap_or_default()),
        Verb::Create => match job.kind.review {
            Some(_) if job.fence.is_some() => Err(unfenced()),
            Some(review) => review::review(job, review).await,
            None => create::create(job).await,
        },
        Verb::Update => update::replace(job).await,
        Verb::Patch => update::patch(job).await,
        Verb::Delete => delete::delete(job).await,
        Verb::DeleteCollection => delete::collection(job).await,
    }
}

/// 504: the request exceeded the timeout of the server or its own. Its write may still be
/// committed.
fn late() -> Refusal {
    let message = "Timeout: request did not complete within the allotted timeout";
    Refusal::new(504, "Timeout", message)
}

fn part(kind: &Kind, asked: &Asked) -> Option<Subresource> {
    match asked.resource.subresource.as_deref() {
        None => Some(Subresource::Main),
        Some("status") if kind.has_status => Some(Subresource::Status),
        Some("scale") if kind.scale.is_some() => Some(Subresource::Scale),
        Some("finalize") if kind.group.is_empty() && kind.names.plural == "namespaces" => {
            Some(Subresource::Finalize)
        }
        Some(_) => None,
    }
}

const fn of_parts(verb: Verb) -> bool {
    matches!(verb, Verb::Get | Verb::Update | Verb::Patch)
}
