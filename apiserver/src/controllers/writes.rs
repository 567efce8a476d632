//! Writes of the controllers, through the same path as those of clients.

use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::{Entry, Key};
use serde_json::Value;

use crate::change::{ObjectWrite, WriteAction, WriteOrigin, WritePreconditions};
use crate::kind::{Kind, Subresource};
use crate::refusal::Refusal;
use crate::request::Propagation;
use crate::server::Shared;
use crate::strategy::{self, Context, Deletion, Step};
use crate::verbs::output::{read, stored_bytes};

/// The field manager of the server.
const MANAGER: &str = "machinery";

/// Updates a subresource of an object if it is unchanged since it was read; otherwise its next
/// change triggers another run.
pub(super) async fn update(
    shared: &Shared,
    kind: &Kind,
    entry: &Arc<Entry>,
    subresource: Subresource,
    mut change: impl FnMut(&mut Value),
) -> Result<(), Refusal> {
    let namespace = namespace(kind, entry);
    let context = Context {
        kind,
        now: shared.environment.now(),
        manager: Some(MANAGER),
        namespace: namespace.as_deref(),
        trace: None,
    };
    let step = |there: Option<&Entry>| {
        let Some(there) = there.filter(|there| there.modified == entry.modified) else {
            return Ok(WriteAction::Keep);
        };
        let old = read(kind, there, there.modified)?;
        let mut new = old.clone();
        change(&mut new);
        Ok(written(strategy::update(new, &old, subresource, true, &context)?.0, kind))
    };
    done(shared, kind, entry, None, step).await
}

/// Conditions of a deletion.
#[derive(Clone, Copy, Default)]
pub(super) struct DeleteMode<'a> {
    /// Requires the same revision, not only the same object.
    pub(super) unchanged: bool,
    pub(super) propagation: Option<Propagation>,
    /// Requires that this key is still at this revision.
    pub(super) also_at: Option<(&'a Key, Revision)>,
}

/// Deletes an object.
pub(super) async fn delete(
    shared: &Shared,
    kind: &Kind,
    entry: &Arc<Entry>,
    mode: DeleteMode<'_>,
) -> Result<(), Refusal> {
    let namespace = namespace(kind, entry);
    let context = Context {
        kind,
        now: shared.environment.now(),
        manager: Some(MANAGER),
        namespace: namespace.as_deref(),
        trace: None,
    };
    let deletion = Deletion { propagation: mode.propagation, ..Deletion::default() };
    let step = |there: Option<&Entry>| {
        // Another object may have the name by now.
        let same = |there: &&Entry| match mode.unchanged {
            true => there.modified == entry.modified,
            false => there.created == entry.created,
        };
        let Some(there) = there.filter(same) else { return Ok(WriteAction::Keep) };
        let old = read(kind, there, there.modified)?;
        Ok(written(strategy::delete(&old, &deletion, &context)?, kind))
    };
    done(shared, kind, entry, mode.also_at, step).await
}

/// Returns the namespace of an object by its key.
pub(super) fn namespace(kind: &Kind, entry: &Entry) -> Option<String> {
    let below = entry.key.strip_prefix(&*kind.place.start(None)).filter(|_| kind.namespaced)?;
    below.split_once('/').map(|(namespace, _)| namespace.to_owned())
}

fn written(step: Step, kind: &Kind) -> WriteAction {
    match step {
        Step::Keep => WriteAction::Keep,
        Step::Put(new) => WriteAction::Put(stored_bytes(kind, &new)),
        Step::Delete(_) => WriteAction::Delete,
    }
}

/// Ignores refusals; only errors of the store are returned.
async fn done(
    shared: &Shared,
    kind: &Kind,
    entry: &Arc<Entry>,
    also_at: Option<(&Key, Revision)>,
    step: impl FnMut(Option<&Entry>) -> Result<WriteAction, Refusal>,
) -> Result<(), Refusal> {
    let preconditions = WritePreconditions { also_at, ..WritePreconditions::default() };
    // Without admission: a webhook that is down must not prevent clean-up.
    let origin = WriteOrigin::Controller;
    let change = ObjectWrite { shared, kind, key: &entry.key, preconditions, origin, dry_run: false };
    match change.commit(Some(entry.clone()), step).await {
        Err(refusal) if matches!(refusal.code, 503 | 504 | 507) => Err(refusal),
        _ => Ok(()),
    }
}
