//! Enforces quotas: adds to a change the conditions and status updates of its namespace's quotas.

use machinery_store::{Condition, Entry, Operation, Value as Bytes};
use serde_json::Value;

use super::charge::QuotaCharge;
use super::read::{Quota, QuotaRecord, Quotas};
use super::turn::Turn;
use super::used::{Use, exceeded, raise, recorded_usage};
use super::{Limit, Measure, MeasuredKind, QuotaScopes, count, is_about, limits};
use crate::change::{KindView, ObjectWrite, WriteAction};
use crate::kind::{Kind, Subresource};
use crate::native;
use crate::refusal::Refusal;
use crate::storage::Stored;
use crate::strategy::{self, Context, Step, forbidden, meta_text};
use crate::verbs::output::{read, stored_bytes};

/// The field manager of quota status updates.
const MANAGER: &str = "machinery";

/// The additional operations and conditions of a change, and its turn.
#[derive(Default)]
pub(crate) struct Held<'a> {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) turn: Option<Turn<'a>>,
}

/// Enforces the quotas of a namespace on a change: a creation, or an update of a kind that requests
/// resources. Only changes of quotas notify the quota controller.
///
/// # Errors
/// A quota is exceeded, or requires resources that the object does not specify.
pub(crate) async fn hold<'a>(
    change: &ObjectWrite<'a>,
    there: Option<&Entry>,
    write: &WriteAction,
) -> Result<Held<'a>, Refusal> {
    let (namespace, _) = change.names();
    let Some(namespace) = namespace.filter(|_| change.kind.namespaced) else { return Ok(Held::default()) };
    let is_quota = is_quota(change.kind);
    match (there, write) {
        (_, WriteAction::Keep) => Ok(Held::default()),
        (None, WriteAction::Put(new)) => made(change, namespace, is_quota, new).await,
        // Not for a status: no limit changes, and a new record fails concurrent creations.
        (Some(there), WriteAction::Put(new)) if is_quota && wants_else(change, there, new)? => {
            Ok(Held { operations: vec![QuotaRecord::put(namespace)], ..Held::default() })
        }
        (Some(there), WriteAction::Put(new)) => match MeasuredKind::of(change.kind) {
            Some(kind) => updated(change, namespace, kind, there, new).await,
            // Its number is unchanged.
            None => Ok(Held::default()),
        },
        (_, WriteAction::Delete) if is_quota => ended(change, namespace).await,
        (_, WriteAction::Delete) => Ok(Held::default()),
    }
}

async fn made<'a>(
    change: &ObjectWrite<'a>,
    namespace: &str,
    is_quota: bool,
    new: &[u8],
) -> Result<Held<'a>, Refusal> {
    // Before the quotas: that it is still so when this is written means that they are the same ones.
    let record = QuotaRecord::of(change.shared, namespace).await?;
    let mut held = Held { conditions: vec![record.unchanged()], ..Held::default() };
    // Without a record there is no quota: its read and one condition are the entire cost.
    if record.is_there() {
        if is_quota {
            few(change, &Quotas::of(change.shared, namespace).await?)?;
        }
        // Of other kinds only the number counts.
        let object = if MeasuredKind::of(change.kind).is_some() { decoded(new)? } else { Value::Null };
        let charge = QuotaCharge::of_creation(change.kind, object);
        count_in(change, namespace, &charge, &mut held).await?;
    }
    if is_quota {
        held.operations.push(QuotaRecord::put(namespace));
    }
    Ok(held)
}

/// An update is charged with the resources that it adds. One that adds none is free: a quota below
/// the current usage limits creations and growth only.
async fn updated<'a>(
    change: &ObjectWrite<'a>,
    namespace: &str,
    kind: MeasuredKind,
    there: &Entry,
    new: &[u8],
) -> Result<Held<'a>, Refusal> {
    let record = QuotaRecord::of(change.shared, namespace).await?;
    let mut held = Held { conditions: vec![record.unchanged()], ..Held::default() };
    if record.is_there() {
        let old = read(change.kind, there, there.modified)?;
        if let Some(charge) = QuotaCharge::of_update(kind, &old, decoded(new)?) {
            count_in(change, namespace, &charge, &mut held).await?;
        }
    }
    Ok(held)
}

