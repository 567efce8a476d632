//! The verbs `update` and `patch`. A concurrent write repeats them on the newest state.

use http::Response;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use machinery_objects::Revision;
use machinery_store::{Entry, Value as Bytes};
use serde_json::Value;

use super::input::Input;
use super::output::{Output, StoredObject, read, stored_bytes};
use super::{ObjectRequest, VerbRequest, apply};
use crate::accept::EndpointKind;
use crate::admission::{AdmissionChain, MAX_ATTEMPTS, Operation};
use crate::change::{WriteAction, contended};
use crate::http::{Body, answer};
use crate::json::shallow;
use crate::kind::Subresource;
use crate::patch::{Patch, PatchKind};
use crate::refusal::Refusal;
use crate::request::WriteOptions;
use crate::storage::Moment;
use crate::strategy::{self, Context, Step, metadata_mut, not_found};

/// Marks the response to a write that changed nothing.
const UNCHANGED: HeaderName = HeaderName::from_static("machinery-unchanged");

pub(super) async fn replace(request: &VerbRequest<'_>) -> Result<Response<Body>, Refusal> {
    let options = WriteOptions::update(&request.wire.query)?;
    let manager = request.manager(options.field_manager.as_deref(), "UpdateOptions")?;
    let Input { object, warnings } = request.body(options.field_validation)?;
    let output = Output::of(request, EndpointKind::Object)?;
    // Retries are rare: they parse the body again, so that no update clones its object.
    let mut first = Some(object);
    let step = |_: &Value| match first.take() {
        Some(object) => Ok(object),
        None => Ok(request.body(options.field_validation)?.object), // retry after a conflict
    };
    let mut changed = update_object(request, Some(&manager), options.dry_run, true, step)
        .await
        .map_err(|refusal| refusal.warning(&warnings))?;
    changed.warnings.splice(..0, warnings);
    changed.answer(request, &output)
}

pub(super) async fn patch(request: &VerbRequest<'_>) -> Result<Response<Body>, Refusal> {
    if apply::is_apply(request) {
        return apply::apply(request).await;
    }
    let kind = patch_kind(request)?;
    let options = WriteOptions::patch(&request.wire.query)?;
    let manager = request.manager(options.field_manager.as_deref(), "PatchOptions")?;
    let (patch, problems) = Patch::read(kind, &request.wire.body)?;
    let output = Output::of(request, EndpointKind::Object)?;
    let mut warnings = Vec::new();
    let step = |old: &Value| {
        let patched = patch.apply(old, request.kind.patched_by())?;
        let input = request.patched(patched, problems.clone(), options.field_validation)?;
        warnings = input.warnings;
        Ok(input.object)
    };
    let mut changed = update_object(request, Some(&manager), options.dry_run, false, step).await?;
    changed.warnings.append(&mut warnings);
    changed.answer(request, &output)
}

/// Returns the patch format of the body.
pub(super) fn patch_kind(request: &VerbRequest<'_>) -> Result<PatchKind, Refusal> {
    PatchKind::from_content_type(request.wire.header(CONTENT_TYPE).unwrap_or_default(), request.kind.built_in)
}

/// The outcome of an update, before conversion to the response format.
pub(crate) struct UpdatedObject {
    pub(crate) object: Value,
    /// The revision of the object or of its deletion. None for a dry run.
    pub(crate) revision: Option<Revision>,
    /// The stored bytes, if the object was written.
    put: Option<Bytes>,
    /// Whether the update removed the last finalizer and thereby deleted the object.
    pub(crate) is_deleted: bool,
    pub(crate) warnings: Vec<String>,
}

impl UpdatedObject {
    /// Returns whether the object already was as requested, so that nothing was committed.
    pub(crate) const fn is_unchanged(&self) -> bool {
        self.put.is_none() && !self.is_deleted && self.revision.is_some()
    }

    pub(super) fn answer(
        mut self,
        request: &VerbRequest<'_>,
        output: &Output,
    ) -> Result<Response<Body>, Refusal> {
        self.warnings.dedup();
        let is_unchanged = self.is_unchanged();
        let put = self.put.zip(self.revision).map(|(bytes, revision)| StoredObject { bytes, revision });
        let mut response = output.written(200, request, self.object, put)?;
        if is_unchanged {
            // Otherwise a client takes the version of an earlier writer for its own.
            response.headers_mut().insert(UNCHANGED, HeaderValue::from_static("true"));
        }
        Ok(answer::with_warnings(response, &self.warnings))
    }
}

