//! Configurations of webhooks take effect when they are written.

use std::sync::Arc;

use machinery_store::{Range, Span};
use serde_json::Value;
use tokio::time::sleep;

use super::follow::{AGAIN, Changes};
use crate::admission::GROUP;
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::verbs::output::read;

/// Follows until the server stops: other servers of the store write configurations, too.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut changes = Changes::new(shared.clone(), Span::prefix(format!("{GROUP}/")));
    loop {
        changes.next().await;
        // Who is to be asked must not be passed over because the store could not be read just then.
        while pass(&shared).await.is_err() {
            sleep(AGAIN).await;
        }
    }
}

/// Makes the webhooks those of the configurations there are.
pub(super) async fn pass(shared: &Shared) -> Result<(), Refusal> {
    // Who reads later puts later what was read: nothing is put back.
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
