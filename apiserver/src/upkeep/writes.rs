//! Writes of the server's own, which go the way that those of clients go.

use std::sync::Arc;

use machinery_store::Entry;
use serde_json::Value;

use crate::kind::{Kind, Part};
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::{Lost, Write};
use crate::strategy::{self, Context, Deletion, Step};
use crate::verbs::output::{read, stored_bytes};

/// Under which name the server manages fields.
const MANAGER: &str = "machinery";

/// Changes one part of an object, which may be gone by then: that is fine.
pub(super) async fn update(
    shared: &Shared,
    kind: &Kind,
    entry: &Arc<Entry>,
    part: Part,
    mut change: impl FnMut(&mut Value),
) -> Result<(), Refusal> {
    let namespace = namespace(kind, entry);
    let context =
        Context { kind, now: shared.world.now(), manager: MANAGER, namespace: namespace.as_deref() };
    let step = |there: Option<&Entry>| {
        let Some(there) = there else { return Ok(Write::Keep) };
        let old = read(kind, there, there.modified)?;
        let mut new = old.clone();
        change(&mut new);
        Ok(written(strategy::update(new, &old, part, true, &context)?, kind))
    };
    done(shared, entry, step).await
}

/// Deletes an object, if it is still the one that it was.
pub(super) async fn delete(shared: &Shared, kind: &Kind, entry: &Arc<Entry>) -> Result<(), Refusal> {
    let namespace = namespace(kind, entry);
    let context =
        Context { kind, now: shared.world.now(), manager: MANAGER, namespace: namespace.as_deref() };
    let uid = read(kind, entry, entry.modified).ok();
    let uid = uid.map(|object| strategy::meta_text(&object, "uid").to_owned());
    let deletion = Deletion { uid, ..Deletion::default() };
    let step = |there: Option<&Entry>| {
        let Some(there) = there else { return Ok(Write::Keep) };
        let old = read(kind, there, there.modified)?;
        Ok(written(strategy::delete(&old, &deletion, &context)?, kind))
    };
    match done(shared, entry, step).await {
        Err(refusal) if refusal.code == 409 => Ok(()), // another one has its name by now
        done => done,
    }
}

/// Where an object is, by its key.
pub(super) fn namespace(kind: &Kind, entry: &Entry) -> Option<String> {
    let below = entry.key.strip_prefix(&*kind.place.start(None)).filter(|_| kind.namespaced)?;
    below.split_once('/').map(|(namespace, _)| namespace.to_owned())
}

fn written(step: Step, kind: &Kind) -> Write {
    match step {
        Step::Keep => Write::Keep,
        Step::Put(new) => Write::Put(stored_bytes(kind, &new)),
        Step::Delete(_) => Write::Delete,
    }
}

async fn done(
    shared: &Shared,
    entry: &Arc<Entry>,
    step: impl FnMut(Option<&Entry>) -> Result<Write, Refusal>,
) -> Result<(), Refusal> {
    match shared.objects.change(&entry.key, Some(entry.clone()), &[], step).await {
        Ok(_) | Err(Lost::Guard(_)) => Ok(()),
        Err(Lost::Refused(refusal)) => Err(*refusal),
    }
}
