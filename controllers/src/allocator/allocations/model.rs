//! A model of a process with an allocator: lagging caches, claims that fail, crashes, and clients
//! that create and delete owners, change the pool, and lock members by hand.

use std::collections::{BTreeMap, VecDeque};

use machinery_objects::{ResourceVersion, Revision, Uid};
use proptest::prelude::*;

use super::super::AllocationRequest;
use super::super::choice::{OwnedLock, choose};
use super::*;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const POOLS: [(u16, u16); 3] = [(1, 3), (2, 5), (7, 7)];

#[derive(Clone, Debug)]
enum ModelOp {
    Create(usize),
    Delete(usize),
    Pool(Option<usize>),
    LockByHand(u16),
    Unlock(u16),
    Receive(usize),
    Work,
    Sweep,
    Collect,
    Crash,
    Settle,
}

fn op() -> impl Strategy<Value = ModelOp> {
    prop_oneof![
        4 => (0..NAMES.len()).prop_map(ModelOp::Create),
        3 => (0..NAMES.len()).prop_map(ModelOp::Delete),
        2 => proptest::option::weighted(0.8, 0..POOLS.len()).prop_map(ModelOp::Pool),
        1 => (1..8_u16).prop_map(ModelOp::LockByHand),
        1 => (1..8_u16).prop_map(ModelOp::Unlock),
        12 => (0..3_usize).prop_map(ModelOp::Receive),
        20 => Just(ModelOp::Work),
        1 => Just(ModelOp::Sweep),
        1 => Just(ModelOp::Collect),
        1 => Just(ModelOp::Crash),
        2 => Just(ModelOp::Settle),
    ]
}

#[derive(Clone, Debug, PartialEq)]
struct Record {
    uid: Uid,
    version: u64,
    /// The member, and the UID of its lock.
    has: Option<(u16, Uid)>,
    since: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
struct Lock {
    uid: Uid,
    revision: u64,
    /// `None`: made by hand.
    owner: Option<LockOwner>,
}

#[derive(Clone, Debug, Default)]
struct Objects {
    pool: Option<(u16, u16)>,
    owners: BTreeMap<&'static str, Record>,
    locks: BTreeMap<u16, Lock>,
}

#[derive(Clone, Debug)]
enum CacheEvent {
    Pool(Option<(u16, u16)>),
    Owner(&'static str, Option<Record>),
    Lock(u16, Option<Lock>),
}

struct Process {
    cache: Objects,
    /// Undelivered events of pools, owners and locks: ordered within a kind only.
    pending: [VecDeque<CacheEvent>; 3],
    due: VecDeque<&'static str>,
    allocations: Allocations<u16>,
    run: Option<PendingRun>,
}

/// A run before its next effect.
struct PendingRun {
    name: &'static str,
    owner: LockOwner,
    seen: Record,
    release: Vec<(u16, Uid)>,
    step: RunStep,
}

#[derive(Clone)]
enum RunStep {
    Claim(ScopedMember<u16>),
    Record(Option<(u16, Uid)>, Option<Timestamp>),
    Done,
}

struct World {
    stored: Objects,
    revision: u64,
    process: Process,
    now: Instant,
}

fn pool(range: (u16, u16)) -> Pool<u16> {
    Pool::range("n/p".parse().unwrap(), range.0..=range.1).unwrap()
}

fn space() -> ScopedSpace<u16> {
    ScopedSpace::of(&pool((1, 1)), Some("n"))
}

fn scoped(member: u16) -> ScopedMember<u16> {
    space().member(member.into()).unwrap()
}

fn owner(name: &str, uid: &Uid) -> LockOwner {
    LockOwner { key: format!("n/{name}").parse().unwrap(), uid: uid.clone() }
}

impl Process {
    fn new(stored: &Objects, now: Instant) -> Self {
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

    fn enqueue(&mut self, name: &'static str) {
        if !self.due.contains(&name) {
            self.due.push_back(name);
        }
    }

    fn receive(&mut self, kind: usize, now: Instant) -> bool {
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
                let names: Vec<_> = owners.filter_map(name_of).collect();
                for name in names {
                    self.enqueue(name);
                }
                self.cache.locks.extend(lock.map(|lock| (member, lock)));
            }
        }
        true
    }

    fn sweep(&mut self, now: Instant) {
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

    fn deliver_notified(&mut self) {
        for waiter in self.allocations.take_notified() {
            if let Some(name) = name_of(&waiter) {
                self.enqueue(name);
            }
        }
    }
}

fn name_of(owner: &LockOwner) -> Option<&'static str> {
    NAMES.into_iter().find(|name| *name == owner.key.name())
}

impl World {
    fn new() -> Self {
        let (stored, now) = (Objects::default(), Instant::now());
        Self { process: Process::new(&stored, now), stored, revision: 0, now }
    }

    fn uid(&mut self) -> Uid {
        self.revision += 1;
        Uid::new(&format!("uid-{:05}", self.revision)).unwrap()
    }

    fn put(&mut self, name: &'static str, record: Option<Record>) {
        self.revision += 1;
        let record = record.map(|record| Record { version: self.revision, ..record });
        self.process.pending[1].push_back(CacheEvent::Owner(name, record.clone()));
        match record {
            Some(record) => drop(self.stored.owners.insert(name, record)),
            None => drop(self.stored.owners.remove(name)),
        }
        self.check();
    }

    fn lock(&mut self, member: u16, lock: Option<Lock>) {
        self.process.pending[2].push_back(CacheEvent::Lock(member, lock.clone()));
        match lock {
            Some(lock) => drop(self.stored.locks.insert(member, lock)),
            None => drop(self.stored.locks.remove(&member)),
        }
        self.check();
    }

