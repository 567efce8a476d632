//! The choice among the locks that an owner holds. Pure.

use std::cmp::Ordering;

use machinery_objects::{ResourceVersion, Uid};

use super::{AllocationRequest, Member};

/// A lock that the owner holds, as the choice sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnedLock<M> {
    pub(super) member: M,
    pub(super) uid: Uid,
    pub(super) version: Option<ResourceVersion>,
}

/// The lock to keep and those to release, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LockChoice {
    pub(super) keep: Option<usize>,
    pub(super) release: Vec<usize>,
}

/// Chooses the lock to keep: the one that the owner records, else the oldest one in the pool. All
/// others are released, unless the owner still uses their member.
pub(super) fn choose<M: Member>(locks: &[OwnedLock<M>], request: &AllocationRequest<'_, M>) -> LockChoice {
    let is_inside = |lock: &OwnedLock<M>| request.pool.contains(&lock.member);
    let inside = || locks.iter().enumerate().filter(|(_, lock)| is_inside(lock));
    let recorded = inside().find(|(_, lock)| request.records(&lock.member, &lock.uid));
    let kept = recorded.or_else(|| inside().min_by(|(_, one), (_, other)| oldest_first(one, other)));
    let keep = kept.map(|(at, _)| at);
    let is_released = |(at, lock): &(usize, &OwnedLock<M>)| {
        // Until the owner records the kept lock, another controller may be about to record a spare
        // one.
        let is_spare = recorded.is_some() && Some(*at) != keep;
        (is_spare || !is_inside(lock)) && !request.uses(&lock.member, &lock.uid)
    };
    LockChoice { keep, release: locks.iter().enumerate().filter(is_released).map(|(at, _)| at).collect() }
}

/// Orders by version, then by UID, so that all controllers choose the same lock.
fn oldest_first<M>(one: &OwnedLock<M>, other: &OwnedLock<M>) -> Ordering {
    let versions = one.version.partial_cmp(&other.version).unwrap_or(Ordering::Equal);
    versions.then_with(|| one.uid.cmp(&other.uid))
}

#[cfg(test)]
mod tests;
