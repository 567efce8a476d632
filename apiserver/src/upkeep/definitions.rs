//! Kinds follow their definitions. A kind is served first, and said to be established then: who sees that can use it.

use std::sync::Arc;
use std::time::Duration;

use machinery_store::{Entry, Range};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::follow::Changes;
use super::writes;
use crate::crd::{self, Accepted, CLEANUP, Made, Taken, condition, set_condition};
use crate::kind::{Kind, Names, Part, Registry};
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::strategy::{is_deleting, metadata_mut};
use crate::verbs::output::read;

/// How often is looked again while objects of a kind that goes are still there.
const LOOK: Duration = Duration::from_millis(200);

/// Follows until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    let kind = native::definition();
    let mut changes = Changes::new(shared.clone(), kind.place.span(None));
    changes.next().await;
    loop {
        let waiting = pass(&shared).await.unwrap_or(true);
        if waiting {
            let _ = timeout(LOOK, changes.next()).await;
        } else {
            changes.next().await;
        }
    }
}

/// Makes the kinds those of the definitions there are, for somebody who has just written one.
pub(crate) async fn settle(shared: &Shared) -> Result<(), Refusal> {
    pass(shared).await.map(|_| ())
}

/// Makes the kinds those of the definitions there are, and says so in them. True: something is still to be done.
pub(super) async fn pass(shared: &Shared) -> Result<bool, Refusal> {
    let _one_at_a_time = shared.defining.lock().await;
    let kind = native::definition();
    let entries = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?.entries;
    let mut definitions = Vec::new();
    for entry in entries {
        let object = read(&kind, &entry, entry.modified)?;
        definitions.push((entry, object));
    }
    // Of two that want the same name, the older one has it.
    definitions.sort_by_key(|(entry, _)| entry.created);
    let there: Vec<Arc<Kind>> = native::kinds().chain(shared.own.iter().cloned()).collect();
    let plans = plan(&there, &definitions);
    let made = plans.iter().flat_map(|plan| &plan.made.served);
    let kinds = there.iter().chain(made).cloned();
    shared.registry.swap(Arc::new(Registry::new(kinds, Some(&shared.kinds()))));
    let mut waiting = false;
    for ((entry, object), plan) in definitions.iter().zip(&plans) {
        tell(shared, &kind, entry, object, plan).await?;
        if is_deleting(object) {
            waiting |= clean(shared, &kind, entry, object, plan).await?;
        }
    }
    Ok(waiting)
}

/// What one definition comes to.
struct Plan {
    accepted: Accepted,
    made: Made,
}

/// `there` are the kinds that need no definition: nobody has their names.
fn plan(there: &[Arc<Kind>], definitions: &[(Arc<Entry>, Value)]) -> Vec<Plan> {
    let group = |object: &Value| object["spec"]["group"].as_str().unwrap_or_default().to_owned();
    let had = |object: &Value| crd::names(&object["status"]["acceptedNames"]);
    let mut taken = Taken::default();
    there.iter().for_each(|kind| taken.note(NOBODY, &kind.group, &kind.names));
    for (at, (_, object)) in definitions.iter().enumerate() {
        taken.note(at, &group(object), &had(object));
    }
    let plan = |(at, (_, object)): (usize, &(Arc<Entry>, Value))| {
        let wanted = crd::names(&object["spec"]["names"]);
        let accepted = taken.accept(at, &group(object), &wanted, &had(object));
        let serves = accepted.conflict.is_none() || condition(object, "Established") == Some("True");
        // One that was stored is whole: it was held against the same rules.
        let made = serves.then(|| crd::kinds(object, &accepted.names).unwrap_or_default());
        Plan { accepted, made: made.unwrap_or_default() }
    };
    definitions.iter().enumerate().map(plan).collect()
}

/// Whose the names are of kinds that need no definition.
const NOBODY: usize = usize::MAX;

/// Of kinds that the program brings, one whose names another has, or a kind that is always there.
pub(super) fn clash(own: &[Arc<Kind>]) -> Option<String> {
    let mut taken = Taken::default();
    native::kinds().for_each(|kind| taken.note(NOBODY, &kind.group, &kind.names));
    let clashes = |(at, kind): &(usize, &Arc<Kind>)| {
        taken.accept(*at, &kind.group, &kind.names, &Names::default()).conflict.is_some()
    };
    own.iter().enumerate().find(clashes).map(|(_, kind)| kind.resource())
}

/// Says in the definition what has become of it.
async fn tell(
    shared: &Shared,
    kind: &Kind,
    entry: &Arc<Entry>,
    object: &Value,
    plan: &Plan,
) -> Result<(), Refusal> {
    let now = shared.world.time();
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
    writes::update(shared, kind, entry, Part::Status, told).await
}

fn accepted(names: &Names) -> Value {
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

/// Deletes the objects of a kind whose definition goes, and lets the definition go after them. True: some are still there.
async fn clean(
    shared: &Shared,
    kind: &Kind,
    entry: &Arc<Entry>,
    object: &Value,
    plan: &Plan,
) -> Result<bool, Refusal> {
    let holds =
        object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|one| one == CLEANUP));
    if !holds {
        return Ok(false);
    }
    if let Some(of) = &plan.made.stored {
        let left = shared.objects.list(Range::of(of.place.span(None)), Moment::Newest).await?.entries;
        for entry in &left {
            writes::delete(shared, of, entry).await?;
        }
        if !left.is_empty() {
            return Ok(true);
        }
    }
    writes::update(shared, kind, entry, Part::Main, |object| {
        let metadata = metadata_mut(object);
        if let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
            finalizers.retain(|finalizer| finalizer != CLEANUP);
        }
    })
    .await?;
    Ok(false)
}
