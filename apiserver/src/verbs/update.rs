//! Replacing an object, or changing it by a patch.

use http::Response;
use http::header::CONTENT_TYPE;
use machinery_store::Entry;
use serde_json::Value;

use super::Job;
use super::input::Input;
use super::output::{Output, read};
use crate::accept::Place;
use crate::http::{Body, answer};
use crate::json;
use crate::kind::Shape;
use crate::meta::finalizer_warnings;
use crate::patch::{Patch, PatchKind, PatchMeta};
use crate::refusal::Refusal;
use crate::request::WriteOptions;
use crate::storage::{Lost, Moment, Outcome, Write, encode};
use crate::strategy::{self, Context, Step, metadata, metadata_mut, not_found};

pub(super) async fn replace(job: &Job<'_>) -> Result<Response<Body>, Refusal> {
    let options = WriteOptions::update(&job.asked.query)?;
    let manager = job.manager(options.field_manager.as_deref(), "UpdateOptions")?;
    let Input { object, warnings } = job.body(options.field_validation)?;
    let step = |_: &Value| Ok(object.clone());
    let done = change(job, &manager, options.dry_run, true, warnings.clone(), step).await;
    done.map_err(|refusal| refusal.warning(&warnings))
}

pub(super) async fn patch(job: &Job<'_>) -> Result<Response<Body>, Refusal> {
    let kind =
        PatchKind::from_content_type(job.asked.header(CONTENT_TYPE).unwrap_or_default(), job.kind.built_in)?;
    let types = match &job.kind.shape {
        Shape::Custom(_) => None,
        Shape::Typed(of) => Some(*of),
    };
    let options = WriteOptions::patch(&job.asked.query, false)?;
    let manager = job.manager(options.field_manager.as_deref(), "PatchOptions")?;
    let read = json::read(&job.asked.body).map_err(|error| unreadable(&error.0))?;
    let patch = Patch::new(kind, read.value)?;
    let mut warnings = Vec::new();
    let step = |old: &Value| {
        let types = types.map(|of| of as &dyn PatchMeta);
        let patched = patch.apply(old, types)?;
        let input = job.shaped(patched, &read.duplicates, options.field_validation)?;
        warnings = input.warnings;
        Ok(input.object)
    };
    let mut said = Vec::new();
    let response = change(job, &manager, options.dry_run, false, Vec::new(), step).await?;
    said.append(&mut warnings);
    Ok(answer::with_warnings(response, &said))
}

fn unreadable(why: &str) -> Refusal {
    Refusal::bad_request(format!("error decoding patch: {why}"))
}

/// Changes the object to what `next` makes of it. A patch that names no revision is made again on what another write left.
async fn change(
    job: &Job<'_>,
    manager: &str,
    dry_run: bool,
    whole: bool,
    mut warnings: Vec<String>,
    mut next: impl FnMut(&Value) -> Result<Value, Refusal>,
) -> Result<Response<Body>, Refusal> {
    let output = Output::of(job, Place::Object)?;
    let kind = job.kind;
    let key = job.key();
    let entry = job.shared.objects.get(&key, Moment::Newest).await?;
    let entry = entry.ok_or_else(|| not_found(kind, job.name()))?;
    let context = Context { kind, now: job.shared.world.now(), manager, namespace: job.namespace() };
    let mut answer = Value::Null;
    let mut deleted = false;
    let step = |there: Option<&Entry>| {
        let there = there.ok_or_else(|| not_found(kind, job.name()))?;
        let old = read(kind, there, there.modified)?;
        let new = next(&old)?;
        let step = strategy::update(new, &old, job.part, whole, &context)?;
        if let Step::Put(new) | Step::Delete(new) = &step {
            job.may_grant(new, Some(&old))?;
            warnings.extend(finalizer_warnings(metadata(new), Some(metadata(&old))));
        }
        deleted = matches!(step, Step::Delete(_));
        Ok(match step {
            Step::Keep => {
                answer = old;
                Write::Keep
            }
            Step::Put(new) => {
                let bytes = encode(new.as_object().expect("it has the shape of an object"), kind.print);
                answer = new;
                Write::Put(bytes)
            }
            Step::Delete(new) => {
                answer = new;
                Write::Delete
            }
        })
    };
    let revision = if dry_run {
        let mut step = step;
        step(Some(&entry))?;
        None
    } else {
        let done: Outcome = job.shared.objects.change(&key, Some(entry), &[], step).await.map_err(refused)?;
        Some(done.revision)
    };
    // An object whose last finalizer went with this is answered as it was stored last.
    if let Some(revision) = revision.filter(|_| !deleted) {
        metadata_mut(&mut answer).insert("resourceVersion".into(), revision.to_string().into());
    }
    warnings.dedup();
    Ok(answer::with_warnings(output.object(200, job, answer)?, &warnings))
}

/// No condition is on another object here.
fn refused(lost: Lost) -> Refusal {
    match lost {
        Lost::Refused(refusal) => *refusal,
        Lost::Guard(conflict) => {
            Refusal::new(500, "InternalError", format!("{:?} was changed", conflict.key))
        }
    }
}
