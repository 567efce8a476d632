//! Update and patch.

use http::Response;
use http::header::CONTENT_TYPE;
use machinery_objects::Revision;
use machinery_store::{Entry, Value as Bytes};
use serde_json::Value;

use super::input::Input;
use super::output::{Output, Put, read, stored_bytes};
use super::{Job, Matter, apply};
use crate::accept::EndpointKind;
use crate::admission::{Asking, Operation, ROUNDS};
use crate::change::{Write, never};
use crate::http::{Body, answer};
use crate::json::shallow;
use crate::kind::Subresource;
use crate::patch::{Patch, PatchKind};
use crate::refusal::Refusal;
use crate::request::WriteOptions;
use crate::storage::Moment;
use crate::strategy::{self, Context, Step, metadata_mut, not_found};

pub(super) async fn replace(job: &Job<'_>) -> Result<Response<Body>, Refusal> {
    let options = WriteOptions::update(&job.asked.query)?;
    let manager = job.manager(options.field_manager.as_deref(), "UpdateOptions")?;
    let Input { object, warnings } = job.body(options.field_validation)?;
    let output = Output::of(job, EndpointKind::Object)?;
    let mut first = Some(object);
    let step = |_: &Value| match first.take() {
        Some(object) => Ok(object),
        None => Ok(job.body(options.field_validation)?.object), // another write was first
    };
    let mut changed = change(job, Some(&manager), options.dry_run, true, step)
        .await
        .map_err(|refusal| refusal.warning(&warnings))?;
    changed.warnings.splice(..0, warnings);
    changed.answer(job, &output)
}

pub(super) async fn patch(job: &Job<'_>) -> Result<Response<Body>, Refusal> {
    if apply::is_asked(job) {
        return apply::apply(job).await;
    }
    let kind = patch_kind(job)?;
    let options = WriteOptions::patch(&job.asked.query)?;
    let manager = job.manager(options.field_manager.as_deref(), "PatchOptions")?;
    let (patch, problems) = Patch::read(kind, &job.asked.body)?;
    let output = Output::of(job, EndpointKind::Object)?;
    let mut warnings = Vec::new();
    let step = |old: &Value| {
        let patched = patch.apply(old, job.kind.patched_by())?;
        let input = job.patched(patched, problems.clone(), options.field_validation)?;
        warnings = input.warnings;
        Ok(input.object)
    };
    let mut changed = change(job, Some(&manager), options.dry_run, false, step).await?;
    changed.warnings.append(&mut warnings);
    changed.answer(job, &output)
}

/// Returns the patch format of the body.
pub(super) fn patch_kind(job: &Job<'_>) -> Result<PatchKind, Refusal> {
    PatchKind::from_content_type(job.asked.header(CONTENT_TYPE).unwrap_or_default(), job.kind.built_in)
}

/// An updated object.
pub(crate) struct Changed {
    pub(crate) object: Value,
    /// The revision of the object or of its deletion. None for a dry run.
    pub(crate) revision: Option<Revision>,
    /// The stored bytes, if the object was written.
    put: Option<Bytes>,
    /// Whether the update removed the last finalizer and thereby deleted the object.
    pub(crate) is_gone: bool,
    pub(crate) warnings: Vec<String>,
}

impl Changed {
    pub(super) fn answer(mut self, job: &Job<'_>, output: &Output) -> Result<Response<Body>, Refusal> {
        self.warnings.dedup();
        let put = self.put.zip(self.revision).map(|(bytes, revision)| Put { bytes, revision });
        Ok(answer::with_warnings(output.written(200, job, self.object, put)?, &self.warnings))
    }
}

/// Updates an object to the result of `next`. Without a manager the result brings its managed
/// fields. A patch without resourceVersion is applied again after a conflict.
pub(crate) async fn change(
    matter: &Matter<'_>,
    manager: Option<&str>,
    dry_run: bool,
    whole: bool,
    mut next: impl FnMut(&Value) -> Result<Value, Refusal>,
) -> Result<Changed, Refusal> {
    let key = matter.key();
    let mut entry = matter.shared.objects.get(&key, Moment::Newest).await?;
    let (now, namespace) = (matter.shared.world.now(), matter.namespace());
    let context = Context { kind: matter.kind, now, manager, namespace, trace: matter.trace };
    let there = |there: Option<&Entry>| {
        let there = there.ok_or_else(|| not_found(matter.kind, matter.name()))?;
        read(matter.kind, there, there.modified)
    };
    let work = |new: Value, old: Value| worked(matter, new, old, whole, &context);
    let change = matter.change(&key, dry_run);
    let Some(asking) = Asking::of(matter, Operation::Update, dry_run) else {
        let mut done = None;
        let step = |entry: Option<&Entry>| {
            let old = there(entry)?;
            let made = work(next(&old)?, old)?;
            Ok(done.insert(made).write.clone())
        };
        let revision = change.make(entry, step).await?;
        return Ok(done.map(|made| made.changed(revision)).expect("a change is made by its step"));
    };
    for _ in 0..ROUNDS {
        let old = there(entry.as_deref())?;
        let new = strategy::placed(next(&old)?, &context);
        let (new, context) = match matter.part {
            // For `scale` admission sees and changes the `Scale`.
            Subresource::Scale => (new, context),
            part => {
                strategy::tracked(new, context, |new, context| strategy::entries(new, &old, part, context))
            }
        };
        let new = asking.mutate(new, Some(&old)).await?;
        let made = worked(matter, new, old.clone(), whole, &context)?;
        asking.validate(Some(&made.object), Some(&old)).await?;
        if let Some(revision) = change.make_if_still(entry, &made.write).await? {
            return Ok(made.changed(revision));
        }
        entry = matter.shared.objects.get(&key, Moment::Newest).await?;
    }
    Err(never())
}

/// A computed update.
struct Worked {
    object: Value,
    write: Write,
    warnings: Vec<String>,
}

fn worked(
    matter: &Matter<'_>,
    new: Value,
    old: Value,
    whole: bool,
    context: &Context<'_>,
) -> Result<Worked, Refusal> {
    let (step, mut warnings) = strategy::update(new, &old, matter.part, whole, context)?;
    if let Step::Put(new) | Step::Delete(new) = &step {
        matter.may_grant(new, Some(&old))?;
        warnings.extend(matter.warnings(new, Some(&old)));
    }
    let (object, write) = match step {
        Step::Keep => (old, Write::Keep),
        Step::Put(new) => {
            shallow(&new, Some(&old))?;
            let bytes = stored_bytes(matter.kind, &new);
            (new, Write::Put(bytes))
        }
        Step::Delete(new) => (new, Write::Delete),
    };
    Ok(Worked { object, write, warnings })
}

impl Worked {
    fn changed(self, revision: Option<Revision>) -> Changed {
        let Self { mut object, write, warnings } = self;
        let is_gone = matches!(write, Write::Delete);
        // An object deleted with its last finalizer is returned in its last stored state.
        if let Some(revision) = revision.filter(|_| !is_gone) {
            metadata_mut(&mut object).insert("resourceVersion".into(), revision.to_string().into());
        }
        let put = if let Write::Put(bytes) = write { Some(bytes) } else { None };
        Changed { object, revision, put, is_gone, warnings }
    }
}
