//! The server, its clients and its garbage collector.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use machinery_sync::explore::Race;

use super::process::{EffectPhase, Mistake, RaceProcess};

pub(super) type Name = &'static str;

/// An owner: its record is a part of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RaceOwner {
    pub(super) uid: u32,
    pub(super) version: u32,
    pub(super) record: RaceRecord,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum RaceRecord {
    #[default]
    Nothing,
    Waits,
    /// A member, and the UID of its lock.
    Has(u16, u32),
}

/// The lock of a member.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RaceLock {
    pub(super) uid: u32,
    pub(super) owner: Name,
    pub(super) owner_uid: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ClientAction {
    Attach(Name),
    Detach(Name),
    /// The pool has only this member from now on.
    Move(u16),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    pub(super) owners: BTreeMap<Name, RaceOwner>,
    pub(super) locks: BTreeMap<u16, RaceLock>,
    /// First and last member of the pool.
    pub(super) pool: (u16, u16),
    /// Number of writes of each owner, and of created locks of each member. Counted for each, so
    /// that writes of different objects in two orders lead to equal states.
    written: BTreeMap<Name, u32>,
    created: BTreeMap<u16, u32>,
}

#[derive(Clone, Debug)]
pub(super) struct AllocatorRace {
    clients: VecDeque<ClientAction>,
    pub(super) server: Server,
    processes: Vec<RaceProcess>,
    crashes: u32,
    pub(super) has_fences: bool,
    pub(super) mistake: Option<Mistake>,
}

#[derive(Clone, Debug)]
pub(super) enum RaceStep {
    Act,
    ReceiveOwner(usize, Name),
    ReceiveLock(usize, u16),
    ReceivePool(usize),
    Work(usize),
    Crash(usize),
    Collect,
}

/// Number of locks of one member before events must be delivered; more would repeat the same
/// states.
const LOCKS: u32 = 2;

impl AllocatorRace {
    pub(super) fn new(
        processes: usize,
        members: u16,
        clients: impl IntoIterator<Item = ClientAction>,
    ) -> Self {
        let server = Server { pool: (1, members), ..Server::default() };
        let processes = (0..processes).map(|index| RaceProcess::new(index, &server)).collect();
        let clients = clients.into_iter().collect();
        Self { clients, server, processes, crashes: 0, has_fences: true, mistake: None }
    }

    pub(super) fn crashing(self, crashes: u32) -> Self {
        Self { crashes, ..self }
    }

    fn act(&mut self) {
        match self.clients.pop_front() {
            Some(ClientAction::Attach(name)) => {
                let uid = self.server.written.get(name).copied().unwrap_or_default();
                self.server.put(name, Some(RaceOwner { uid, version: 0, record: RaceRecord::Nothing }));
            }
            Some(ClientAction::Detach(name)) => self.server.put(name, None),
            Some(ClientAction::Move(member)) => self.server.pool = (member, member),
            None => {}
        }
    }

    /// A lock of a deleted owner.
    fn garbage(&self) -> Option<u16> {
        let lives = |lock: &RaceLock| {
            self.server.owners.get(lock.owner).is_some_and(|owner| owner.uid == lock.owner_uid)
        };
        self.server.locks.iter().find(|(_, lock)| !lives(lock)).map(|(member, _)| *member)
    }
}

impl Server {
    pub(super) fn put(&mut self, name: Name, owner: Option<RaceOwner>) {
        let version = self.written.entry(name).or_default();
        *version += 1;
        match owner {
            Some(owner) => drop(self.owners.insert(name, RaceOwner { version: *version, ..owner })),
            None => drop(self.owners.remove(name)),
        }
    }

    /// Creates a lock, or returns `None` if there is one.
    pub(super) fn create(&mut self, member: u16, owner: Name, owner_uid: u32) -> Option<u32> {
        if self.locks.contains_key(&member) {
            return None;
        }
        let uid = self.created.entry(member).or_default();
        *uid += 1;
        self.locks.insert(member, RaceLock { uid: *uid, owner, owner_uid });
        Some(*uid)
    }
}

