//! Compiles RBAC policy from roles and bindings, and writes the rules of aggregated ClusterRoles.

use std::sync::Arc;

use machinery_store::{KeySpan, Range};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::trigger::{ChangeTrigger, RETRY_DELAY};
use super::writes;
use crate::auth::rbac::{GROUP, RbacPolicy};
use crate::kind::Subresource;
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::strategy::meta_text;
use crate::verbs::output::read;

/// Runs until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut changes = ChangeTrigger::new(shared.clone(), KeySpan::prefix(format!("{GROUP}/")));
    loop {
        changes.next().await;
        // Retried until it succeeds: a revoked permission must not stay in effect.
        while reconcile(&shared).await.is_err() {
            sleep(RETRY_DELAY).await;
        }
    }
}

/// Rebuilds the policy.
pub(super) async fn reconcile(shared: &Shared) -> Result<(), Refusal> {
    let Some(rules) = &shared.rules else { return Ok(()) };
    let (mut objects, mut gathering): (Vec<Value>, _) = (Vec::new(), Vec::new());
    for kind in native::kinds().filter(|kind| &*kind.group == GROUP) {
        let listed = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?;
        for entry in listed.entries {
            let object = read(&kind, &entry, entry.modified)?;
            if object["aggregationRule"].is_object() {
                gathering.push((kind.clone(), entry, objects.len()));
            }
            objects.push(object);
        }
    }
    let compiled = Arc::new(RbacPolicy::compile(&objects));
    rules.swap(compiled.clone());
    for (kind, entry, at) in gathering {
        let object = &objects[at];
        let gathered = compiled.of_cluster_role(meta_text(object, "name")).unwrap_or_else(|| json!([]));
        let said = object["rules"].as_array().map_or(&[][..], Vec::as_slice);
        if gathered.as_array().is_some_and(|gathered| gathered != said) {
            writes::update(shared, &kind, &entry, Subresource::Main, |role| role["rules"] = gathered.clone())
                .await?;
        }
    }
    Ok(())
}
