//! The verb `create`: admits and stores a new object, with a generated name if so requested.

use std::sync::Arc;

use http::Response;
use machinery_store::Entry;
use serde_json::Value;

use super::output::{Output, StoredObject, read, stored_bytes};
use super::{ObjectRequest, VerbRequest};
use crate::accept::EndpointKind as Form;
use crate::admission::{AdmissionChain, Operation};
use crate::change::{WriteAction, WritePreconditions};
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

pub(super) async fn create(request: &VerbRequest<'_>) -> Result<Response<Body>, Refusal> {
    let output = Output::of(request, Form::Object)?;
    let options = WriteOptions::create(&request.wire.query)?;
    let manager = request.manager(options.field_manager.as_deref(), "CreateOptions")?;
    let input = request.body(options.field_validation)?;
    match create_object(request, input.object, Some(&manager), options.dry_run).await {
        Err(refusal) => Err(refusal.warning(&input.warnings)),
        Ok(CreatedObject { object, put, .. }) => {
            let mut warnings = input.warnings;
            warnings.extend(request.warnings(&object, None));
            Ok(answer::with_warnings(output.written(201, request, object, put)?, &warnings))
        }
    }
}

/// A created object, before conversion to the response format.
pub(crate) struct CreatedObject {
    pub(crate) object: Value,
    pub(crate) key: Arc<str>,
    /// None for a dry run.
    pub(crate) put: Option<StoredObject>,
}

/// Creates an object in the normalized form of its kind. Without a manager the object brings its
/// managed fields.
pub(crate) async fn create_object(
    request: &ObjectRequest<'_>,
    object: Value,
    manager: Option<&str>,
    dry_run: bool,
) -> Result<CreatedObject, Refusal> {
    let generates = meta_text(&object, "name").is_empty();
    for _ in 1..if generates { NAMES } else { 1 } {
        match try_create(request, object.clone(), manager, dry_run).await {
            Err(refusal) if refusal.reason == "AlreadyExists" => {}
            other => return other,
        }
    }
    try_create(request, object, manager, dry_run).await
}

async fn try_create(
    request: &ObjectRequest<'_>,
    object: Value,
    manager: Option<&str>,
    dry_run: bool,
) -> Result<CreatedObject, Refusal> {
    let (kind, environment) = (request.kind, &request.shared.environment);
    let namespace = request.namespace();
    let mut context = Context { kind, now: environment.now(), manager, namespace, trace: request.trace };
    let uid = environment.uid();
    let new = New { uid: &uid, chance: u64::from_le_bytes(environment.bytes()) };
    let chain = AdmissionChain::of(request, Operation::Create, dry_run);
    let mut object = object;
    kind.hooks.author(&mut object, request.identity);
    let object = match &chain {
        Some(chain) => {
            // Webhooks see the generated name, unlike upstream.
            let object = strategy::named(object, new, &context);
            let entries = |object, context: &_| strategy::first_entries(object, new, context);
            // Before webhooks are called: fields that they set have no owner, as upstream.
            let (object, then) = strategy::tracked(object, context, entries);
            context = then;
            chain.mutate(object, None).await?
        }
        None => object,
    };
    let mut object = strategy::create(object, new, &context)?;
    request.may_grant(&object, None)?;
    if kind.defines_kinds {
        not_defined(&request.shared.own, &object)?;
    }
    if let Some(chain) = &chain {
        chain.validate(Some(&object), None).await?;
    }
    let name = meta_text(&object, "name").to_owned();
    let key = kind.place.key(namespace, &name);
    let mut change = request.object_write(&key, dry_run);
    change.preconditions = WritePreconditions { parents_exist: true, ..change.preconditions };
    // Otherwise the commit detects an existing object.
    let there = if dry_run { request.shared.objects.get(&key, Moment::Newest).await? } else { None };
    shallow(&object, None)?;
    let bytes = stored_bytes(kind, &object);
    let step = |there: Option<&Entry>| match there {
        Some(there) => Err(exists(kind, there, &name)),
        None => Ok(WriteAction::Put(bytes.clone())),
    };
    let revision = change.commit(there, step).await?;
    let put = revision.map(|revision| StoredObject { bytes, revision });
    if let Some(revision) = revision {
        strategy::metadata_mut(&mut object).insert("resourceVersion".into(), revision.to_string().into());
    }
    Ok(CreatedObject { object, key, put })
}

/// 409: an object of this name exists, possibly in deletion.
fn exists(kind: &Kind, there: &Entry, name: &str) -> Refusal {
    let mut refusal = already_exists(kind, name);
    if read(kind, there, there.modified).is_ok_and(|object| is_deleting(&object)) {
        refusal.message = format!("object is being deleted: {}", refusal.message);
    }
    refusal
}
