//! What is owned goes after its owners; what holds on to its owned ones is let go.
//!
//! The store's changes come in order, so who is there at a revision is known exactly, and by UID. What is decided of that is
//! carried out only if the object is still as it was: otherwise its change is yet to be seen, and decides anew.

use std::sync::Arc;

use machinery_store::{Change, Key, Range, Seen, Span};
use serde_json::{Map, Value};
use tokio::time::sleep;

use super::family::{Due, Family};
use super::follow::AGAIN;
use super::writes::{self, How};
use crate::kind::Part;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::strategy::metadata_mut;

/// Follows until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        if follow(&shared).await.is_err() {
            sleep(AGAIN).await;
        }
    }
}

async fn follow(shared: &Shared) -> Result<(), Refusal> {
    let mut family = Family::default();
    let listed = shared.objects.list(Range::of(Span::all()), Moment::Newest).await?;
    for entry in &listed.entries {
        family.put(entry);
    }
    let lost = |_| Refusal::new(503, "ServiceUnavailable", "the watch was lost");
    let mut watch = shared.objects.watch(Span::all(), listed.at).await.map_err(lost)?;
    drop(listed);
    for key in family.concerned() {
        settle(shared, &family, &key).await?;
    }
    loop {
        let Seen::Changes { events, .. } = watch.next().await.map_err(lost)? else { continue };
        for event in events {
            let concerned = match &event.change {
                Change::Put(entry) => family.put(entry),
                Change::Deleted(key) => family.delete(key),
            };
            for key in concerned {
                settle(shared, &family, &key).await?;
            }
        }
    }
}

/// Does what is due.
async fn settle(shared: &Shared, family: &Family, key: &Key) -> Result<(), Refusal> {
    let registry = shared.kinds();
    let Some(due) = family.due(key, |group, kind| registry.is_namespaced(group, kind)) else { return Ok(()) };
    let Some(kind) = registry.at(key) else { return Ok(()) };
    let Some(entry) = shared.objects.get(key, Moment::Newest).await? else { return Ok(()) };
    if family.revision(key) != Some(entry.modified) {
        return Ok(());
    }
    if let Due::Delete(propagation) = due {
        let how = How { unchanged: true, propagation, ..How::default() };
        return writes::delete(shared, kind, &entry, how).await;
    }
    writes::update(shared, kind, &entry, Part::Main, |object| change(metadata_mut(object), &due)).await
}

fn change(metadata: &mut Map<String, Value>, due: &Due) {
    let mut list = |field: &str, each: &mut dyn FnMut(&mut Value) -> bool| {
        let Some(all) = metadata.get_mut(field).and_then(Value::as_array_mut) else { return };
        all.retain_mut(|one| each(one));
        if all.is_empty() {
            metadata.remove(field);
        }
    };
    match due {
        Due::Delete(_) => {}
        Due::Disown(uids) => {
            list("ownerReferences", &mut |owner| !uids.iter().any(|uid| owner["uid"] == **uid))
        }
        Due::Unblock => list("ownerReferences", &mut |owner| {
            owner["blockOwnerDeletion"] = false.into();
            true
        }),
        Due::Release(finalizer) => list("finalizers", &mut |one| one != finalizer),
    }
}
