//! The verbs `delete` and `deletecollection`: an object with finalizers is only marked.

use std::sync::Arc;

use http::Response;
use http::header::CONTENT_TYPE;
use machinery_objects::Revision;
use machinery_store::{Entry, Key, Range};
use serde_json::{Value, json};

use super::list::{metadata, selection};
use super::output::{Output, read, stored_bytes};
use super::{ObjectRequest, VerbRequest};
use crate::accept::EndpointKind;
use crate::admission::{AdmissionChain, MAX_ATTEMPTS, Operation};
use crate::change::{WriteAction, contended};
use crate::http::{Body, answer};
use crate::kind::Kind;
use crate::protobuf;
use crate::refusal::Refusal;
use crate::request::{DeleteOptions, Format, ListOptions, Propagation};
use crate::storage::Moment;
use crate::strategy::{self, Context, Deletion, Step, meta_text, metadata_mut, not_found};
use crate::{json, yaml};

pub(super) async fn delete(request: &VerbRequest<'_>) -> Result<Response<Body>, Refusal> {
    let output = Output::of(request, EndpointKind::Object)?;
    let options = delete_options(request)?;
    let key = request.key();
    let entry = request.shared.objects.get(&key, Moment::Newest).await?;
    let deleted = delete_object(request, &key, entry, options.dry_run, |_| Ok(deletion(&options))).await?;
    if deleted.is_deleted && !request.kind.returns_deleted {
        return Ok(answer::value(200, output.form, &success(request.kind, &deleted.object)));
    }
    output.object(200, request, deleted.object)
}

pub(super) async fn collection(request: &VerbRequest<'_>) -> Result<Response<Body>, Refusal> {
    let output = Output::of(request, EndpointKind::Object)?;
    let list = ListOptions::parse(&request.wire.query, false)?;
    let selection = selection(request, &list)?;
    let options = delete_options(request)?;
    if let Some(fence) = request.fence {
        // Also checked if nothing is selected.
        fence.hold(request.shared, request.kind, "").await?;
    }
    let range = Range::of(selection.span(request.namespace()));
    let listed = request.shared.objects.list(range, Moment::Newest).await?;
    let selected = listed.entries.iter().filter(|entry| selection.sees(entry));
    let mut items = Vec::new();
    for entry in selected {
        let before = read(request.kind, entry, entry.modified)?;
        match delete_object(request, &entry.key, Some(entry.clone()), options.dry_run, |_| {
            Ok(deletion(&options))
        })
        .await
        {
            Ok(_) => items.push(before),
            Err(refusal) if refusal.code == 404 => {} // deleted concurrently
            Err(refusal) => return Err(refusal),
        }
    }
    let list = json!({
        "apiVersion": request.kind.api_version, "kind": request.kind.names.list_kind,
        "metadata": metadata(request.kind.built_in, listed.at), "items": items,
    });
    output.object(200, request, list)
}

/// A deleted object, in its last state or with its deletion timestamp.
pub(crate) struct DeletedObject {
    pub(crate) object: Value,
    pub(crate) is_deleted: bool,
    /// The revision of the object or of its deletion. None for a dry run.
    pub(crate) revision: Option<Revision>,
}

