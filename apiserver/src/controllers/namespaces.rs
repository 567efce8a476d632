//! The namespace controller: deletes the contents of a namespace in deletion.

use std::sync::Arc;

use machinery_store::{Entry, Range};
use serde_json::Value;

use super::trigger::RescanTrigger;
use super::writes::{self, DeleteMode};
use crate::kind::{Kind, Subresource};
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::strategy::{is_deleting, meta_text};
use crate::verbs::output::read;

/// Runs until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    let kind = native::namespace();
    let mut follow = RescanTrigger::new(&shared, kind.place.span(None)).await;
    loop {
        let waiting = reconcile(&shared, &kind).await;
        follow.next(waiting, |namespace, key| key.split('/').nth(2) == Some(namespace)).await;
    }
}

/// Returns the namespaces in deletion that still have contents.
async fn reconcile(shared: &Shared, kind: &Kind) -> Result<Vec<String>, Refusal> {
    let entries = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?.entries;
    let mut waiting = Vec::new();
    for entry in entries {
        let Ok(object) = read(kind, &entry, entry.modified) else { continue };
        if is_deleting(&object) && !empty(shared, kind, &entry, meta_text(&object, "name")).await? {
            waiting.push(meta_text(&object, "name").to_owned());
        }
    }
    Ok(waiting)
}

/// Deletes the contents of a namespace and then removes its finalizer. False: some are left.
async fn empty(shared: &Shared, kind: &Kind, entry: &Arc<Entry>, name: &str) -> Result<bool, Refusal> {
    let registry = shared.kinds();
    // A recreated namespace of the same name must not be emptied.
    let also_at = Some((&entry.key, entry.modified));
    let mut is_empty = true;
    for of in registry.storage_versions().filter(|of| of.namespaced) {
        let left = shared.objects.list(Range::of(of.place.span(Some(name))), Moment::Newest).await?.entries;
        is_empty &= left.is_empty();
        for entry in &left {
            writes::delete(shared, of, entry, DeleteMode { also_at, ..DeleteMode::default() }).await?;
        }
    }
    if is_empty {
        let finalized = |object: &mut Value| {
            if let Some(finalizers) = object["spec"]["finalizers"].as_array_mut() {
                finalizers.retain(|finalizer| finalizer != "kubernetes");
            }
        };
        writes::update(shared, kind, entry, Subresource::Finalize, finalized).await?;
    }
    Ok(is_empty)
}
