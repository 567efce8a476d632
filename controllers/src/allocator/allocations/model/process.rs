//! The process: caches that lag, a queue, and the state under test.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use machinery_objects::{Uid, WriteToken};
use tokio::time::Instant;

use super::super::super::Pool;
use super::super::super::scope::{ScopedMember, ScopedSpace};
use super::super::{Allocations, FormerWaiter};
use crate::locks::LockOwner;

pub(super) const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
pub(super) const POOLS: [(u16, u16); 3] = [(1, 3), (2, 5), (7, 7)];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelRecord {
    pub(super) uid: Uid,
    pub(super) version: u64,
    /// The member, and the UID of its lock.
    pub(super) has: Option<(u16, Uid)>,
    pub(super) since: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelLock {
    pub(super) uid: Uid,
    pub(super) revision: u64,
    /// `None`: made by hand.
    pub(super) owner: Option<LockOwner>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ModelObjects {
    pub(super) pool: Option<(u16, u16)>,
    pub(super) owners: BTreeMap<&'static str, ModelRecord>,
    pub(super) locks: BTreeMap<u16, ModelLock>,
}

#[derive(Clone, Debug)]
pub(super) enum CacheEvent {
    Pool(Option<(u16, u16)>),
    Owner(&'static str, Option<ModelRecord>),
    Lock(u16, Option<ModelLock>),
}

pub(super) struct ModelProcess {
    pub(super) cache: ModelObjects,
    /// Undelivered events of pools, owners and locks: ordered within a kind only.
    pub(super) pending: [VecDeque<CacheEvent>; 3],
    pub(super) due: VecDeque<&'static str>,
    pub(super) allocations: Allocations<u16>,
    pub(super) run: Option<ModelRun>,
}

/// A run before its next effect.
pub(super) struct ModelRun {
    pub(super) name: &'static str,
    pub(super) owner: LockOwner,
    pub(super) seen: ModelRecord,
    pub(super) release: Vec<(u16, Uid)>,
    pub(super) step: ModelStep,
}

#[derive(Clone)]
pub(super) enum ModelStep {
    Claim(ScopedMember<u16>),
    Record(Option<(u16, Uid)>, Option<Timestamp>),
    Done,
}

pub(super) fn pool(range: (u16, u16)) -> Pool<u16> {
    Pool::range("n/p".parse().unwrap(), range.0..=range.1).unwrap()
}

pub(super) fn space() -> ScopedSpace<u16> {
    ScopedSpace::of(&pool((1, 1)), Some("n"))
}

pub(super) fn scoped(member: u16) -> ScopedMember<u16> {
    space().member(member.into()).unwrap()
}

pub(super) fn owner(name: &str, uid: &Uid) -> LockOwner {
    LockOwner { key: format!("n/{name}").parse().unwrap(), uid: uid.clone() }
}

impl ModelProcess {
    pub(super) fn new(stored: &ModelObjects, now: Instant) -> Self {
        let mut allocations = Allocations::new(64, 7);
        let former = stored.owners.iter().filter_map(|(name, record)| {
            let pool = pool(stored.pool?);
            Some(FormerWaiter { since: record.since?, owner: owner(name, &record.uid), pool, space: space() })
        });
        allocations.rebuild(stored.locks.keys().copied().map(scoped), former.collect(), now);
        let due = stored.owners.keys().copied().collect();
        // An informer delivers all that is there to a new handler.
        let locks = stored.locks.iter().map(|(member, lock)| CacheEvent::Lock(*member, Some(lock.clone())));
        let pending = [VecDeque::new(), VecDeque::new(), locks.collect()];
        Self { cache: stored.clone(), pending, due, allocations, run: None }
    }

    pub(super) fn enqueue(&mut self, name: &'static str) {
        if !self.due.contains(&name) {
            self.due.push_back(name);
        }
    }

    pub(super) fn receive(&mut self, kind: usize, now: Instant) -> bool {
        let Some(event) = self.pending[kind].pop_front() else { return false };
        match event {
            CacheEvent::Pool(pool) => {
                self.cache.pool = pool;
                NAMES.into_iter().for_each(|name| self.enqueue(name));
            }
            CacheEvent::Owner(name, record) => {
                let former = self.cache.owners.remove(name);
                if let Some(former) =
                    former.filter(|former| record.as_ref().is_none_or(|now| now.uid != former.uid))
                {
                    self.allocations.leave(&owner(name, &former.uid), now);
                }
                self.cache.owners.extend(record.map(|record| (name, record)));
                self.enqueue(name);
            }
            CacheEvent::Lock(member, lock) => {
                match &lock {
                    Some(_) => self.allocations.lock_seen(&scoped(member)),
                    None => self.allocations.lock_gone(&scoped(member), now),
                }
                let former = self.cache.locks.remove(&member);
                let owners = former.iter().chain(&lock).filter_map(|lock| lock.owner.as_ref());
                for name in owners.filter_map(name_of) {
                    self.enqueue(name);
                }
                self.cache.locks.extend(lock.map(|lock| (member, lock)));
            }
        }
        true
    }

    pub(super) fn sweep(&mut self, now: Instant) {
        let Self { allocations, cache, pending, .. } = self;
        // A cache that is behind proves nothing.
        let is_behind = !pending[2].is_empty();
        let is_locked = |member: &ScopedMember<u16>, _: Option<&WriteToken>| {
            is_behind || cache.locks.contains_key(&member.member)
        };
        let exists = |owner: &LockOwner| {
            name_of(owner)
                .and_then(|name| cache.owners.get(name))
                .is_some_and(|record| record.uid == owner.uid)
        };
        allocations.sweep(is_locked, exists, now);
    }

    pub(super) fn deliver_notified(&mut self) {
        for waiter in self.allocations.take_notified() {
            if let Some(name) = name_of(&waiter) {
                self.enqueue(name);
            }
        }
    }
}

pub(super) fn name_of(owner: &LockOwner) -> Option<&'static str> {
    NAMES.into_iter().find(|name| *name == owner.key.name())
}
