//! Compiles webhook configurations.

use std::sync::Arc;

use machinery_store::{KeySpan, Range};
use serde_json::Value;
use tokio::time::sleep;

use super::trigger::{ChangeTrigger, RETRY_DELAY};
use crate::admission::GROUP;
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::verbs::output::read;

/// Runs until the server stops: other servers of the store write configurations, too.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut changes = ChangeTrigger::new(shared.clone(), KeySpan::prefix(format!("{GROUP}/")));
    loop {
        changes.next().await;
        // Retried until it succeeds: a new webhook must not be skipped.
        while reconcile(&shared).await.is_err() {
            sleep(RETRY_DELAY).await;
        }
    }
}

/// Rebuilds the webhooks from their configurations.
pub(super) async fn reconcile(shared: &Shared) -> Result<(), Refusal> {
    // Held while reading, so that an older list never replaces a newer one.
    let _one_at_a_time = shared.admission.compiling.lock().await;
    let (mut mutating, mut validating) = (Vec::new(), Vec::new());
    for kind in native::kinds().filter(|kind| &*kind.group == GROUP) {
        let listed = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?;
        let objects = listed.entries.iter().map(|entry| read(&kind, entry, entry.modified));
        let objects: Vec<Value> = objects.collect::<Result<_, _>>()?;
        match kind.names.kind.as_str() {
            "MutatingWebhookConfiguration" => mutating = objects,
            _ => validating = objects,
        }
    }
    shared.admission.replace(mutating, validating);
    Ok(())
}
