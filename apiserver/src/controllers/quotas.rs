//! The quota controller: updates `used` in statuses after deletions. Creations update it in their
//! own transaction.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery_store::{KeySpan, Range};
use tokio::time::sleep;

use super::trigger::{ChangeTrigger, RETRY_DELAY};
use super::writes;
use crate::kind::{Kind, Subresource};
use crate::native;
use crate::quota::{QuotaAmount, QuotaScopes, Quotas, Use, Watched, count, limits, tell};
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;

/// Runs until the server stops. Watches quotas and, while there are any, the objects they count.
pub(super) async fn run(shared: Arc<Shared>) {
    let kind = native::quota();
    let mut watched = Watched::new(kind.place.start(None));
    let mut changes = ChangeTrigger::new(shared.clone(), kind.place.span(None));
    let mut is_of_all = false;
    loop {
        // Empty: all namespaces.
        let mut due = BTreeSet::new();
        tokio::select! {
            biased;
            () = shared.turns.other_kinds() => due.clear(),
            () = changes.next_of(|key| note(&watched, key, &mut due)) => {}
        }
        while reconcile(&shared, &kind, &mut watched, &due).await.is_err() {
            due.clear();
            sleep(RETRY_DELAY).await;
        }
        // Without quotas no other object is watched: each write would cost an event.
        if is_of_all == watched.is_empty() {
            is_of_all = !is_of_all;
            let span = if is_of_all { KeySpan::all() } else { kind.place.span(None) };
            changes = ChangeTrigger::new(shared.clone(), span);
        }
    }
}

fn note(watched: &Watched, key: &str, due: &mut BTreeSet<String>) -> bool {
    let Some(namespace) = watched.concerned(key) else { return false };
    if !due.contains(namespace) {
        due.insert(namespace.to_owned());
    }
    true
}

/// Updates the quotas of these namespaces, or of all namespaces that have some.
async fn reconcile(
    shared: &Shared,
    kind: &Kind,
    watched: &mut Watched,
    due: &BTreeSet<String>,
) -> Result<(), Refusal> {
    if !due.is_empty() {
        for namespace in due {
            watched.set(namespace, update_namespace(shared, kind, namespace).await?);
        }
        return Ok(());
    }
    watched.clear();
    let listed = shared.objects.list(Range::of(kind.place.span(None)), Moment::Newest).await?;
    let namespaces: BTreeSet<&str> =
        listed.entries.iter().filter_map(|entry| kind.place.names(&entry.key).0).collect();
    for namespace in namespaces {
        watched.set(namespace, update_namespace(shared, kind, namespace).await?);
    }
    Ok(())
}

/// Updates the quotas of a namespace. Returns the key prefixes of the kinds that they count.
///
/// A quota that was written meanwhile is skipped, since its change triggers another run.
async fn update_namespace(
    shared: &Shared,
    kind: &Kind,
    namespace: &str,
) -> Result<BTreeSet<Arc<str>>, Refusal> {
    let quotas = Quotas::of(shared, namespace).await?;
    let registry = shared.kinds();
    let mut counted = BTreeSet::new();
    for quota in &quotas.all {
        let mut uses = Vec::new();
        let scopes = QuotaScopes::of(&quota.object);
        for limit in limits(&quota.object) {
            let Some(of) = registry.in_namespaces(limit.what.group, limit.what.plural) else { continue };
            let view = shared.view(of, Some(quotas.at)).await?;
            let used = count(of, &view, namespace, &limit, &scopes, u64::MAX);
            uses.push(Use { limit, used, requested: QuotaAmount::ZERO });
            counted.insert(of.place.start(None));
        }
        if tell(&mut quota.object.clone(), &uses) {
            let told = |object: &mut _| {
                tell(object, &uses);
            };
            writes::update(shared, kind, &quota.entry, Subresource::Status, told).await?;
        }
    }
    Ok(counted)
}
