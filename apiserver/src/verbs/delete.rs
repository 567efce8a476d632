//! Delete, and delete collection.

use std::sync::Arc;

use http::Response;
use http::header::CONTENT_TYPE;
use machinery_objects::Revision;
use machinery_store::{Entry, Key, Range};
use serde_json::{Value, json};

use super::list::{metadata, selection};
use super::output::{Output, read, stored_bytes};
use super::{Job, Matter};
use crate::accept::EndpointKind;
use crate::admission::{Asking, Operation, ROUNDS};
use crate::change::{Write, never};
use crate::http::{Body, answer};
use crate::kind::Kind;
use crate::protobuf;
use crate::refusal::Refusal;
use crate::request::{DeleteOptions, Format, ListOptions, Propagation};
use crate::storage::Moment;
use crate::strategy::{self, Context, Deletion, Step, meta_text, metadata_mut, not_found};
use crate::{json, yaml};

pub(super) async fn delete(job: &Job<'_>) -> Result<Response<Body>, Refusal> {
    let output = Output::of(job, EndpointKind::Object)?;
    let options = options(job)?;
    let key = job.key();
    let entry = job.shared.objects.get(&key, Moment::Newest).await?;
    let erased = one(job, &key, entry, options.dry_run, |_| Ok(deletion(&options))).await?;
    if erased.is_gone && !job.kind.returns_deleted {
        return Ok(answer::value(200, output.form, &success(job.kind, &erased.object)));
    }
    output.object(200, job, erased.object)
}

pub(super) async fn collection(job: &Job<'_>) -> Result<Response<Body>, Refusal> {
    let output = Output::of(job, EndpointKind::Object)?;
    let list = ListOptions::parse(&job.asked.query, false)?;
    let selection = selection(job, &list)?;
    let options = options(job)?;
    if let Some(fence) = job.fence {
        // Also checked if nothing is selected.
        fence.hold(job.shared, job.kind, "").await?;
    }
    let range = Range::of(selection.span(job.namespace()));
    let listed = job.shared.objects.list(range, Moment::Newest).await?;
    let selected = listed.entries.iter().filter(|entry| selection.sees(entry));
    let mut items = Vec::new();
    for entry in selected {
        let before = read(job.kind, entry, entry.modified)?;
        match one(job, &entry.key, Some(entry.clone()), options.dry_run, |_| Ok(deletion(&options))).await {
            Ok(_) => items.push(before),
            Err(refusal) if refusal.code == 404 => {} // somebody else deleted it meanwhile
            Err(refusal) => return Err(refusal),
        }
    }
    let list = json!({
        "apiVersion": job.kind.api_version, "kind": job.kind.names.list_kind,
        "metadata": metadata(job.kind.built_in, listed.at), "items": items,
    });
    output.object(200, job, list)
}

/// A deleted object, in its last state or with its deletion timestamp.
pub(crate) struct Erased {
    pub(crate) object: Value,
    pub(crate) is_gone: bool,
    /// The revision of the object or of its deletion. None for a dry run.
    pub(crate) revision: Option<Revision>,
}

/// Deletes one object with the options that `how` returns for its current state. `entry` is a
/// recent state.
pub(crate) async fn one(
    matter: &Matter<'_>,
    key: &Key,
    entry: Option<Arc<Entry>>,
    dry_run: bool,
    mut how: impl FnMut(&Value) -> Result<Deletion, Refusal>,
) -> Result<Erased, Refusal> {
    let kind = matter.kind;
    let (now, namespace) = (matter.shared.world.now(), kind.place.names(key).0);
    let context = Context { kind, now, manager: Some(""), namespace, trace: matter.trace };
    let mut work = |there: Option<&Entry>| {
        let there = there.ok_or_else(|| not_found(kind, matter.name()))?;
        let old = read(kind, there, there.modified)?;
        let step = strategy::delete(&old, &how(&old)?, &context)?;
        Ok::<_, Refusal>((old, step))
    };
    let (change, mut entry) = (matter.change(key, dry_run), entry);
    let Some(asking) = Asking::of(matter, Operation::Delete, dry_run) else {
        let mut done = None;
        let step = |there: Option<&Entry>| {
            let (old, step) = work(there)?;
            Ok(done.insert(worked(kind, old, step)).write.clone())
        };
        let revision = change.make(entry, step).await?;
        return Ok(done.map(|made| made.erased(revision)).expect("a change is made by its step"));
    };
    for _ in 0..ROUNDS {
        let (old, step) = work(entry.as_deref())?;
        asking.delete(&old).await?;
        let made = worked(kind, old, step);
        if let Some(revision) = change.make_if_still(entry, &made.write).await? {
            return Ok(made.erased(revision));
        }
        entry = matter.shared.objects.get(key, Moment::Newest).await?;
    }
    Err(never())
}

/// A computed deletion.
struct Worked {
    object: Value,
    write: Write,
}

fn worked(kind: &Kind, old: Value, step: Step) -> Worked {
    let (object, write) = match step {
        Step::Keep => (old, Write::Keep),
        Step::Put(new) => {
            let bytes = stored_bytes(kind, &new);
            (new, Write::Put(bytes))
        }
        Step::Delete(last) => (last, Write::Delete),
    };
    Worked { object, write }
}

impl Worked {
    fn erased(self, revision: Option<Revision>) -> Erased {
        let Self { mut object, write } = self;
        let is_gone = matches!(write, Write::Delete);
        if let Some(revision) = revision.filter(|_| !is_gone) {
            metadata_mut(&mut object).insert("resourceVersion".into(), revision.to_string().into());
        }
        Erased { object, is_gone, revision }
    }
}

/// Returns the options of the body, or else of the query.
fn options(job: &Job<'_>) -> Result<DeleteOptions, Refusal> {
    let options = read_options(job)?;
    if let Some(notes) = job.notes {
        let _ = notes.options.set(options.value());
    }
    Ok(options)
}

fn read_options(job: &Job<'_>) -> Result<DeleteOptions, Refusal> {
    let bytes = &job.asked.body;
    if bytes.is_empty() {
        return DeleteOptions::parse(&job.asked.query, None);
    }
    let malformed = |why: String| Refusal::bad_request(format!("the DeleteOptions cannot be read: {why}"));
    let body = match Format::of(job.asked.header(CONTENT_TYPE), Format::BUILT_IN)? {
        Format::Json => json::read(bytes).map_err(|error| malformed(error.0))?.value,
        Format::Yaml => yaml::read(bytes).map_err(|error| malformed(error.0))?.value,
        Format::Protobuf => {
            protobuf::decode(bytes, protobuf::Expected { api_version: "v1", kind: "DeleteOptions" })?
        }
    };
    DeleteOptions::parse(&job.asked.query, Some(&body))
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
