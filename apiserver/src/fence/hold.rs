//! Fences as commit conditions.

use machinery_objects as objects;
use machinery_store::Condition;
use serde_json::Value;

use crate::auth::Identity;
use crate::auth::rbac::{RequestAttributes, ResourceAttributes};
use crate::kind::Kind;
use crate::refusal::{Cause, Refusal};
use crate::server::Shared;
use crate::storage::Moment;
use crate::strategy::{conflict, is_deleting, meta_text};
use crate::verbs::output::read;

/// The fence of a writer: a lock or Lease that must be unchanged for its writes to succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// Empty for the core group.
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) uid: String,
    /// `leaseTransitions` at the time when the writer acquired the Lease.
    pub(super) epoch: Option<u64>,
    /// Further fences of the writer.
    pub(super) besides: Option<Box<Fence>>,
}

/// Maximum number of fences per write. Each is read at every attempt.
pub(super) const MOST: usize = 4;

/// The cause by which clients distinguish a stale fence from other conflicts.
const STALE: &str = "FenceStale";

impl Fence {
    /// Converts a fence of the in-process API.
    pub(crate) fn of(fence: &objects::Fence) -> Self {
        let objects::Fence { kind, key, uid, epoch, besides } = fence;
        Self {
            group: kind.group().into(),
            version: kind.version().into(),
            plural: kind.plural().into(),
            namespace: key.namespace().map(Into::into),
            name: key.name().into(),
            uid: uid.as_str().into(),
            epoch: *epoch,
            besides: besides.as_deref().map(|besides| Box::new(Self::of(besides))),
        }
    }

    /// Returns whether a refusal is due to a stale fence.
    pub(crate) fn refused(refusal: &Refusal) -> bool {
        refusal.causes.iter().any(|cause| cause.reason == STALE)
    }

    /// The fence and all further ones.
    fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |fence| fence.besides.as_deref())
    }

    /// Checks that the writer may `get` the objects: a write must not reveal objects that it may
    /// not read.
    pub(crate) fn may_be_named(&self, shared: &Shared, by: &Identity) -> Result<(), Refusal> {
        self.all().try_for_each(|fence| fence.one_may_be_named(shared, by))
    }

    fn one_may_be_named(&self, shared: &Shared, by: &Identity) -> Result<(), Refusal> {
        let itself = (self.plural == "namespaces").then_some(&self.name);
        let asks = ResourceAttributes {
            group: &self.group,
            resource: &self.plural,
            subresource: "",
            namespace: self.namespace.as_ref().or(itself).map_or("", String::as_str),
            name: &self.name,
        };
        shared.authorize(by, &RequestAttributes::of("get", asks))
    }

    /// Returns the commit conditions under which the fences hold, for a write of an object of
    /// `kind` and `name`.
    ///
    /// # Errors
    /// 409 if a fence is stale; 400 if it names an impossible object, or if there are too many.
    pub(crate) async fn hold(
        &self,
        shared: &Shared,
        kind: &Kind,
        name: &str,
    ) -> Result<Vec<Condition>, Refusal> {
        let count = self.all().count();
        if count > MOST {
            return Err(self.invalid(&too_many(count)));
        }
        let mut conditions = Vec::with_capacity(count);
        for fence in self.all() {
            let condition = fence.hold_one(shared, kind, name).await?;
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        Ok(conditions)
    }

    async fn hold_one(&self, shared: &Shared, kind: &Kind, name: &str) -> Result<Condition, Refusal> {
        let registry = shared.kinds();
        let found = registry.find(&self.group, &self.version, &self.plural);
        let of = found
            .filter(|of| of.review.is_none())
            .ok_or_else(|| self.invalid("this server has no such kind"))?;
        match (of.namespaced, &self.namespace) {
            (true, None) => return Err(self.invalid("objects of this kind are in a namespace")),
            (false, Some(_)) => return Err(self.invalid("objects of this kind are in no namespace")),
            _ => {}
        }
        // No epochs of other kinds: with a path in the header clients would choose the condition.
        if self.epoch.is_some() && !is_lease(of) {
            return Err(self.invalid("only Leases have epochs: of other objects a new holder is a new uid"));
        }
        let key = of.place.key(self.namespace.as_deref(), &self.name);
        let there = shared.objects.get(&key, Moment::Newest).await?;
        let object = there.as_ref().map(|there| read(of, there, there.modified)).transpose()?;
        match (there, self.check_stored(object.as_ref())) {
            // A renewal of the Lease fails this condition; the retry then finds the same epoch.
            (Some(there), Ok(())) => Ok(Condition::At(key, there.modified)),
            (_, Err(now)) => Err(self.stale(of, kind, name, now)),
            (None, Ok(())) => Err(self.stale(of, kind, name, GONE.into())),
        }
    }

    /// Checks the fence against the stored object; the error describes the difference.
    fn check_stored(&self, there: Option<&Value>) -> Result<(), String> {
        let there = there.ok_or(GONE)?;
        match meta_text(there, "uid") {
            uid if uid != self.uid => return Err(format!("another one has its name, of uid {uid}")),
            _ if is_deleting(there) => return Err("it is being deleted".into()),
            _ => {}
        }
        match (self.epoch, epoch(there)) {
            (Some(required), there) if there != Some(required) => Err(format!(
                "its epoch is {}",
                there.map_or_else(|| "none".into(), |there| there.to_string())
            )),
            _ => Ok(()),
        }
    }

    /// 409. It may describe the object, which the writer may read.
    fn stale(&self, of: &Kind, kind: &Kind, name: &str, now: String) -> Refusal {
        let place = self.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let which = format!("{} \"{place}{}\"", of.resource(), self.name);
        let why = format!("its fence is stale, stop acting under it: of {which}, {now}");
        // 409 and not 412: clients of Kubernetes know it, and read again or give up.
        let mut refusal = conflict(kind, name, &why);
        refusal.causes.push(Cause { reason: STALE, message: now, field: "Machinery-Fence".into() });
        refusal
    }

    fn invalid(&self, why: &str) -> Refusal {
        Refusal::bad_request(format!("the fence {self} cannot be held: {why}"))
    }
}