/// Deletes one object with the options that `how` returns for its current state. `entry` is a
/// recent state.
pub(crate) async fn delete_object(
    request: &ObjectRequest<'_>,
    key: &Key,
    entry: Option<Arc<Entry>>,
    dry_run: bool,
    mut how: impl FnMut(&Value) -> Result<Deletion, Refusal>,
) -> Result<DeletedObject, Refusal> {
    let kind = request.kind;
    let (now, namespace) = (request.shared.environment.now(), kind.place.names(key).0);
    let context = Context { kind, now, manager: Some(""), namespace, trace: request.trace };
    let mut work = |there: Option<&Entry>| {
        let there = there.ok_or_else(|| not_found(kind, request.name()))?;
        let old = read(kind, there, there.modified)?;
        let step = strategy::delete(&old, &how(&old)?, &context)?;
        Ok::<_, Refusal>((old, step))
    };
    let (change, mut entry) = (request.object_write(key, dry_run), entry);
    let Some(chain) = AdmissionChain::of(request, Operation::Delete, dry_run) else {
        let mut done = None;
        let step = |there: Option<&Entry>| {
            let (old, step) = work(there)?;
            Ok(done.insert(prepare(kind, old, step)).write.clone())
        };
        let revision = change.commit(entry, step).await?;
        return Ok(done.map(|made| made.deleted(revision)).expect("a change is made by its step"));
    };
    for _ in 0..MAX_ATTEMPTS {
        let (old, step) = work(entry.as_deref())?;
        chain.delete(&old).await?;
        let made = prepare(kind, old, step);
        if let Some(revision) = change.commit_if_unchanged(entry, &made.write).await? {
            return Ok(made.deleted(revision));
        }
        entry = request.shared.objects.get(key, Moment::Newest).await?;
    }
    Err(contended())
}

/// The result of the delete strategy, not yet committed.
struct PreparedDelete {
    object: Value,
    write: WriteAction,
}

fn prepare(kind: &Kind, old: Value, step: Step) -> PreparedDelete {
    let (object, write) = match step {
        Step::Keep => (old, WriteAction::Keep),
        Step::Put(new) => {
            let bytes = stored_bytes(kind, &new);
            (new, WriteAction::Put(bytes))
        }
        Step::Delete(last) => (last, WriteAction::Delete),
    };
    PreparedDelete { object, write }
}

impl PreparedDelete {
    fn deleted(self, revision: Option<Revision>) -> DeletedObject {
        let Self { mut object, write } = self;
        let is_deleted = matches!(write, WriteAction::Delete);
        if let Some(revision) = revision.filter(|_| !is_deleted) {
            metadata_mut(&mut object).insert("resourceVersion".into(), revision.to_string().into());
        }
        DeletedObject { object, is_deleted, revision }
    }
}

/// Returns the options of the body, or else of the query.
fn delete_options(request: &VerbRequest<'_>) -> Result<DeleteOptions, Refusal> {
    let options = read_options(request)?;
    if let Some(notes) = request.notes {
        let _ = notes.options.set(options.value());
    }
    Ok(options)
}

fn read_options(request: &VerbRequest<'_>) -> Result<DeleteOptions, Refusal> {
    let bytes = &request.wire.body;
    if bytes.is_empty() {
        return DeleteOptions::parse(&request.wire.query, None);
    }
    let malformed = |why: String| Refusal::bad_request(format!("the DeleteOptions cannot be read: {why}"));
    let body = match Format::of(request.wire.header(CONTENT_TYPE), Format::BUILT_IN)? {
        Format::Json => json::read(bytes).map_err(|error| malformed(error.0))?.value,
        Format::Yaml => yaml::read(bytes).map_err(|error| malformed(error.0))?.value,
        Format::Protobuf => {
            protobuf::decode(bytes, protobuf::ExpectedType { api_version: "v1", kind: "DeleteOptions" })?
        }
    };
    DeleteOptions::parse(&request.wire.query, Some(&body))
}

fn deletion(options: &DeleteOptions) -> Deletion {
    let orphan = |orphan| if orphan { Propagation::Orphan } else { Propagation::Background };
    Deletion {
        uid: options.uid.clone(),
        version: options.resource_version.clone(),
        propagation: options.propagation.or(options.orphan_dependents.map(orphan)),
    }
}

/// Returns the Status of a successful deletion.
fn success(kind: &Kind, object: &Value) -> Value {
    let mut details = json!({
        "name": meta_text(object, "name"), "kind": kind.names.plural, "uid": meta_text(object, "uid"),
    });
    if !kind.group.is_empty() {
        details["group"] = (*kind.group).into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
