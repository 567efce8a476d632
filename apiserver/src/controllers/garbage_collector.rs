//! The garbage collector: deletes dependents of deleted owners, and releases owners in
//! foreground or orphan deletion.
//!
//! The owner graph follows the store's changes in order, so owners are known exactly and by UID. An
//! action is committed only if its object is unchanged; otherwise the pending change decides again.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery_store::{Change, Entry, Key, KeySpan, Range, WatchItem};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tokio::time::sleep;

use super::definitions;
use super::owner_graph::{DueAction, Owner, OwnerGraph};
use super::start::ensure;
use super::trigger::RETRY_DELAY;
use super::writes::{self, DeleteMode};
use crate::kind::{Kind, Subresource};
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::strategy::metadata_mut;

/// Runs until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        if follow(&shared).await.is_err() {
            sleep(RETRY_DELAY).await;
        }
    }
}

async fn follow(shared: &Shared) -> Result<(), Refusal> {
    let mut graph = OwnerGraph::default();
    let listed = shared.objects.list(Range::of(KeySpan::all()), Moment::Newest).await?;
    for entry in &listed.entries {
        graph.put(entry);
    }
    let lost = |_| Refusal::new(503, "ServiceUnavailable", "the watch was lost");
    let mut watch = shared.objects.watch(KeySpan::all(), listed.at).await.map_err(lost)?;
    drop(listed);
    let (definitions, mut known) = (native::definition().place.start(None), kinds(shared));
    for key in graph.candidates() {
        process(shared, &graph, &key).await?;
    }
    loop {
        let WatchItem::Changes { events, .. } = watch.next().await.map_err(lost)? else { continue };
        if events.iter().any(|event| event.key().starts_with(&*definitions)) {
            // The task of the definitions may not have seen this change yet.
            definitions::reconcile(shared).await?;
            // Owners of a kind that is now known can be checked.
            let before = std::mem::replace(&mut known, kinds(shared));
            if !known.is_subset(&before) {
                for key in graph.candidates() {
                    process(shared, &graph, &key).await?;
                }
            }
        }
        for event in events {
            let candidates = match &event.change {
                Change::Put(entry) => graph.put(entry),
                Change::Deleted(key) => graph.delete(key),
            };
            for key in candidates {
                process(shared, &graph, &key).await?;
            }
        }
    }
}

/// Returns the group and name of each served kind.
fn kinds(shared: &Shared) -> BTreeSet<(String, String)> {
    let kinds = shared.kinds();
    kinds.kinds().map(|kind| (kind.group.to_string(), kind.names.kind.clone())).collect()
}

/// Performs the next action on an object.
async fn process(shared: &Shared, graph: &OwnerGraph, key: &Key) -> Result<(), Refusal> {
    let registry = shared.kinds();
    let namespaced = |group: &str, kind: &str| registry.is_namespaced(group, kind);
    let (action, misplaced) = (graph.next_action(key, namespaced), graph.misplaced(key, namespaced));
    if action.is_none() && misplaced.is_empty() {
        return Ok(());
    }
    let Some(kind) = registry.at(key) else { return Ok(()) };
    let Some(entry) = shared.objects.get(key, Moment::Newest).await? else { return Ok(()) };
    if graph.revision(key) != Some(entry.modified) {
        return Ok(());
    }
    if let Some((uid, namespace)) = graph.place(key) {
        for owner in misplaced {
            record_event(shared, kind, &entry, (uid, namespace), owner).await?;
        }
    }
    let Some(action) = action else { return Ok(()) };
    if let DueAction::Delete(propagation) = action {
        let mode = DeleteMode { unchanged: true, propagation, ..DeleteMode::default() };
        return writes::delete(shared, kind, &entry, mode).await;
    }
    writes::update(shared, kind, &entry, Subresource::Main, |object| {
        apply_action(metadata_mut(object), &action)
    })
    .await
}

/// Creates an event for an owner reference that can never hold. Its name is a hash of both objects,
/// so that there is one event however often the reference is seen.
async fn record_event(
    shared: &Shared,
    kind: &Kind,
    entry: &Entry,
    (uid, namespace): (&str, &str),
    owner: &Owner,
) -> Result<(), Refusal> {
    let Some(events) = native::kinds().find(|kind| kind.names.kind == "Event" && kind.group.is_empty())
    else {
        return Ok(());
    };
    let (_, name) = kind.place.names(&entry.key);
    let place = if namespace.is_empty() { "default" } else { namespace };
    let digest = Sha256::digest(format!("{uid} {}", owner.uid));
    let mark = digest.iter().take(8).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    let Owner { version, kind: owner_kind, name: owner_name, uid: owner_uid, .. } = owner;
    let reference =
        format!("[{version}/{owner_kind}, namespace: {namespace}, name: {owner_name}, uid: {owner_uid}]");
    let now = shared.environment.time();
    let about = json!({
        "apiVersion": kind.api_version, "kind": kind.names.kind, "name": name, "namespace": namespace, "uid": uid,
    });
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.{mark}"), "namespace": place},
        "involvedObject": about, "reason": "OwnerRefInvalidNamespace", "type": "Warning",
        "message": format!("ownerRef {reference} does not exist in namespace {namespace:?}"),
        "source": {"component": "garbage-collector-controller"}, "reportingComponent": "garbage-collector-controller",
        "reportingInstance": "", "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    });
    match ensure(shared, &events, event).await {
        Err(refusal) if matches!(refusal.code, 503 | 504) => Err(refusal),
        // Dropped in a namespace in deletion or over its quota, as clients drop theirs.
        _ => Ok(()),
    }
}

fn apply_action(metadata: &mut Map<String, Value>, action: &DueAction) {
    let mut list = |field: &str, each: &mut dyn FnMut(&mut Value) -> bool| {
        let Some(all) = metadata.get_mut(field).and_then(Value::as_array_mut) else { return };
        all.retain_mut(|one| each(one));
        if all.is_empty() {
            metadata.remove(field);
        }
    };
    match action {
        DueAction::Delete(_) => {}
        DueAction::Disown(uids) => {
            list("ownerReferences", &mut |owner| !uids.iter().any(|uid| owner["uid"] == **uid))
        }
        DueAction::Unblock => list("ownerReferences", &mut |owner| {
            owner["blockOwnerDeletion"] = false.into();
            true
        }),
        DueAction::Release(finalizer) => list("finalizers", &mut |one| one != finalizer),
    }
}
