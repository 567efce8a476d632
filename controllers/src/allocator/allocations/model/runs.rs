//! Runs, effect by effect.

use jiff::Timestamp;
use machinery_objects::{ResourceVersion, Revision, Uid, WriteOutcome, WriteToken};

use super::super::super::choice::{OwnedLock, choose};
use super::super::super::pool_queues::WaitingSince;
use super::super::super::scope::ScopedMember;
use super::super::super::{AllocationRequest, Pool};
use super::super::Reservation;
use super::process::{ModelProcess, ModelRecord, ModelRun, ModelStep, name_of, owner, pool, space};
use super::world::ModelWorld;
use crate::locks::LockOwner;

impl ModelWorld {
    pub(super) fn work(&mut self) -> bool {
        self.process.deliver_notified();
        let Some(mut run) = self.process.run.take() else { return self.begin() };
        if let Some((member, uid)) = run.release.pop() {
            if self.stored.locks.get(&member).is_some_and(|lock| lock.uid == uid) {
                self.lock(member, None);
            }
            self.process.run = Some(run);
            return true;
        }
        // The cache catches up with the run's own writes before the next run of the key.
        while self.process.receive(2, self.now) {}
        match run.step.clone() {
            ModelStep::Done => {}
            ModelStep::Claim(member) => self.claim(run, &member),
            ModelStep::Record(has, since) => self.record(&run, has, since),
        }
        true
    }

    pub(super) fn begin(&mut self) -> bool {
        let Some(name) = self.process.due.pop_front() else { return false };
        let ModelProcess { cache, allocations, .. } = &mut self.process;
        let Some(seen) = cache.owners.get(name).cloned() else { return true };
        let owner = owner(name, &seen.uid);
        let held = cache.locks.iter().filter(|(_, lock)| lock.owner.as_ref() == Some(&owner));
        let held: Vec<OwnedLock<u16>> = held
            .map(|(member, lock)| OwnedLock {
                member: *member,
                uid: lock.uid.clone(),
                version: Some(ResourceVersion::from(Revision(lock.revision))),
            })
            .collect();
        let Some(range) = cache.pool else {
            allocations.leave(&owner, self.now);
            let step = ModelStep::Record(None, None);
            self.process.run = Some(ModelRun { name, owner, seen, release: Vec::new(), step });
            return true;
        };
        let pool = pool(range);
        let (member, under) = seen.has.clone().unzip();
        let request = AllocationRequest::of(&pool).recorded_under(member, under);
        let choice = choose(&held, &request);
        let release = choice.release.iter().map(|at| (held[*at].member, held[*at].uid.clone())).collect();
        let step = match choice.keep {
            Some(at) => {
                allocations.leave(&owner, self.now);
                ModelStep::Record(Some((held[at].member, held[at].uid.clone())), None)
            }
            None => self.reserve(&pool, &owner, &seen),
        };
        self.process.run = Some(ModelRun { name, owner, seen, release, step });
        true
    }

    pub(super) fn reserve(&mut self, pool: &Pool<u16>, owner: &LockOwner, seen: &ModelRecord) -> ModelStep {
        let allocations = &mut self.process.allocations;
        let id = (space(), pool.name.clone());
        let wall = Timestamp::from_second(1).unwrap();
        let since = seen.since.map_or(WaitingSince::New(wall), WaitingSince::Recorded);
        let is_due = allocations.queues.due().any(|due| due == owner);
        let asleep = allocations.queues.asleep(&id);
        let earlier: Vec<_> = asleep.into_iter().take_while(|waiter| waiter != owner).collect();
        match allocations.reserve(&space(), pool, owner, since, self.now) {
            Reservation::Free(member) => {
                let mut asleep = allocations.queues.asleep(&id);
                asleep.retain(|waiter| earlier.contains(waiter));
                assert!(is_due || asleep.is_empty(), "{owner:?} overtakes {asleep:?}");
                ModelStep::Claim(member)
            }
            Reservation::Full(since) => {
                // The deletion of the owner may precede the queueing.
                let name = name_of(owner).unwrap();
                if self.process.cache.owners.get(name).is_none_or(|now| now.uid != owner.uid) {
                    allocations.leave(owner, self.now);
                }
                ModelStep::Record(None, since)
            }
            Reservation::Unready => ModelStep::Done,
        }
    }

    pub(super) fn claim(&mut self, run: ModelRun, member: &ScopedMember<u16>) {
        let created = self.create_lock(member.member, Some(run.owner.clone()));
        let allocations = &mut self.process.allocations;
        match created {
            Some(uid) => {
                let token = WriteToken {
                    key: format!("n/{}", member.member).parse().unwrap(),
                    uid: Some(uid.clone()),
                    wrote: WriteOutcome::Stored(ResourceVersion::from(Revision(self.revision))),
                };
                allocations.claim_succeeded(member, &run.owner, &token, self.now);
                while self.process.receive(2, self.now) {}
                self.process.run =
                    Some(ModelRun { step: ModelStep::Record(Some((member.member, uid)), None), ..run });
            }
            None => {
                let is_locked = self.process.cache.locks.contains_key(&member.member);
                allocations.claim_ended(member, &run.owner, is_locked, self.now);
                self.process.enqueue(run.name);
            }
        }
    }

    pub(super) fn record(&mut self, run: &ModelRun, has: Option<(u16, Uid)>, since: Option<Timestamp>) {
        let record = ModelRecord { has, since, ..run.seen.clone() };
        if record == run.seen {
            return;
        }
        let is_fenced = record
            .has
            .as_ref()
            .is_none_or(|(member, uid)| self.stored.locks.get(member).is_some_and(|lock| lock.uid == *uid));
        let now = self.stored.owners.get(run.name).map(|now| (now.version, &now.uid));
        if is_fenced && now == Some((run.seen.version, &run.seen.uid)) {
            self.put(run.name, Some(record));
            while self.process.receive(1, self.now) {}
        } else if now.is_some() {
            self.process.enqueue(run.name);
        }
    }
}
