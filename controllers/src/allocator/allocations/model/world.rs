//! The server with its clients and its garbage collector, and the invariants.

use machinery_objects::Uid;
use tokio::time::Instant;

use super::process::{CacheEvent, ModelLock, ModelObjects, ModelProcess, ModelRecord, name_of, owner};
use crate::locks::LockOwner;

pub(super) struct ModelWorld {
    pub(super) stored: ModelObjects,
    pub(super) revision: u64,
    pub(super) process: ModelProcess,
    pub(super) now: Instant,
}

impl ModelWorld {
    pub(super) fn new() -> Self {
        let (stored, now) = (ModelObjects::default(), Instant::now());
        Self { process: ModelProcess::new(&stored, now), stored, revision: 0, now }
    }

    pub(super) fn uid(&mut self) -> Uid {
        self.revision += 1;
        Uid::new(&format!("uid-{:05}", self.revision)).unwrap()
    }

    pub(super) fn put(&mut self, name: &'static str, record: Option<ModelRecord>) {
        self.revision += 1;
        let record = record.map(|record| ModelRecord { version: self.revision, ..record });
        self.process.pending[1].push_back(CacheEvent::Owner(name, record.clone()));
        match record {
            Some(record) => drop(self.stored.owners.insert(name, record)),
            None => drop(self.stored.owners.remove(name)),
        }
        self.check();
    }

    pub(super) fn lock(&mut self, member: u16, lock: Option<ModelLock>) {
        self.process.pending[2].push_back(CacheEvent::Lock(member, lock.clone()));
        match lock {
            Some(lock) => drop(self.stored.locks.insert(member, lock)),
            None => drop(self.stored.locks.remove(&member)),
        }
        self.check();
    }

    /// The lock that an owner records exists and is its own, so nobody else records its member.
    pub(super) fn check(&self) {
        for (name, record) in &self.stored.owners {
            let Some((member, lock)) = &record.has else { continue };
            let found = self.stored.locks.get(member).filter(|found| found.uid == *lock);
            let holder = found.and_then(|found| found.owner.clone());
            assert_eq!(holder, Some(owner(name, &record.uid)), "{name} records {member} without its lock");
        }
    }

    pub(super) fn create_lock(&mut self, member: u16, owner: Option<LockOwner>) -> Option<Uid> {
        if self.stored.locks.contains_key(&member) {
            return None;
        }
        let uid = self.uid();
        self.lock(member, Some(ModelLock { uid: uid.clone(), revision: self.revision, owner }));
        Some(uid)
    }

    /// Deletes a lock of a deleted owner.
    pub(super) fn collect(&mut self) -> bool {
        let lives = |one: &LockOwner| {
            name_of(one).and_then(|name| self.stored.owners.get(name)).is_some_and(|now| now.uid == one.uid)
        };
        let garbage =
            self.stored.locks.iter().find(|(_, lock)| lock.owner.as_ref().is_some_and(|one| !lives(one)));
        let garbage = garbage.map(|(member, _)| *member);
        garbage.map(|member| self.lock(member, None)).is_some()
    }

    pub(super) fn settle(&mut self) {
        for _ in 0..20_000 {
            let received = (0..3).any(|kind| self.process.receive(kind, self.now));
            if received || self.work() || self.collect() {
                continue;
            }
            self.process.sweep(self.now);
            self.process.deliver_notified();
            if self.process.due.is_empty() {
                return self.is_settled();
            }
        }
        panic!("no end is reachable");
    }

    pub(super) fn is_settled(&self) {
        let all = self.stored.owners.values();
        let holding = all.clone().filter(|record| record.has.is_some()).count();
        let by_hand = |member: &u16| self.stored.locks.get(member).is_some_and(|lock| lock.owner.is_none());
        let Some((first, last)) = self.stored.pool else {
            assert_eq!(holding, 0);
            return;
        };
        let usable = (first..=last).filter(|member| !by_hand(member)).count();
        assert_eq!(holding, usable.min(self.stored.owners.len()), "{:#?}", self.stored);
        let locks = self.stored.locks.values().filter(|lock| lock.owner.is_some());
        assert_eq!(locks.count(), holding, "no lock is left over");
        let waiting = all.filter(|record| record.has.is_none()).count();
        assert_eq!(waiting, self.stored.owners.values().filter(|record| record.since.is_some()).count());
        assert_eq!(self.process.allocations.waiting(), waiting);
        assert!(!self.process.allocations.has_unconfirmed(), "{:#?}", self.process.allocations);
    }
}