/// Updates an object to the result of `next`. Without a manager the result brings its managed
/// fields. A patch without resourceVersion is applied again after a conflict.
pub(crate) async fn update_object(
    request: &ObjectRequest<'_>,
    manager: Option<&str>,
    dry_run: bool,
    whole: bool,
    mut next: impl FnMut(&Value) -> Result<Value, Refusal>,
) -> Result<UpdatedObject, Refusal> {
    let key = request.key();
    let mut entry = request.shared.objects.get(&key, Moment::Newest).await?;
    let (now, namespace) = (request.shared.environment.now(), request.namespace());
    let context = Context { kind: request.kind, now, manager, namespace, trace: request.trace };
    let there = |there: Option<&Entry>| {
        let there = there.ok_or_else(|| not_found(request.kind, request.name()))?;
        read(request.kind, there, there.modified)
    };
    let work = |new: Value, old: Value| prepare(request, new, old, whole, &context);
    let change = request.object_write(&key, dry_run);
    let Some(chain) = AdmissionChain::of(request, Operation::Update, dry_run) else {
        let mut done = None;
        let step = |entry: Option<&Entry>| {
            let old = there(entry)?;
            let made = work(next(&old)?, old)?;
            Ok(done.insert(made).write.clone())
        };
        let revision = change.commit(entry, step).await?;
        return Ok(done.map(|made| made.changed(revision)).expect("a change is made by its step"));
    };
    for _ in 0..MAX_ATTEMPTS {
        let old = there(entry.as_deref())?;
        let new = strategy::placed(next(&old)?, &context);
        let (new, context) = match request.subresource {
            // For `scale` admission sees and changes the `Scale`.
            Subresource::Scale => (new, context),
            subresource => strategy::tracked(new, context, |new, context| {
                strategy::entries(new, &old, subresource, context)
            }),
        };
        let new = chain.mutate(new, Some(&old)).await?;
        let made = prepare(request, new, old.clone(), whole, &context)?;
        chain.validate(Some(&made.object), Some(&old)).await?;
        // Only over the state that webhooks reviewed: a newer one is admitted again.
        if let Some(revision) = change.commit_if_unchanged(entry, &made.write).await? {
            return Ok(made.changed(revision));
        }
        entry = request.shared.objects.get(&key, Moment::Newest).await?;
    }
    Err(contended())
}

/// The result of the update strategy, not yet committed.
struct PreparedUpdate {
    object: Value,
    write: WriteAction,
    warnings: Vec<String>,
}

fn prepare(
    request: &ObjectRequest<'_>,
    new: Value,
    old: Value,
    whole: bool,
    context: &Context<'_>,
) -> Result<PreparedUpdate, Refusal> {
    let (step, mut warnings) = strategy::update(new, &old, request.subresource, whole, context)?;
    if let Step::Put(new) | Step::Delete(new) = &step {
        request.may_grant(new, Some(&old))?;
        warnings.extend(request.warnings(new, Some(&old)));
    }
    let (object, write) = match step {
        Step::Keep => (old, WriteAction::Keep),
        Step::Put(new) => {
            shallow(&new, Some(&old))?;
            let bytes = stored_bytes(request.kind, &new);
            (new, WriteAction::Put(bytes))
        }
        Step::Delete(new) => (new, WriteAction::Delete),
    };
    Ok(PreparedUpdate { object, write, warnings })
}

impl PreparedUpdate {
    fn changed(self, revision: Option<Revision>) -> UpdatedObject {
        let Self { mut object, write, warnings } = self;
        let is_deleted = matches!(write, WriteAction::Delete);
        // An object deleted with its last finalizer is returned in its last stored state.
        if let Some(revision) = revision.filter(|_| !is_deleted) {
            metadata_mut(&mut object).insert("resourceVersion".into(), revision.to_string().into());
        }
        let put = if let WriteAction::Put(bytes) = write { Some(bytes) } else { None };
        UpdatedObject { object, revision, put, is_deleted, warnings }
    }
}