    /// The lock that an owner records exists and is its own, so nobody else records its member.
    fn check(&self) {
        for (name, record) in &self.stored.owners {
            let Some((member, lock)) = &record.has else { continue };
            let found = self.stored.locks.get(member).filter(|found| found.uid == *lock);
            let holder = found.and_then(|found| found.owner.clone());
            assert_eq!(holder, Some(owner(name, &record.uid)), "{name} records {member} without its lock");
        }
    }

    fn create_lock(&mut self, member: u16, owner: Option<LockOwner>) -> Option<Uid> {
        if self.stored.locks.contains_key(&member) {
            return None;
        }
        let uid = self.uid();
        self.lock(member, Some(Lock { uid: uid.clone(), revision: self.revision, owner }));
        Some(uid)
    }

    /// Deletes a lock of a deleted owner.
    fn collect(&mut self) -> bool {
        let lives = |one: &LockOwner| {
            name_of(one).and_then(|name| self.stored.owners.get(name)).is_some_and(|now| now.uid == one.uid)
        };
        let garbage =
            self.stored.locks.iter().find(|(_, lock)| lock.owner.as_ref().is_some_and(|one| !lives(one)));
        let garbage = garbage.map(|(member, _)| *member);
        garbage.map(|member| self.lock(member, None)).is_some()
    }

    fn work(&mut self) -> bool {
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
            RunStep::Done => {}
            RunStep::Claim(member) => self.claim(run, &member),
            RunStep::Record(has, since) => self.record(&run, has, since),
        }
        true
    }

    fn begin(&mut self) -> bool {
        let Some(name) = self.process.due.pop_front() else { return false };
        let Process { cache, allocations, .. } = &mut self.process;
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
            let step = RunStep::Record(None, None);
            self.process.run = Some(PendingRun { name, owner, seen, release: Vec::new(), step });
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
                RunStep::Record(Some((held[at].member, held[at].uid.clone())), None)
            }
            None => self.reserve(&pool, &owner, &seen),
        };
        self.process.run = Some(PendingRun { name, owner, seen, release, step });
        true
    }

    fn reserve(&mut self, pool: &Pool<u16>, owner: &LockOwner, seen: &Record) -> RunStep {
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
                RunStep::Claim(member)
            }
            Reservation::Full(since) => {
                // The deletion of the owner may precede the queueing.
                let name = name_of(owner).unwrap();
                if self.process.cache.owners.get(name).is_none_or(|now| now.uid != owner.uid) {
                    allocations.leave(owner, self.now);
                }
                RunStep::Record(None, since)
            }
            Reservation::Unready => RunStep::Done,
        }
    }

    fn claim(&mut self, run: PendingRun, member: &ScopedMember<u16>) {
        let created = self.create_lock(member.member, Some(run.owner.clone()));
        let allocations = &mut self.process.allocations;
        match created {
            Some(uid) => {
                let token = WriteToken {
                    key: format!("n/{}", member.member).parse().unwrap(),
                    uid: Some(uid.clone()),
                    wrote: machinery_objects::WriteOutcome::Stored(ResourceVersion::from(Revision(
                        self.revision,
                    ))),
                };
                allocations.claim_succeeded(member, &run.owner, &token, self.now);
                while self.process.receive(2, self.now) {}
                self.process.run =
                    Some(PendingRun { step: RunStep::Record(Some((member.member, uid)), None), ..run });
            }
            None => {
                let is_locked = self.process.cache.locks.contains_key(&member.member);
                allocations.claim_ended(member, &run.owner, is_locked, self.now);
                self.process.enqueue(run.name);
            }
        }
    }

    fn record(&mut self, run: &PendingRun, has: Option<(u16, Uid)>, since: Option<Timestamp>) {
        let record = Record { has, since, ..run.seen.clone() };
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

    fn settle(&mut self) {
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

    fn is_settled(&self) {
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

/// More cases in an optimized build, as that of `cargo xtask races`.
const CASES: u32 = if cfg!(debug_assertions) { 256 } else { 50_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]
    #[test]
    fn members_are_exclusive_and_waiters_are_served_in_order(ops in proptest::collection::vec(op(), 0..300)) {
        let mut world = World::new();
        for op in ops {
            match op {
                ModelOp::Create(which) if !world.stored.owners.contains_key(NAMES[which]) => {
                    let record = Record { uid: world.uid(), version: 0, has: None, since: None };
                    world.put(NAMES[which], Some(record));
                }
                ModelOp::Delete(which) if world.stored.owners.contains_key(NAMES[which]) => world.put(NAMES[which], None),
                ModelOp::Pool(which) => {
                    world.stored.pool = which.map(|which| POOLS[which]);
                    world.process.pending[0].push_back(CacheEvent::Pool(world.stored.pool));
                }
                ModelOp::LockByHand(member) => drop(world.create_lock(member, None)),
                ModelOp::Unlock(member) => {
                    if world.stored.locks.get(&member).is_some_and(|lock| lock.owner.is_none()) {
                        world.lock(member, None);
                    }
                }
                ModelOp::Receive(kind) => {
                    let now = world.now;
                    world.process.receive(kind, now);
                }
                ModelOp::Work => {
                    world.work();
                }
                ModelOp::Sweep => {
                    let now = world.now;
                    world.process.sweep(now);
                }
                ModelOp::Collect => {
                    world.collect();
                }
                ModelOp::Crash => world.process = Process::new(&world.stored, world.now),
                ModelOp::Settle => world.settle(),
                ModelOp::Create(_) | ModelOp::Delete(_) => {}
            }
        }
        world.settle();
    }
}
