//! Serves kinds by their CustomResourceDefinitions. A kind is served before its definition is
//! marked as established, so that a client that sees the condition can use it.

use std::sync::Arc;

use machinery_store::{Entry, Range};
use serde_json::{Value, json};

use super::plans::{DefinitionPlan, plan};
use super::trigger::RescanTrigger;
use super::writes::{self, DeleteMode};
use crate::crd::{CLEANUP, CONFORMANT, approval_condition, condition, drop_condition, set_condition};
use crate::kind::{Kind, KindNames, Registry, Subresource};
use crate::long_work::run_long;
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::strategy::{is_deleting, metadata_mut};
use crate::verbs::output::read;

/// Runs until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    let kind = native::definition();
    let mut follow = RescanTrigger::new(&shared, kind.place.span(None)).await;
    loop {
        let waiting = reconcile(&shared).await;
        follow.next(waiting, |place, key| key.starts_with(&**place)).await;
    }
}

/// Rebuilds the registry from the definitions and writes their statuses. Returns the key prefixes
/// of definitions in deletion that still have objects.
pub(super) async fn reconcile(shared: &Shared) -> Result<Vec<Arc<str>>, Refusal> {
    let mut known = shared.definitions.lock().await;
    let kind = native::definition();
    let listed = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?;
    let mut definitions = Vec::new();
    for entry in listed.entries {
        let object = read(&kind, &entry, entry.modified)?;
        definitions.push((entry, object));
    }
    // The oldest definition gets a disputed name.
    definitions.sort_by_key(|(entry, _)| entry.created);
    let there: Vec<Arc<Kind>> = native::kinds().chain(shared.own.iter().cloned()).collect();
    let (plans, replaced) = run_long(|| plan(&there, &definitions, &mut known));
    let made = || plans.iter().map(|plan| &plan.made);
    let kinds = there.iter().chain(made().flat_map(|made| &made.served)).cloned();
    let stored = made().flat_map(|made| made.stored.clone());
    let registry = Registry::new(kinds, stored, Some(&shared.kinds()));
    // Watchers of a replaced kind receive its last event before anything of the new kind is
    // written.
    for replaced in replaced {
        let _ = replaced.set(listed.at);
    }
    shared.registry.swap(Arc::new(registry));
    shared.registry_changes.send_modify(|changes| *changes += 1);
    shared.turns.kinds_changed();
    let mut waiting = Vec::new();
    for ((entry, object), plan) in definitions.iter().zip(&plans) {
        update_status(shared, &kind, entry, object, plan).await?;
        if is_deleting(object) {
            waiting.extend(delete_instances(shared, &kind, entry, object, plan).await?);
        }
    }
    Ok(waiting)
}

/// The condition of a stored definition that would now be refused.
const WRONG: &str = "NonStructuralSchema";

/// Limit of the violations in a condition.
const MAX_VIOLATIONS: usize = 10;

/// Writes the conditions and accepted names.
async fn update_status(
    shared: &Shared,
    kind: &Kind,
    entry: &Arc<Entry>,
    object: &Value,
    plan: &DefinitionPlan,
) -> Result<(), Refusal> {
    let now = shared.environment.time();
    let told = |object: &mut Value| {
        object["status"]["acceptedNames"] = accepted(&plan.accepted.names);
        match &plan.accepted.conflict {
            Some((reason, message)) => {
                set_condition(object, "NamesAccepted", "False", reason, message, &now);
                if condition(object, "Established") != Some("True") {
                    let message = "not all names are accepted";
                    set_condition(object, "Established", "False", "NotAccepted", message, &now);
                }
            }
            None => {
                let message = "no conflicts found";
                set_condition(object, "NamesAccepted", "True", "NoConflicts", message, &now);
                let message = "the initial names have been accepted";
                set_condition(object, "Established", "True", "InitialNamesAccepted", message, &now);
            }
        }
        if let Some((status, reason, message)) = approval_condition(object) {
            set_condition(object, CONFORMANT, status, reason, &message, &now);
        }
        match plan.made.wrong.as_slice() {
            [] => drop_condition(object, WRONG),
            wrong => {
                let told: Vec<_> = wrong.iter().take(MAX_VIOLATIONS).map(ToString::to_string).collect();
                set_condition(object, WRONG, "True", "Violations", &told.join(", "), &now);
            }
        }
        if is_deleting(object) {
            let message = "CustomResource deletion is in progress";
            set_condition(object, "Terminating", "True", "InstanceDeletionInProgress", message, &now);
        }
    };
    let mut after = object.clone();
    told(&mut after);
    if after == *object {
        return Ok(());
    }
    writes::update(shared, kind, entry, Subresource::Status, told).await
}

fn accepted(names: &KindNames) -> Value {
    let mut accepted = json!({"kind": names.kind, "plural": names.plural});
    for (field, text) in [("listKind", &names.list_kind), ("singular", &names.singular)] {
        if !text.is_empty() {
            accepted[field] = text.as_str().into();
        }
    }
    for (field, texts) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        if !texts.is_empty() {
            accepted[field] = json!(texts);
        }
    }
    accepted
}

/// Deletes the objects of a definition in deletion and then removes its finalizer. Returns the key
/// prefix if objects are left.
async fn delete_instances(
    shared: &Shared,
    kind: &Kind,
    entry: &Arc<Entry>,
    object: &Value,
    plan: &DefinitionPlan,
) -> Result<Option<Arc<str>>, Refusal> {
    let holds =
        object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|one| one == CLEANUP));
    if !holds {
        return Ok(None);
    }
    if let Some(of) = &plan.made.stored {
        let left = shared.objects.list(Range::of(of.place.span(None)), Moment::Newest).await?.entries;
        for entry in &left {
            writes::delete(shared, of, entry, DeleteMode::default()).await?;
        }
        if !left.is_empty() {
            return Ok(Some(of.place.start(None)));
        }
    }
    // If the status was written just now, the entry is outdated; the next run removes the
    // finalizer.
    writes::update(shared, kind, entry, Subresource::Main, |object| {
        let metadata = metadata_mut(object);
        if let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
            finalizers.retain(|finalizer| finalizer != CLEANUP);
        }
    })
    .await?;
    Ok(None)
}
