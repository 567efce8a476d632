//! The subresource `scale`: the desired and actual number of replicas, at paths that the kind
//! names.
//!
//! Applying a `Scale` owns the replicas field of the object under the subresource's name. Giving up
//! ownership keeps the number, which Kubernetes sets to 0.

use http::Response;
use serde_json::Value;

use super::input::Input;
use super::output::{Output, read};
use super::update::{Changed, change, patch_kind};
use super::{Job, Matter, apply};
use crate::accept::EndpointKind;
use crate::http::{Body, answer};
use crate::kind::Scale;
use crate::managed::{self, NotApplied};
use crate::meta::time::shown;
use crate::native;
use crate::patch::Patch;
use crate::refusal::Refusal;
use crate::request::{GetOptions, Verb, WriteOptions};
use crate::storage::Moment;
use crate::strategy::{meta_text, metadata_mut, not_found};

/// Gets, updates or patches the `Scale` of an object.
pub(super) async fn scale(job: &Job<'_>, scale: &Scale) -> Result<Response<Body>, Refusal> {
    let kind = native::scale();
    let matter = Matter { kind: &kind, ..job.matter };
    // The body and the response are of another kind than the object.
    let as_scale = Job { matter, asked: job.asked };
    match job.asked.verb {
        Verb::Update => replace(job, &as_scale, scale).await,
        Verb::Patch => patch(job, &as_scale, scale).await,
        _ => get(job, &as_scale, scale).await,
    }
}

async fn get(job: &Job<'_>, as_scale: &Job<'_>, scale: &Scale) -> Result<Response<Body>, Refusal> {
    let output = Output::of(as_scale, EndpointKind::Object)?;
    let moment = Moment::of_get(&GetOptions::parse(&job.asked.query)?);
    let entry = job.shared.objects.get(&job.key(), moment).await?;
    let entry = entry.ok_or_else(|| not_found(job.kind, job.name()))?;
    let object = read(job.kind, &entry, entry.modified)?;
    output.object(200, as_scale, scale.read(&object))
}

async fn replace(job: &Job<'_>, as_scale: &Job<'_>, scale: &Scale) -> Result<Response<Body>, Refusal> {
    let options = WriteOptions::update(&job.asked.query)?;
    let manager = job.manager(options.field_manager.as_deref(), "UpdateOptions")?;
    let Input { object: sent, warnings } = as_scale.body(options.field_validation)?;
    let output = Output::of(as_scale, EndpointKind::Object)?;
    let step = |old: &Value| Ok(scaled(scale, old, &sent, sent["spec"]["replicas"].as_i64().unwrap_or(0)));
    let changed = change(job, Some(&manager), options.dry_run, true, step).await?;
    answered(&output, as_scale, scale, &changed, &warnings)
}

async fn patch(job: &Job<'_>, as_scale: &Job<'_>, scale: &Scale) -> Result<Response<Body>, Refusal> {
    if apply::is_asked(job) {
        return applied(job, as_scale, scale).await;
    }
    let kind = patch_kind(job)?;
    let options = WriteOptions::patch(&job.asked.query)?;
    let manager = job.manager(options.field_manager.as_deref(), "PatchOptions")?;
    let (patch, problems) = Patch::read(kind, &job.asked.body)?;
    let output = Output::of(as_scale, EndpointKind::Object)?;
    let mut warnings = Vec::new();
    let step = |old: &Value| {
        let patched = patch.apply(&scale.read(old), as_scale.kind.patched_by())?;
        let input = as_scale.patched(patched, problems.clone(), options.field_validation)?;
        warnings = input.warnings;
        let wanted = input.object["spec"]["replicas"].as_i64();
        match wanted.or(scale.desired(old).map(|_| 0)) {
            Some(wanted) => Ok(scaled(scale, old, &input.object, wanted)),
            None => Err(Refusal::bad_request(format!(
                "the spec replicas field {:?} cannot be empty",
                format!(".{}", scale.desired)
            ))),
        }
    };
    let changed = change(job, Some(&manager), options.dry_run, false, step).await?;
    answered(&output, as_scale, scale, &changed, &warnings)
}

async fn applied(job: &Job<'_>, as_scale: &Job<'_>, scale: &Scale) -> Result<Response<Body>, Refusal> {
    let options = WriteOptions::apply(&job.asked.query)?;
    let manager = job.manager(options.field_manager.as_deref(), "PatchOptions")?;
    let output = Output::of(as_scale, EndpointKind::Object)?;
    let (sent, warnings) = apply::read(as_scale, &job.asked.body, options.field_validation)?;
    let malformed = |_| apply::refused(&NotApplied::Malformed);
    let step = |old: &Value| {
        let write = managed::Write {
            manager: &manager,
            subresource: job.part.subresource(),
            api_version: &as_scale.kind.api_version,
            now: &shown(job.shared.world.now()),
            versions: &**as_scale.kind,
        };
        let entries = old["metadata"].get("managedFields");
        let mut live = scale.read(old);
        let of_scale = managed::entries_of_scale(entries, &scale.desired).map_err(malformed)?;
        metadata_mut(&mut live).insert("managedFields".into(), of_scale);
        let made = managed::applied(Some(&live), &sent, options.force, &["status"], &write)
            .map_err(|why| apply::refused(&why))?;
        let of_scale = made["metadata"].get("managedFields");
        let version = &job.kind.api_version;
        let entries =
            managed::entries_of_object(entries, of_scale, &scale.desired, version).map_err(malformed)?;
        let mut new = match made["spec"]["replicas"].as_i64().or(scale.desired(old)) {
            Some(wanted) => scaled(scale, old, &made, wanted),
            None => old.clone(),
        };
        metadata_mut(&mut new).insert("managedFields".into(), entries);
        Ok(new)
    };
    let changed = change(job, None, options.dry_run, false, step).await?;
    answered(&output, as_scale, scale, &changed, &warnings)
}

/// Returns the object with this number of replicas and with the preconditions of the `Scale`.
fn scaled(scale: &Scale, old: &Value, sent: &Value, wanted: i64) -> Value {
    let mut new = old.clone();
    for field in ["name", "namespace", "resourceVersion"] {
        let said = meta_text(sent, field);
        if !said.is_empty() {
            metadata_mut(&mut new).insert(field.into(), said.into());
        }
    }
    scale.set(&mut new, wanted);
    new
}

fn answered(
    output: &Output,
    as_scale: &Job<'_>,
    scale: &Scale,
    changed: &Changed,
    warnings: &[String],
) -> Result<Response<Body>, Refusal> {
    let answer = output.object(200, as_scale, scale.read(&changed.object))?;
    Ok(answer::with_warnings(answer, warnings))
}