/// The last quota deletes the record.
async fn ended<'a>(change: &ObjectWrite<'a>, namespace: &str) -> Result<Held<'a>, Refusal> {
    let record = QuotaRecord::of(change.shared, namespace).await?;
    // After the record, whose condition makes this list hold at the commit.
    let others = Quotas::of(change.shared, namespace).await?;
    let is_last = others.all.iter().all(|quota| quota.entry.key == *change.key);
    let operation = if is_last { QuotaRecord::delete(namespace) } else { QuotaRecord::put(namespace) };
    Ok(Held { conditions: vec![record.unchanged()], operations: vec![operation], turn: None })
}

/// Returns whether there may be one quota more.
fn few(change: &ObjectWrite<'_>, quotas: &Quotas) -> Result<(), Refusal> {
    let (there, most) = (quotas.all.len(), change.shared.limits.quotas);
    if there < most {
        return Ok(());
    }
    let why = format!("its namespace has {there} quotas, and may have {most}: say it in one of them");
    Err(forbidden(change.kind, change.names().1, &why))
}

/// Adds a charge to each quota that it concerns. Each of them is written, even if its status is
/// unchanged: a concurrent count then conflicts and is repeated.
async fn count_in<'a>(
    change: &ObjectWrite<'a>,
    namespace: &str,
    charge: &QuotaCharge,
    held: &mut Held<'a>,
) -> Result<(), Refusal> {
    let (shared, kind, name) = (change.shared, change.kind, change.names().1);
    let mut quotas = Quotas::of(shared, namespace).await?;
    if !quotas.all.iter().any(|quota| concerns(change, charge, quota)) {
        return Ok(());
    }
    // A dry run commits nothing: a turn would only delay other creations.
    if !change.dry_run {
        held.turn = Some(shared.turns.take(namespace).await);
        // Read again: the creation before this one in the queue has written them.
        quotas = Quotas::of(shared, namespace).await?;
    }
    if let Some(why) = quotas.all.iter().find_map(|quota| unspecified(change, charge, quota)) {
        return Err(forbidden(kind, name, &why));
    }
    // The count must not be older than the quotas: L ≤ V < C in docs/designs/022-quotas.md.
    let objects = change.kind_view(Some(quotas.at)).await?;
    for quota in &quotas.all {
        let uses = uses(change, charge, quota, &objects, namespace);
        if uses.is_empty() {
            continue;
        }
        if let Some(why) = exceeded(meta_text(&quota.object, "name"), &uses) {
            return Err(forbidden(kind, name, &why));
        }
        let key = quota.entry.key.clone();
        if key == *change.key {
            continue; // it is there already, which the commit finds
        }
        held.conditions.push(Condition::At(key.clone(), quota.entry.modified));
        held.operations.push(Operation::Put(key, raised(change, namespace, quota, &uses)?));
    }
    Ok(())
}

/// Returns the limits of a quota that are about the kind of a change.
fn relevant<'q>(change: &ObjectWrite<'_>, quota: &'q Quota) -> Vec<Limit<'q>> {
    let registry = change.shared.kinds();
    let mut limits = limits(&quota.object);
    limits.retain(|limit| is_about(&registry, limit.what, change.kind));
    limits
}

/// Returns whether a quota limits something that a write adds, or requires that it is specified.
fn concerns(change: &ObjectWrite<'_>, charge: &QuotaCharge, quota: &Quota) -> bool {
    let scopes = QuotaScopes::of(&quota.object);
    let limits = relevant(change, quota);
    limits.iter().any(|limit| !charge.requested(limit, &scopes).is_zero())
        || unspecified(change, charge, quota).is_some()
}

fn unspecified(change: &ObjectWrite<'_>, charge: &QuotaCharge, quota: &Quota) -> Option<String> {
    if !charge.is_selected_by(&QuotaScopes::of(&quota.object)) {
        return None;
    }
    let limits = relevant(change, quota);
    let missing = charge.unspecified(limits.iter().map(|limit| limit.key))?;
    Some(format!("failed quota: {}: must specify {missing}", meta_text(&quota.object, "name")))
}

/// Returns the limits of a quota to which a write adds, with their usage.
fn uses<'q>(
    change: &ObjectWrite<'_>,
    charge: &QuotaCharge,
    quota: &'q Quota,
    objects: &KindView,
    namespace: &str,
) -> Vec<Use<'q>> {
    let scopes = QuotaScopes::of(&quota.object);
    let used = |limit: &Limit<'_>| {
        let counted = count(&objects.kind, &objects.view, namespace, limit, &scopes, limit.most.whole());
        // Enough to refuse one more. The exact number is in the quota's status.
        match counted.exceeds(limit.most) && limit.what.measure != Measure::Usage {
            true => counted.at_least(recorded_usage(&quota.object, limit.key)),
            false => counted,
        }
    };
    let added = |limit: Limit<'q>| {
        let requested = charge.requested(&limit, &scopes);
        (!requested.is_zero()).then(|| Use { limit, used: used(&limit), requested })
    };
    relevant(change, quota).into_iter().filter_map(added).collect()
}