pub(super) fn too_many(count: usize) -> String {
    format!("there are {count}, and a write rests on {MOST} at the most")
}

const GONE: &str = "it is gone";

fn is_lease(kind: &Kind) -> bool {
    &*kind.group == "coordination.k8s.io" && kind.names.plural == "leases"
}

/// The epoch of a Lease: `leaseTransitions`, or `None` if it is not a number.
fn epoch(lease: &Value) -> Option<u64> {
    match &lease["spec"]["leaseTransitions"] {
        Value::Null => Some(0),
        count => count.as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_fence_holds_for_one_object_and_one_epoch() {
        let lease = |uid: &str, transitions: Value| json!({"metadata": {"uid": uid}, "spec": {"leaseTransitions": transitions}});
        let going = json!({"metadata": {"uid": "u", "deletionTimestamp": "2026-11-21T09:30:38Z"}});
        let bare = json!({"metadata": {"uid": "u"}});
        let check = |epoch: Option<u64>, there: Option<&Value>, expected: Result<(), &str>| {
            let [group, version, plural, name, uid] = ["g", "v1", "ps", "n", "u"].map(String::from);
            let besides = None;
            let fence = Fence { group, version, plural, namespace: None, name, uid, epoch, besides };
            assert_eq!(fence.check_stored(there), expected.map_err(String::from), "{there:?}");
        };
        check(None, Some(&bare), Ok(()));
        check(Some(0), Some(&bare), Ok(()));
        check(Some(7), Some(&lease("u", json!(7))), Ok(()));
        check(None, Some(&lease("u", json!(7))), Ok(()));
        check(Some(7), Some(&lease("u", json!(8))), Err("its epoch is 8"));
        check(Some(7), Some(&lease("u", json!(6))), Err("its epoch is 6"));
        check(Some(1), Some(&bare), Err("its epoch is 0"));
        check(Some(0), Some(&lease("u", json!(-1))), Err("its epoch is none"));
        check(Some(7), Some(&lease("v", json!(7))), Err("another one has its name, of uid v"));
        check(None, Some(&going), Err("it is being deleted"));
        check(None, None, Err("it is gone"));
    }
}
