//! A process: its caches, and the steps of its runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use machinery_objects::{ResourceVersion, Revision, Uid};

use super::super::choice::{OwnedLock, choose};
use super::super::{AllocationRequest, Pool};
use super::system::{Name, RaceLock, RaceOwner, RaceRecord, Server};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mistake {
    /// Records a member that the cache shows as free, even if locking it fails.
    RecordsFirst,
    /// Releases the lock of a name without a check of its UID.
    ReleasesByName,
    /// Releases spare locks before the kept one is recorded.
    ReleasesSpareLocksEarly,
}

/// A cache may skip states of an object, but not go back.
#[derive(Clone, Debug)]
pub(super) struct RaceProcess {
    /// Two processes pick different members.
    index: usize,
    pub(super) owners: BTreeMap<Name, RaceOwner>,
    pub(super) locks: BTreeMap<u16, RaceLock>,
    pub(super) pool: (u16, u16),
    pub(super) due: VecDeque<Name>,
    pub(super) phase: EffectPhase,
}

/// The next effect of the present run; a crash may precede each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum EffectPhase {
    #[default]
    Nothing,
    /// The owner as the run sees it, the locks to release, then the step.
    Release(Name, RaceOwner, Vec<(u16, u32)>, PlannedStep),
    /// A member to record, with the UID of its lock; or that the owner waits.
    Record(Name, RaceOwner, RaceRecord),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlannedStep {
    Recover(u16),
    Keep(u16, u32),
    Pick,
}

impl RaceProcess {
    pub(super) fn new(index: usize, server: &Server) -> Self {
        let Server { owners, locks, pool, .. } = server.clone();
        let due = owners.keys().copied().collect();
        Self { index, owners, locks, pool, due, phase: EffectPhase::Nothing }
    }

    pub(super) fn receive_owner(&mut self, name: Name, now: Option<&RaceOwner>) {
        match now {
            Some(now) => drop(self.owners.insert(name, now.clone())),
            None => drop(self.owners.remove(name)),
        }
        self.enqueue(name);
    }

    /// The deletion of a lock notifies all waiters, and each event of a lock its owners.
    pub(super) fn receive_lock(&mut self, member: u16, now: Option<&RaceLock>) {
        let before = self.locks.remove(&member);
        self.locks.extend(now.map(|now| (member, now.clone())));
        let is_free = before.is_some() && now.is_none();
        let waiters = self.owners.keys().filter(|_| is_free).copied();
        let concerned: BTreeSet<Name> =
            before.iter().chain(now).map(|lock| lock.owner).chain(waiters).collect();
        concerned.into_iter().for_each(|name| self.enqueue(name));
    }

    pub(super) fn receive_pool(&mut self, pool: (u16, u16)) {
        self.pool = pool;
        self.owners.keys().copied().collect::<Vec<_>>().into_iter().for_each(|name| self.enqueue(name));
    }

    pub(super) fn work(&mut self, server: &mut Server, has_fences: bool, mistake: Option<Mistake>) {
        match std::mem::take(&mut self.phase) {
            EffectPhase::Nothing => self.decide(mistake),
            EffectPhase::Release(name, owner, mut locks, step) => match locks.pop() {
                Some((member, uid)) => {
                    let by_name = mistake == Some(Mistake::ReleasesByName);
                    if server.locks.get(&member).is_some_and(|lock| lock.uid == uid || by_name) {
                        server.locks.remove(&member);
                        self.locks.remove(&member);
                    }
                    self.phase = EffectPhase::Release(name, owner, locks, step);
                }
                None => self.take_step(name, owner, &step, server, mistake),
            },
            EffectPhase::Record(name, owner, record) => {
                let is_fenced = match record {
                    RaceRecord::Has(member, uid) if has_fences => {
                        server.locks.get(&member).is_some_and(|lock| lock.uid == uid)
                    }
                    _ => true,
                };
                if is_fenced && server.owners.get(name) == Some(&owner) {
                    server.put(name, Some(RaceOwner { record, ..owner }));
                    // The next run of an owner sees the writes of the one before.
                    self.owners.extend(server.owners.get(name).map(|now| (name, now.clone())));
                    self.enqueue(name);
                } else {
                    self.enqueue(name);
                }
            }
        }
    }

