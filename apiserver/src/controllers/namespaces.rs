//! The namespace controller: deletes the contents of a namespace in deletion.

use std::sync::Arc;

use machinery_store::{Entry, Range};
use serde_json::Value;

use super::namespace_conditions::Remaining;
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
        if is_deleting(&object) && !empty(shared, kind, &entry, &object).await? {
            waiting.push(meta_text(&object, "name").to_owned());
        }
    }
    Ok(waiting)
}

/// Deletes the contents of a namespace, pods before all else, and then removes its finalizer.
/// False: some are left, and the conditions of the namespace name them.
async fn empty(shared: &Shared, kind: &Kind, entry: &Arc<Entry>, object: &Value) -> Result<bool, Refusal> {
    let registry = shared.kinds();
    let contents = NamespaceContents { shared, namespace: entry, name: meta_text(object, "name") };
    let mut remaining = Remaining::default();
    let namespaced = || registry.storage_versions().filter(|of| of.namespaced);
    for of in namespaced().filter(|of| are_pods(of)) {
        contents.delete(of, &mut remaining).await?;
    }
    if remaining.is_empty() {
        for of in namespaced().filter(|of| !are_pods(of)) {
            contents.delete(of, &mut remaining).await?;
        }
    }
    let is_empty = remaining.is_empty();
    let is_held = object["spec"]["finalizers"].as_array().is_some_and(|all| all.len() > 1);
    if (!is_empty || is_held) && remaining.tell(&mut object.clone(), "") {
        let now = shared.environment.time();
        let told = |object: &mut Value| {
            remaining.tell(object, &now);
        };
        writes::update(shared, kind, entry, Subresource::Status, told).await?;
        // The write of the condition triggers another run, on the current revision.
        return Ok(is_empty);
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

fn are_pods(kind: &Kind) -> bool {
    kind.built_in && kind.group.is_empty() && kind.names.plural == "pods"
}

/// The contents of a namespace in deletion.
struct NamespaceContents<'a> {
    shared: &'a Shared,
    namespace: &'a Arc<Entry>,
    name: &'a str,
}

impl NamespaceContents<'_> {
    /// Deletes all objects of a kind, and counts those that still exist.
    async fn delete(&self, of: &Kind, remaining: &mut Remaining) -> Result<(), Refusal> {
        // A recreated namespace of the same name must not be emptied.
        let also_at = Some((&self.namespace.key, self.namespace.modified));
        let there = self.list(of).await?;
        if there.is_empty() {
            return Ok(());
        }
        for entry in &there {
            writes::delete(self.shared, of, entry, DeleteMode { also_at, ..DeleteMode::default() }).await?;
        }
        for entry in self.list(of).await? {
            let object = read(of, &entry, entry.modified).unwrap_or_default();
            remaining.add(&of.group, &of.names.plural, &object["metadata"]);
        }
        Ok(())
    }

    async fn list(&self, of: &Kind) -> Result<Vec<Arc<Entry>>, Refusal> {
        let range = Range::of(of.place.span(Some(self.name)));
        Ok(self.shared.objects.list(range, Moment::Newest).await?.entries)
    }
}