/// Returns a quota with its usage increased by one.
fn raised(
    change: &ObjectWrite<'_>,
    namespace: &str,
    quota: &Quota,
    uses: &[Use<'_>],
) -> Result<Bytes, Refusal> {
    let kind = native::quota();
    let mut new = quota.object.clone();
    raise(&mut new, uses);
    let context = Context {
        kind: &kind,
        now: change.shared.environment.now(),
        manager: Some(MANAGER),
        namespace: Some(namespace),
        trace: None,
    };
    Ok(match strategy::update(new, &quota.object, Subresource::Status, true, &context)?.0 {
        Step::Put(new) => stored_bytes(&kind, &new),
        Step::Keep | Step::Delete(_) => quota.entry.value.clone(),
    })
}

/// Returns whether another state of a quota wants something else.
fn wants_else(change: &ObjectWrite<'_>, there: &Entry, new: &[u8]) -> Result<bool, Refusal> {
    let old = read(change.kind, there, there.modified)?;
    Ok(old["spec"] != decoded(new)?["spec"])
}

/// Decodes an object as it is to be stored.
fn decoded(new: &[u8]) -> Result<Value, Refusal> {
    let unreadable =
        || Refusal::new(500, "InternalError", "the object that is to be stored cannot be read by quotas");
    let new = Stored::of(new).map_err(|_| unreadable())?;
    serde_json::from_slice(new.json()).map_err(|_| unreadable())
}

/// Returns whether a kind is that of quotas.
pub(crate) fn is_quota(kind: &Kind) -> bool {
    kind.built_in && kind.group.is_empty() && kind.names.plural == "resourcequotas"
}

#[cfg(test)]
mod tests {
    use machinery_store::{Backend as _, Memory, Options, Transaction};
    use serde_json::json;

    use super::*;
    use crate::auth::Identity;
    use crate::change::{WriteOrigin, WritePreconditions};
    use crate::server::ApiServer;
    use crate::storage::Moment;
    use crate::verbs::{ObjectRequest, create};

    /// Two concurrent counts may compute the status that the quota already has. If neither wrote it
    /// again, neither would conflict with the other.
    #[tokio::test]
    async fn a_quota_with_an_unchanged_status_is_written_too() {
        let store = Memory::new(Options::default());
        let server = ApiServer::builder(store.clone()).start().await.expect("started");
        let shared = server.shared();
        let (kind, identity) = (native::quota(), Identity::admin());
        let request = ObjectRequest {
            shared,
            kind: &kind,
            subresource: Subresource::Main,
            identity: &identity,
            fence: None,
            trace: None,
            notes: None,
            namespace: Some("default"),
            name: "",
        };
        let hard = json!({"secrets": "1"});
        let quota = json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard},
        });
        let made = create::create_object(&request, quota, Some("test"), false).await.expect("made");
        let secrets = native::kinds().find(|kind| kind.names.kind == "Secret").expect("there is one");
        let key = secrets.place.key(Some("default"), "s");
        let change = ObjectWrite {
            shared,
            kind: &secrets,
            key: &key,
            preconditions: WritePreconditions::default(),
            origin: WriteOrigin::Request,
            dry_run: false,
        };
        let write = WriteAction::Put(Bytes::from(&b"{}"[..]));
        let there = shared.objects.get(&made.key, Moment::Newest).await.expect("read").expect("there");
        let mut says = read(&kind, &there, there.modified).expect("read");
        says["status"] = json!({"hard": hard, "used": {"secrets": "1"}});
        let says = stored_bytes(&kind, &says);
        store.commit(Transaction::new().put(made.key.clone(), says)).await.expect("written");
        let held = hold(&change, None, &write).await.expect("held");
        let is_written =
            |operation: &Operation| matches!(operation, Operation::Put(key, _) if *key == made.key);
        assert!(held.operations.iter().any(is_written), "{:?}", held.operations);
        assert!(held.conditions.iter().any(|condition| *condition.key() == made.key));
        server.stop().await;
    }
}
