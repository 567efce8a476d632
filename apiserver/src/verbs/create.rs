//! Create.

use std::sync::Arc;

use http::Response;
use machinery_store::Entry;
use serde_json::Value;

use super::output::{Output, Put, read, stored_bytes};
use super::{Job, Matter};
use crate::accept::EndpointKind as Form;
use crate::admission::{Asking, Operation};
use crate::change::{Rests, Write};
use crate::http::{Body, answer};
use crate::json::shallow;
use crate::kind::Kind;
use crate::own::not_defined;
use crate::refusal::Refusal;
use crate::request::WriteOptions;
use crate::storage::Moment;
use crate::strategy::{self, Context, New, already_exists, is_deleting, meta_text};

/// Attempts to generate a unique name.
const NAMES: usize = 8;

pub(super) async fn create(job: &Job<'_>) -> Result<Response<Body>, Refusal> {
    let output = Output::of(job, Form::Object)?;
    let options = WriteOptions::create(&job.asked.query)?;
    let manager = job.manager(options.field_manager.as_deref(), "CreateOptions")?;
    let input = job.body(options.field_validation)?;
    match made(job, input.object, Some(&manager), options.dry_run).await {
        Err(refusal) => Err(refusal.warning(&input.warnings)),
        Ok(Made { object, put, .. }) => {
            let mut warnings = input.warnings;
            warnings.extend(job.warnings(&object, None));
            Ok(answer::with_warnings(output.written(201, job, object, put)?, &warnings))
        }
    }
}

/// A created object.
pub(crate) struct Made {
    pub(crate) object: Value,
    pub(crate) key: Arc<str>,
    /// None for a dry run.
    pub(crate) put: Option<Put>,
}

/// Creates an object in the normalized form of its kind. Without a manager the object brings its
/// managed fields.
pub(crate) async fn made(
    matter: &Matter<'_>,
    object: Value,
    manager: Option<&str>,
    dry_run: bool,
) -> Result<Made, Refusal> {
    let generates = meta_text(&object, "name").is_empty();
    for _ in 1..if generates { NAMES } else { 1 } {
        match once(matter, object.clone(), manager, dry_run).await {
            Err(refusal) if refusal.reason == "AlreadyExists" => {}
            other => return other,
        }
    }
    once(matter, object, manager, dry_run).await
}

async fn once(
    matter: &Matter<'_>,
    object: Value,
    manager: Option<&str>,
    dry_run: bool,
) -> Result<Made, Refusal> {
    let (kind, world) = (matter.kind, &matter.shared.world);
    let namespace = matter.namespace();
    let mut context = Context { kind, now: world.now(), manager, namespace, trace: matter.trace };
    let uid = world.uid();
    let new = New { uid: &uid, chance: u64::from_le_bytes(world.bytes()) };
    let asking = Asking::of(matter, Operation::Create, dry_run);
    let object = match &asking {
        Some(asking) => {
            let object = strategy::named(object, new, &context);
            let entries = |object, context: &_| strategy::first_entries(object, new, context);
            let (object, then) = strategy::tracked(object, context, entries);
            context = then;
            asking.mutate(object, None).await?
        }
        None => object,
    };
    let mut object = strategy::create(object, new, &context)?;
    matter.may_grant(&object, None)?;
    if kind.defines_kinds {
        not_defined(&matter.shared.own, &object)?;
    }
    if let Some(asking) = &asking {
        asking.validate(Some(&object), None).await?;
    }
    let name = meta_text(&object, "name").to_owned();
    let key = kind.place.key(namespace, &name);
    let mut change = matter.change(&key, dry_run);
    change.rests = Rests { on_its_place: true, ..change.rests };
    // Otherwise the commit detects an existing object.
    let there = if dry_run { matter.shared.objects.get(&key, Moment::Newest).await? } else { None };
    shallow(&object, None)?;
    let bytes = stored_bytes(kind, &object);
    let step = |there: Option<&Entry>| match there {
        Some(there) => Err(exists(kind, there, &name)),
        None => Ok(Write::Put(bytes.clone())),
    };
    let revision = change.make(there, step).await?;
    let put = revision.map(|revision| Put { bytes, revision });
    if let Some(revision) = revision {
        strategy::metadata_mut(&mut object).insert("resourceVersion".into(), revision.to_string().into());
    }
    Ok(Made { object, key, put })
}

/// 409: an object of this name exists, possibly in deletion.
fn exists(kind: &Kind, there: &Entry, name: &str) -> Refusal {
    let mut refusal = already_exists(kind, name);
    if read(kind, there, there.modified).is_ok_and(|object| is_deleting(&object)) {
        refusal.message = format!("object is being deleted: {}", refusal.message);
    }
    refusal
}
