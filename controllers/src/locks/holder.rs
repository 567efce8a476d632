//! Ownership of locks. Pure.

use machinery_objects::{Kind, Object, ObjectKey, OwnerRef, Scope, Uid};

use super::{LockError, LockScopeError};

/// The owner of a claim: a stored object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LockOwner {
    pub(super) key: ObjectKey,
    pub(super) uid: Uid,
}

impl LockOwner {
    pub(super) fn of(object: &impl Object) -> Result<Self, LockError> {
        let key = object.key();
        let uid = object.uid().and_then(Uid::new).filter(|_| !key.is_unnamed());
        let uid = uid.ok_or(LockError::Owner { key: key.clone(), reason: "it is not stored yet" })?;
        Ok(Self { key, uid })
    }

    /// Returns the namespace of its locks: its own, or the configured one for owners without a
    /// namespace.
    pub(super) fn namespace<'a>(
        &'a self,
        locks: &Kind,
        apart: Option<&'a str>,
    ) -> Result<Option<&'a str>, LockError> {
        let refused = |reason| Err(LockError::Owner { key: self.key.clone(), reason });
        match (locks.scope(), self.key.namespace(), apart) {
            (Scope::Cluster, None, _) => Ok(None),
            // Kubernetes resolves no namespaced owner of a cluster-scoped object.
            (Scope::Cluster, Some(_), _) => {
                refused("it is in a namespace, and cannot own cluster-scoped locks")
            }
            (Scope::Namespaced, Some(namespace), None) => Ok(Some(namespace)),
            (Scope::Namespaced, Some(namespace), Some(apart)) if namespace == apart => Ok(Some(namespace)),
            // Owner references do not cross namespaces.
            (Scope::Namespaced, Some(_), Some(_)) => refused("it is in another namespace than its locks"),
            (Scope::Namespaced, None, Some(apart)) => Ok(Some(apart)),
            (Scope::Namespaced, None, None) => {
                refused("it is in no namespace, and none is configured for its locks")
            }
        }
    }

    pub(super) fn reference(&self, kind: &Kind) -> OwnerRef {
        OwnerRef::controller(kind, &self.key, self.uid.clone())
    }
}

/// Checks that objects of one kind can own locks of another.
pub(super) fn check_scopes(locks: &Kind, owners: &Kind, has_namespace: bool) -> Result<(), LockScopeError> {
    let both = || (locks.clone(), owners.clone());
    match (locks.scope(), owners.scope()) {
        (Scope::Cluster, Scope::Namespaced) => {
            let (locks, owners) = both();
            Err(LockScopeError::ClusterScopedLocks { locks, owners })
        }
        (Scope::Namespaced, Scope::Cluster) if !has_namespace => {
            let (locks, owners) = both();
            Err(LockScopeError::NoNamespace { locks, owners })
        }
        _ => Ok(()),
    }
}

/// Returns the controlling owner of a lock.
pub(super) fn holder(lock: &impl Object) -> Option<OwnerRef> {
    lock.owners().into_iter().find(|owner| owner.controller)
}

/// Returns whether this owner, by UID, holds the lock, and the lock is not being deleted.
pub(super) fn is_held_by(lock: &impl Object, owner: &LockOwner) -> bool {
    // By UID: a recreated owner has no locks. And a fence on a terminating lock fails.
    !lock.is_deleting() && holder(lock).is_some_and(|holder| holder.uid == owner.uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_live_in_a_namespace_where_their_owner_can_own_them() {
        fn check(locks: Scope, owner: &str, apart: Option<&str>, expected: Result<Option<&str>, &str>) {
            let kind = Kind::new("example.com/v1", "Name", "names", locks).unwrap();
            let owner = LockOwner { key: owner.parse().unwrap(), uid: Uid::new("1").unwrap() };
            let found = owner.namespace(&kind, apart).map_err(|error| error.to_string());
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, expected) => panic!("{found:?} is not {expected:?}"),
            }
        }
        let (apart, in_none) = (Some("apart"), Scope::Cluster);
        check(in_none, "a", None, Ok(None));
        check(in_none, "a", apart, Ok(None));
        check(in_none, "n/a", None, Err("cannot own cluster-scoped locks"));
        check(Scope::Namespaced, "n/a", None, Ok(Some("n")));
        check(Scope::Namespaced, "apart/a", apart, Ok(apart));
        check(Scope::Namespaced, "n/a", apart, Err("in another namespace than its locks"));
        check(Scope::Namespaced, "a", apart, Ok(apart));
        check(Scope::Namespaced, "a", None, Err("none is configured"));
    }

    #[test]
    fn scopes_in_which_no_owner_can_own_a_lock_are_refused() {
        fn check(locks: Scope, owners: Scope, has_namespace: bool, expected: Option<&str>) {
            let kind = |name: &str, plural, scope| Kind::new("example.com/v1", name, plural, scope).unwrap();
            let (locks, owners) = (kind("Name", "names", locks), kind("Host", "hosts", owners));
            let refused = check_scopes(&locks, &owners, has_namespace).err().map(|error| error.to_string());
            let fits = match (&refused, expected) {
                (None, None) => true,
                (Some(error), Some(part)) => error.contains(part),
                _ => false,
            };
            assert!(fits, "{refused:?} is not {expected:?}");
        }
        use Scope::{Cluster, Namespaced};
        check(Cluster, Cluster, false, None);
        check(Namespaced, Namespaced, false, None);
        check(Namespaced, Namespaced, true, None);
        check(Namespaced, Cluster, true, None);
        check(Namespaced, Cluster, false, Some("Plane::name_locks_in"));
        check(Cluster, Namespaced, false, Some("Make the locks namespaced"));
        check(Cluster, Namespaced, true, Some("KindOf::guard"));
    }
}
