//! Roles and bindings take effect when they are written.

use std::sync::Arc;

use machinery_store::{Range, Span};
use serde_json::Value;
use tokio::time::sleep;

use super::follow::{AGAIN, Changes};
use crate::auth::rbac::{GROUP, Rules};
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::verbs::output::read;

/// Follows until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut changes = Changes::new(shared.clone(), Span::prefix(format!("{GROUP}/")));
    loop {
        changes.next().await;
        // What was taken from somebody must not stay theirs because the store could not be read just then.
        while pass(&shared).await.is_err() {
            sleep(AGAIN).await;
        }
    }
}

/// Makes the rules those of the roles and bindings there are.
pub(super) async fn pass(shared: &Shared) -> Result<(), Refusal> {
    let Some(rules) = &shared.rules else { return Ok(()) };
    let mut objects: Vec<Value> = Vec::new();
    for kind in native::kinds().filter(|kind| &*kind.group == GROUP) {
        let listed = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?;
        for entry in listed.entries {
            objects.push(read(&kind, &entry, entry.modified)?);
        }
    }
    rules.swap(Arc::new(Rules::compile(&objects)));
    Ok(())
}