impl Race for AllocatorRace {
    type Step = RaceStep;

    fn steps(&self) -> Vec<RaceStep> {
        let mut steps = Vec::new();
        if !self.clients.is_empty() {
            steps.push(RaceStep::Act);
        }
        let has_many_locks = self.server.created.values().any(|created| *created >= LOCKS);
        for (index, process) in self.processes.iter().enumerate() {
            let names: BTreeSet<Name> =
                self.server.owners.keys().chain(process.owners.keys()).copied().collect();
            let is_new = |name: &Name| process.owners.get(name) != self.server.owners.get(name);
            let events: Vec<_> =
                names.into_iter().filter(is_new).map(|name| RaceStep::ReceiveOwner(index, name)).collect();
            let must_receive = !events.is_empty() && has_many_locks;
            steps.extend(events);
            if must_receive {
                // It may lock for a deleted owner repeatedly until the deletion is delivered.
                continue;
            }
            let members: BTreeSet<u16> =
                self.server.locks.keys().chain(process.locks.keys()).copied().collect();
            let is_new = |member: &u16| process.locks.get(member) != self.server.locks.get(member);
            steps.extend(
                members.into_iter().filter(is_new).map(|member| RaceStep::ReceiveLock(index, member)),
            );
            if process.pool != self.server.pool {
                steps.push(RaceStep::ReceivePool(index));
            }
            let is_idle = process.due.is_empty() && process.phase == EffectPhase::Nothing;
            if !is_idle {
                steps.push(RaceStep::Work(index));
                if self.crashes > 0 {
                    steps.push(RaceStep::Crash(index));
                }
            }
        }
        if self.garbage().is_some() {
            steps.push(RaceStep::Collect);
        }
        steps
    }

    fn take(&mut self, step: &RaceStep) {
        let Self { server, processes, .. } = self;
        match step {
            RaceStep::Act => self.act(),
            RaceStep::ReceiveOwner(index, name) => {
                processes[*index].receive_owner(name, server.owners.get(name));
            }
            RaceStep::ReceiveLock(index, member) => {
                processes[*index].receive_lock(*member, server.locks.get(member));
            }
            RaceStep::ReceivePool(index) => processes[*index].receive_pool(server.pool),
            RaceStep::Work(index) => processes[*index].work(server, self.has_fences, self.mistake),
            RaceStep::Crash(index) => {
                self.crashes -= 1;
                processes[*index] = RaceProcess::new(*index, server);
            }
            RaceStep::Collect => {
                if let Some(member) = self.garbage() {
                    self.server.locks.remove(&member);
                }
            }
        }
    }

    /// An owner that records a member has its lock, so nobody else records it.
    fn violation(&self) -> Option<String> {
        self.server.owners.iter().find_map(|(name, owner)| {
            let RaceRecord::Has(member, uid) = owner.record else { return None };
            let expected = RaceLock { uid, owner: name, owner_uid: owner.uid };
            let has_it = self.server.locks.get(&member) == Some(&expected);
            (!has_it).then(|| format!("{name} records {member} without its lock"))
        })
    }

    fn violation_at_end(&self) -> Option<String> {
        let Server { owners, locks, pool: (first, last), .. } = &self.server;
        let records = owners.values().map(|owner| owner.record);
        let has = |record: &RaceRecord| matches!(record, RaceRecord::Has(member, _) if (*first..=*last).contains(member));
        let holders = records.clone().filter(has).count();
        if holders != owners.len().min(usize::from(last - first + 1)) {
            return Some(format!("{holders} have a member"));
        }
        if records.clone().filter(|record| *record == RaceRecord::Waits).count() != owners.len() - holders {
            return Some("an owner records neither a member nor that it waits".into());
        }
        (locks.len() != holders).then(|| "a lock is left over".into())
    }
}
