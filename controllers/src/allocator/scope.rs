//! Members and spaces within the namespace of their locks.

use std::sync::Arc;

use machinery_objects::ObjectKey;

use super::{Member, Pool};

/// Namespace of locks; locks of equal names in two namespaces are two locks.
pub(super) type LockNamespace = Option<Arc<str>>;

/// A space of members, of one namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScopedSpace<M: Member> {
    pub(super) namespace: LockNamespace,
    pub(super) space: M::Space,
}

/// A member, of one namespace: one lock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScopedMember<M> {
    pub(super) namespace: LockNamespace,
    pub(super) member: M,
}

impl<M: Member> ScopedMember<M> {
    pub(super) fn of(lock: &ObjectKey, member: M) -> Self {
        Self { namespace: lock.namespace().map(Into::into), member }
    }

    pub(super) fn space(&self) -> ScopedSpace<M> {
        ScopedSpace { namespace: self.namespace.clone(), space: self.member.space() }
    }
}

impl<M: Member> ScopedSpace<M> {
    pub(super) fn of(pool: &Pool<M>, namespace: Option<&str>) -> Self {
        Self { namespace: namespace.map(Into::into), space: pool.space.clone() }
    }

    pub(super) fn member(&self, number: u128) -> Option<ScopedMember<M>> {
        Some(ScopedMember { namespace: self.namespace.clone(), member: M::at(&self.space, number)? })
    }
}