    fn decide(&mut self, mistake: Option<Mistake>) {
        let Some(name) = self.due.pop_front() else { return };
        let Some(owner) = self.owners.get(name).cloned() else { return };
        let owned = |lock: &RaceLock| lock.owner == name && lock.owner_uid == owner.uid;
        let held = self.locks.iter().filter(|(_, lock)| owned(lock));
        let held: Vec<OwnedLock<u16>> = held
            .map(|(member, lock)| OwnedLock {
                member: *member,
                uid: uid_of(lock.uid),
                version: Some(ResourceVersion::from(Revision(lock.uid.into()))),
            })
            .collect();
        let pool = Pool::range("n/p".parse().unwrap(), self.pool.0..=self.pool.1).unwrap();
        let (recorded, under) = match owner.record {
            RaceRecord::Has(member, uid) => (Some(member), Some(uid_of(uid))),
            _ => (None, None),
        };
        let request = AllocationRequest::of(&pool).recorded_under(recorded, under.clone());
        let is_cached =
            |member: u16| held.iter().any(|lock| lock.member == member && Some(&lock.uid) == under.as_ref());
        let step = match recorded {
            Some(member) if pool.contains(&member) && !is_cached(member) => {
                self.phase = EffectPhase::Release(name, owner, Vec::new(), PlannedStep::Recover(member));
                return;
            }
            _ => {
                let mut choice = choose(&held, &request);
                if mistake == Some(Mistake::ReleasesSpareLocksEarly) {
                    choice.release = (0..held.len()).filter(|at| Some(*at) != choice.keep).collect();
                }
                let number = |at: usize| (held[at].member, held[at].uid.as_str().parse().unwrap());
                let release: Vec<_> = choice.release.iter().map(|at| number(*at)).collect();
                let step = choice.keep.map_or(PlannedStep::Pick, |at| {
                    let (member, uid) = number(at);
                    PlannedStep::Keep(member, uid)
                });
                (release, step)
            }
        };
        let (release, step) = step;
        self.phase = EffectPhase::Release(name, owner, release, step);
    }

    fn take_step(
        &mut self,
        name: Name,
        owner: RaceOwner,
        step: &PlannedStep,
        server: &mut Server,
        mistake: Option<Mistake>,
    ) {
        let record = match *step {
            PlannedStep::Keep(member, uid) => RaceRecord::Has(member, uid),
            PlannedStep::Recover(member) => match self.claim(member, name, owner.uid, server) {
                Some(uid) => RaceRecord::Has(member, uid),
                None => self.pick(name, &owner, server, mistake),
            },
            PlannedStep::Pick => self.pick(name, &owner, server, mistake),
        };
        if record != owner.record && record != RaceRecord::Nothing {
            self.phase = EffectPhase::Record(name, owner, record);
        }
    }

    /// Creates the lock of a free member; `Nothing` if another process was faster.
    fn pick(
        &mut self,
        name: Name,
        owner: &RaceOwner,
        server: &mut Server,
        mistake: Option<Mistake>,
    ) -> RaceRecord {
        let mut free = (self.pool.0..=self.pool.1).filter(|member| !self.locks.contains_key(member));
        let picked = if self.index == 0 { free.next() } else { free.next_back() };
        let Some(member) = picked else { return RaceRecord::Waits };
        match server.create(member, name, owner.uid) {
            Some(uid) => {
                // The cache catches up with the process's own lock before the next run.
                self.locks.extend(server.locks.get(&member).map(|lock| (member, lock.clone())));
                RaceRecord::Has(member, uid)
            }
            None if mistake == Some(Mistake::RecordsFirst) => RaceRecord::Has(member, 0),
            // The cache lacks the lock: the run is repeated until it shows it.
            None => {
                self.enqueue(name);
                RaceRecord::Nothing
            }
        }
    }

    /// A claim decides by a live read: the lock may be the owner's own.
    fn claim(&mut self, member: u16, name: Name, owner_uid: u32, server: &mut Server) -> Option<u32> {
        let own = server.locks.get(&member).filter(|lock| lock.owner == name && lock.owner_uid == owner_uid);
        own.map(|lock| lock.uid).or_else(|| server.create(member, name, owner_uid))
    }

    /// One entry per owner.
    fn enqueue(&mut self, name: Name) {
        if !self.due.contains(&name) {
            self.due.push_back(name);
        }
    }
}

fn uid_of(number: u32) -> Uid {
    Uid::new(&number.to_string()).unwrap()
}
