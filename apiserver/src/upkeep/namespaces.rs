//! Namespaces that go take what is in them along.

use std::sync::Arc;
use std::time::Duration;

use machinery_store::{Entry, Range};
use serde_json::Value;
use tokio::time::timeout;

use super::follow::Changes;
use super::writes;
use crate::kind::{Kind, Part};
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::strategy::{is_deleting, meta_text};
use crate::verbs::output::read;

/// How often is looked again while something is still in a namespace that goes.
const LOOK: Duration = Duration::from_millis(200);

/// Follows until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    let kind = native::namespace();
    let mut changes = Changes::new(shared.clone(), kind.place.span(None));
    changes.next().await;
    loop {
        if pass(&shared, &kind).await.unwrap_or(true) {
            let _ = timeout(LOOK, changes.next()).await;
        } else {
            changes.next().await;
        }
    }
}

/// True: something is still to be done.
async fn pass(shared: &Shared, kind: &Kind) -> Result<bool, Refusal> {
    let entries = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?.entries;
    let mut waiting = false;
    for entry in entries {
        let object = read(kind, &entry, entry.modified)?;
        if is_deleting(&object) {
            waiting |= !empty(shared, kind, &entry, &object).await?;
        }
    }
    Ok(waiting)
}

/// Deletes all that is in a namespace, and lets it go after that. False: something is still there.
async fn empty(shared: &Shared, kind: &Kind, entry: &Arc<Entry>, object: &Value) -> Result<bool, Refusal> {
    let name = meta_text(object, "name");
    let registry = shared.kinds();
    let mut is_empty = true;
    for of in registry.homes().filter(|of| of.namespaced) {
        let left = shared.objects.list(Range::of(of.place.span(Some(name))), Moment::Newest).await?.entries;
        is_empty &= left.is_empty();
        for entry in &left {
            writes::delete(shared, of, entry).await?;
        }
    }
    if is_empty {
        let finalized = |object: &mut Value| {
            if let Some(finalizers) = object["spec"]["finalizers"].as_array_mut() {
                finalizers.retain(|finalizer| finalizer != "kubernetes");
            }
        };
        writes::update(shared, kind, entry, Part::Finalize, finalized).await?;
    }
    Ok(is_empty)
}
