//! The subresource `scale`: the desired and actual number of replicas, at paths that the kind
//! names.
//!
//! Applying a `Scale` owns the replicas field of the object under the subresource's name. Giving up
//! ownership keeps the number, which Kubernetes sets to 0.

use http::Response;
use serde_json::Value;

use super::input::Input;
use super::output::{Output, read};
use super::update::{UpdatedObject, patch_kind, update_object};
use super::{ObjectRequest, VerbRequest, apply};
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
pub(super) async fn scale(request: &VerbRequest<'_>, scale: &Scale) -> Result<Response<Body>, Refusal> {
    let kind = native::scale();
    let object = ObjectRequest { kind: &kind, ..request.object };
    // The body and the response are of another kind than the object.
    let as_scale = VerbRequest { object, wire: request.wire };
    match request.wire.verb {
        Verb::Update => replace(request, &as_scale, scale).await,
        Verb::Patch => patch(request, &as_scale, scale).await,
        _ => get(request, &as_scale, scale).await,
    }
}

async fn get(
    request: &VerbRequest<'_>,
    as_scale: &VerbRequest<'_>,
    scale: &Scale,
) -> Result<Response<Body>, Refusal> {
    let output = Output::of(as_scale, EndpointKind::Object)?;
    let moment = Moment::of_get(&GetOptions::parse(&request.wire.query)?);
    let entry = request.shared.objects.get(&request.key(), moment).await?;
    let entry = entry.ok_or_else(|| not_found(request.kind, request.name()))?;
    let object = read(request.kind, &entry, entry.modified)?;
    output.object(200, as_scale, scale.read(&object))
}

async fn replace(
    request: &VerbRequest<'_>,
    as_scale: &VerbRequest<'_>,
    scale: &Scale,
) -> Result<Response<Body>, Refusal> {
    let options = WriteOptions::update(&request.wire.query)?;
    let manager = request.manager(options.field_manager.as_deref(), "UpdateOptions")?;
    let Input { object: sent, warnings } = as_scale.body(options.field_validation)?;
    let output = Output::of(as_scale, EndpointKind::Object)?;
    let step = |old: &Value| Ok(scaled(scale, old, &sent, sent["spec"]["replicas"].as_i64().unwrap_or(0)));
    let changed = update_object(request, Some(&manager), options.dry_run, true, step).await?;
    answered(&output, as_scale, scale, &changed, &warnings)
}

async fn patch(
    request: &VerbRequest<'_>,
    as_scale: &VerbRequest<'_>,
    scale: &Scale,
) -> Result<Response<Body>, Refusal> {
    if apply::is_apply(request) {
        return applied(request, as_scale, scale).await;
    }
    let kind = patch_kind(request)?;
    let options = WriteOptions::patch(&request.wire.query)?;
    let manager = request.manager(options.field_manager.as_deref(), "PatchOptions")?;
    let (patch, problems) = Patch::read(kind, &request.wire.body)?;
    let output = Output::of(as_scale, EndpointKind::Object)?;
    let mut warnings = Vec::new();
    let step = |old: &Value| {
        let patched = patch.apply(&scale.read(old), as_scale.kind.patched_by())?;
        let input = as_scale.patched(patched, problems.clone(), options.field_validation)?;
        warnings = input.warnings;
        let replicas = input.object["spec"]["replicas"].as_i64();
        match replicas.or(scale.desired(old).map(|_| 0)) {
            Some(replicas) => Ok(scaled(scale, old, &input.object, replicas)),
            None => Err(Refusal::bad_request(format!(
                "the spec replicas field {:?} cannot be empty",
                format!(".{}", scale.desired)
            ))),
        }
    };
    let changed = update_object(request, Some(&manager), options.dry_run, false, step).await?;
    answered(&output, as_scale, scale, &changed, &warnings)
}

async fn applied(
    request: &VerbRequest<'_>,
    as_scale: &VerbRequest<'_>,
    scale: &Scale,
) -> Result<Response<Body>, Refusal> {
    let options = WriteOptions::apply(&request.wire.query)?;
    let manager = request.manager(options.field_manager.as_deref(), "PatchOptions")?;
    let output = Output::of(as_scale, EndpointKind::Object)?;
    let (sent, warnings) = apply::read(as_scale, &request.wire.body, options.field_validation)?;
    let malformed = |_| apply::refused(&NotApplied::Malformed);
    let paths = |api_version: &str| request.kind.replicas_in(api_version);
    let step = |old: &Value| {
        let write = managed::Write {
            manager: &manager,
            subresource: request.subresource.name(),
            api_version: &as_scale.kind.api_version,
            now: &shown(request.shared.environment.now()),
            versions: &**as_scale.kind,
        };
        let entries = old["metadata"].get("managedFields");
        let mut live = scale.read(old);
        let of_scale = managed::entries_of_scale(entries, paths).map_err(malformed)?;
        metadata_mut(&mut live).insert("managedFields".into(), of_scale);
        let made = managed::applied(Some(&live), &sent, options.force, &["status"], &write)
            .map_err(|why| apply::refused(&why))?;
        let of_scale = made["metadata"].get("managedFields");
        let version = &request.kind.api_version;
        let entries = managed::entries_of_object(entries, of_scale, paths, version).map_err(malformed)?;
        let mut new = match made["spec"]["replicas"].as_i64().or(scale.desired(old)) {
            Some(replicas) => scaled(scale, old, &made, replicas),
            None => old.clone(),
        };
        metadata_mut(&mut new).insert("managedFields".into(), entries);
        Ok(new)
    };
    let changed = update_object(request, None, options.dry_run, false, step).await?;
    answered(&output, as_scale, scale, &changed, &warnings)
}

/// Returns the object with this number of replicas and with the preconditions of the `Scale`.
fn scaled(scale: &Scale, old: &Value, sent: &Value, replicas: i64) -> Value {
    let mut new = old.clone();
    for field in ["name", "namespace", "resourceVersion"] {
        let said = meta_text(sent, field);
        if !said.is_empty() {
            metadata_mut(&mut new).insert(field.into(), said.into());
        }
    }
    scale.set(&mut new, replicas);
    new
}

fn answered(
    output: &Output,
    as_scale: &VerbRequest<'_>,
    scale: &Scale,
    changed: &UpdatedObject,
    warnings: &[String],
) -> Result<Response<Body>, Refusal> {
    let answer = output.object(200, as_scale, scale.read(&changed.object))?;
    Ok(answer::with_warnings(answer, warnings))
}
