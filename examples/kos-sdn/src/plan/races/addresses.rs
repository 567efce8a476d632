//! Two IPAM controllers allocate the same address while its holder is deleted and locks are created
//! by hand.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Abbreviated, Race, assert_fails, assert_holds, assert_random_walks};
use crate::model::{NetworkAttachment, Subnet, Vni};
use crate::plan::{
    AddressFailure, AddressKey, IpamDecision, IpamStep, IpamView, LockedAddress, OwnedLock, decide,
    locked_address,
};

/// A lock, and the name of its owner.
type Locked = (&'static str, OwnedLock);

#[derive(Clone, Debug)]
struct AddressRace {
    clients: VecDeque<AttachmentAction>,
    subnet: Subnet,
    attachments: BTreeMap<&'static str, Abbreviated<NetworkAttachment>>,
    locks: BTreeMap<AddressKey, Locked>,
    /// Number of writes of each object, used as its resourceVersion. Counted per object, so that
    /// interleavings of writes to different objects lead to equal states.
    written: BTreeMap<&'static str, u32>,
    ipams: Vec<RacingIpam>,
    mistake: Option<IpamMistake>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum IpamMistake {
    /// Writes an address that the cache shows as free, even if locking it fails.
    WritesFirst,
    /// Releases the lock of a name without checking its UID.
    ReleasesByName,
}

#[derive(Clone, Debug)]
enum AttachmentAction {
    Attach(&'static str),
    Detach(&'static str),
}

/// A controller and its caches. A cache may skip states of an object, but not go back. Allocation
/// hints are left out: they decide nothing.
#[derive(Clone, Debug, Default)]
struct RacingIpam {
    attachments: BTreeMap<&'static str, Abbreviated<NetworkAttachment>>,
    locks: BTreeMap<AddressKey, Locked>,
    gone: BTreeMap<&'static str, String>,
    due: VecDeque<&'static str>,
    at: RacePhase,
}

#[derive(Clone, Debug, Default)]
enum RacePhase {
    #[default]
    Nothing,
    Decided(&'static str, Option<Abbreviated<NetworkAttachment>>, Box<IpamDecision>),
    /// A lock was created; its address is not written yet.
    Locked(&'static str, Abbreviated<NetworkAttachment>, LockedAddress),
}

/// Number of locks created before events must be delivered; more would repeat the same states.
const LOCKS: u32 = 1;

#[derive(Clone, Debug)]
enum AddressRaceStep {
    AttachmentAction,
    ReceiveAttachment(usize, &'static str),
    ReceiveLock(usize),
    Work(usize),
    Collect,
}

fn address() -> AddressKey {
    AddressKey { vni: Vni::new(1).unwrap(), address: [10, 0, 0, 0].into() }
}

impl AddressRace {
    fn new(ipams: usize, clients: impl IntoIterator<Item = AttachmentAction>) -> Self {
        let mut subnet = Subnet::new("n", "s", 1, "10.0.0.0/32");
        subnet.status.validated = true;
        Self {
            clients: clients.into_iter().collect(),
            subnet,
            attachments: BTreeMap::new(),
            locks: BTreeMap::new(),
            written: BTreeMap::new(),
            ipams: vec![RacingIpam::default(); ipams],
            mistake: None,
        }
    }

    fn put(&mut self, name: &'static str, attachment: Option<NetworkAttachment>) {
        let version = self.version(name);
        let attachment = attachment.map(|mut attachment| {
            attachment.metadata.resource_version = Some(version.to_string());
            attachment
        });
        match attachment {
            Some(attachment) => drop(self.attachments.insert(name, Abbreviated(attachment))),
            None => drop(self.attachments.remove(name)),
        }
    }

    fn version(&mut self, of: &'static str) -> u32 {
        let version = self.written.entry(of).or_default();
        *version += 1;
        *version
    }

    fn lock(&mut self, key: AddressKey, lock: Option<Locked>) {
        match lock {
            Some(lock) => drop(self.locks.insert(key, lock)),
            None => drop(self.locks.remove(&key)),
        }
    }

    /// Returns a lock of a deleted owner.
    fn garbage(&self) -> Option<AddressKey> {
        let lives = |uid: &str| self.attachments.values().any(|one| one.metadata.uid.as_deref() == Some(uid));
        self.locks.values().find(|(_, lock)| !lives(&lock.owner_uid)).map(|(_, lock)| lock.key)
    }

    fn work(&mut self, index: usize) {
        match std::mem::take(&mut self.ipams[index].at) {
            RacePhase::Nothing => self.decide(index),
            RacePhase::Decided(name, attachment, decision) => {
                self.act(index, name, attachment.map(|one| one.0), *decision)
            }
            RacePhase::Locked(name, attachment, address) => {
                let status = address.written(&attachment, &self.subnet);
                self.write(index, name, NetworkAttachment { status, ..attachment.0 });
            }
        }
    }

    fn decide(&mut self, index: usize) {
        let ipam = &mut self.ipams[index];
        let Some(name) = ipam.due.pop_front() else { return };
        let attachment = ipam.attachments.get(name).map(|one| one.0.clone());
        let locks: Vec<_> =
            ipam.locks.values().filter(|(owner, _)| *owner == name).map(|(_, lock)| lock.clone()).collect();
        let gone = if attachment.is_none() { ipam.gone.remove(name) } else { None };
        let view = IpamView {
            attachment: attachment.as_ref(),
            gone: gone.as_deref(),
            subnet: Some(&self.subnet),
            locks: &locks,
        };
        let decision = decide(&view);
        if decision.step != IpamStep::Done || !decision.release.is_empty() {
            ipam.at = RacePhase::Decided(name, attachment.map(Abbreviated), Box::new(decision));
        }
    }

    fn act(
        &mut self,
        index: usize,
        name: &'static str,
        attachment: Option<NetworkAttachment>,
        decision: IpamDecision,
    ) {
        for lock in decision.release {
            let is_it = |(_, there): &(_, OwnedLock)| {
                there.uid == lock.uid || self.mistake == Some(IpamMistake::ReleasesByName)
            };
            if self.locks.get(&lock.key).is_some_and(is_it) {
                self.lock(lock.key, None);
            }
        }
        let Some(attachment) = attachment else { return };
        match decision.step {
            IpamStep::Pick { .. } => self.pick(index, name, attachment),
            IpamStep::Write(address) => {
                self.ipams[index].at = RacePhase::Locked(name, Abbreviated(attachment), address)
            }
            IpamStep::None(_) | IpamStep::Wait | IpamStep::Done => {}
        }
    }

    fn pick(&mut self, index: usize, name: &'static str, attachment: NetworkAttachment) {
        let key = address();
        let (is_known, exists) = (self.ipams[index].locks.contains_key(&key), self.locks.contains_key(&key));
        let writes_first = self.mistake == Some(IpamMistake::WritesFirst) && !is_known;
        if is_known {
            let status = AddressFailure::Full.written(&attachment);
            if status != attachment.status {
                self.write(index, name, NetworkAttachment { status, ..attachment });
            }
            return;
        }
        // The cache lacks the lock: the controller retries until it shows the lock or the address
        // is free.
        if exists && !writes_first {
            return self.ipams[index].enqueue(name);
        }
        let owner_uid = attachment.metadata.uid.clone().unwrap();
        let uid = format!("lock-{}", self.version("lock"));
        let new = OwnedLock { key, uid, owner_uid, created: None };
        let address = locked_address(&new).unwrap();
        if !exists {
            self.lock(key, Some((name, new)));
        }
        self.ipams[index].at = RacePhase::Locked(name, Abbreviated(attachment), address);
    }

    /// Writes an attachment if its version is unchanged; otherwise requeues it.
    fn write(&mut self, index: usize, name: &'static str, written: NetworkAttachment) {
        let now = self.attachments.get(name).and_then(|now| now.metadata.resource_version.clone());
        match now == written.metadata.resource_version {
            true => self.put(name, Some(written)),
            false => self.ipams[index].enqueue(name),
        }
    }
}

impl RacingIpam {
    fn enqueue(&mut self, name: &'static str) {
        if !self.due.contains(&name) {
            self.due.push_back(name);
        }
    }

    fn receive_attachment(&mut self, name: &'static str, now: Option<&Abbreviated<NetworkAttachment>>) {
        let uid = |of: &NetworkAttachment| of.metadata.uid.clone();
        let before = self.attachments.get(name).and_then(|before| uid(before));
        if let Some(before) = before.filter(|before| now.and_then(|now| uid(now)).as_ref() != Some(before)) {
            self.gone.insert(name, before);
        }
        match now {
            Some(now) => drop(self.attachments.insert(name, now.clone())),
            None => drop(self.attachments.remove(name)),
        }
        self.enqueue(name);
    }

    /// The deletion of a lock wakes all waiters; each lock event wakes the owner.
    fn receive_lock(&mut self, now: Option<&Locked>) {
        let before = self.locks.remove(&address());
        self.locks.extend(now.map(|now| (address(), now.clone())));
        let freed = before.is_some() && now.is_none();
        let waiting = self.attachments.keys().filter(|_| freed).copied();
        let owners = before.iter().chain(now).map(|(owner, _)| *owner);
        let mut woken = BTreeSet::new();
        woken.extend(waiting.chain(owners));
        for name in woken {
            self.enqueue(name);
        }
    }
}

impl Race for AddressRace {
    type Step = AddressRaceStep;

    fn steps(&self) -> Vec<AddressRaceStep> {
        let mut steps = Vec::new();
        if !self.clients.is_empty() {
            steps.push(AddressRaceStep::AttachmentAction);
        }
        let made = self.written.get("lock").copied().unwrap_or_default();
        for (index, ipam) in self.ipams.iter().enumerate() {
            let names =
                self.attachments.keys().chain(ipam.attachments.keys()).copied().collect::<BTreeSet<_>>();
            let events =
                names.into_iter().filter(|name| ipam.attachments.get(name) != self.attachments.get(name));
            let events: Vec<_> = events.map(|name| AddressRaceStep::ReceiveAttachment(index, name)).collect();
            if !events.is_empty() {
                steps.extend(events);
                // It may lock for a deleted attachment repeatedly until the deletion is delivered.
                if made >= LOCKS {
                    continue;
                }
            }
            if ipam.locks != self.locks {
                steps.push(AddressRaceStep::ReceiveLock(index));
            }
            if !ipam.due.is_empty() || !matches!(ipam.at, RacePhase::Nothing) {
                steps.push(AddressRaceStep::Work(index));
            }
        }
        if self.garbage().is_some() {
            steps.push(AddressRaceStep::Collect);
        }
        steps
    }

    fn take(&mut self, step: &AddressRaceStep) {
        match step {
            AddressRaceStep::AttachmentAction => match self.clients.pop_front() {
                Some(AttachmentAction::Attach(name)) => {
                    let mut new = NetworkAttachment::new("n", name, "node-1", "s");
                    new.metadata.uid = Some(format!("{name}-{}", self.version(name)));
                    self.put(name, Some(new));
                }
                Some(AttachmentAction::Detach(name)) => self.put(name, None),
                None => {}
            },
            AddressRaceStep::ReceiveAttachment(index, name) => {
                self.ipams[*index].receive_attachment(name, self.attachments.get(name));
            }
            AddressRaceStep::ReceiveLock(index) => {
                self.ipams[*index].receive_lock(self.locks.get(&address()))
            }
            AddressRaceStep::Work(index) => self.work(*index),
            AddressRaceStep::Collect => {
                if let Some(key) = self.garbage() {
                    self.lock(key, None);
                }
            }
        }
    }

    /// An attachment with an address in its status holds the lock, so nobody else does.
    fn violation(&self) -> Option<String> {
        self.attachments.iter().find_map(|(name, one)| {
            let status = &one.status;
            if status.ipv4.is_empty() {
                return None;
            }
            let lock = self.locks.get(&address()).filter(|(owner, lock)| {
                owner == name
                    && lock.uid == status.lock_uid
                    && Some(&lock.owner_uid) == one.metadata.uid.as_ref()
            });
            lock.is_none().then(|| format!("{name} has an address without its lock"))
        })
    }

    fn violation_at_end(&self) -> Option<String> {
        let holders = self.attachments.values().filter(|one| !one.status.ipv4.is_empty()).count();
        if holders != self.attachments.len().min(1) {
            return Some(format!("{holders} have the address"));
        }
        let full = [AddressFailure::Full.to_string()];
        let unreported = |one: &&Abbreviated<NetworkAttachment>| {
            one.status.ipv4.is_empty() && one.status.errors.ipam != full
        };
        let unreported_waiter =
            self.attachments.values().find(unreported).map(|one| format!("{one:?} reports no error"));
        unreported_waiter.or_else(|| (self.locks.len() != holders).then(|| "a lock is left".into()))
    }
}

const TWO: [AttachmentAction; 2] = [AttachmentAction::Attach("a"), AttachmentAction::Attach("b")];

#[test]
fn one_of_two_claimants_gets_the_address() {
    assert_holds(AddressRace::new(1, TWO), 100);
    assert_holds(AddressRace::new(2, TWO), 1000);
}

#[test]
fn waiter_gets_the_released_address() {
    let clients =
        [AttachmentAction::Attach("a"), AttachmentAction::Attach("b"), AttachmentAction::Detach("a")];
    assert_holds(AddressRace::new(1, clients), 500);
}

#[test]
fn recreated_attachment_inherits_nothing() {
    let clients =
        [AttachmentAction::Attach("a"), AttachmentAction::Detach("a"), AttachmentAction::Attach("a")];
    assert_holds(AddressRace::new(1, clients), 100);
}

#[test]
fn two_controllers_assign_exclusively() {
    let [attach, again, detach] =
        [AttachmentAction::Attach("a"), AttachmentAction::Attach("a"), AttachmentAction::Detach("a")];
    assert_random_walks(
        &AddressRace::new(2, [attach.clone(), AttachmentAction::Attach("b"), detach.clone()]),
        5000,
    );
    assert_random_walks(&AddressRace::new(2, [attach, detach, again, AttachmentAction::Attach("b")]), 5000);
}

#[test]
fn write_before_lock_is_detected() {
    let mut wrong = AddressRace::new(2, TWO);
    wrong.mistake = Some(IpamMistake::WritesFirst);
    assert_fails(wrong, "without its lock");
}

#[test]
fn release_by_name_is_detected() {
    let clients =
        [AttachmentAction::Attach("a"), AttachmentAction::Detach("a"), AttachmentAction::Attach("a")];
    let mut wrong = AddressRace::new(2, clients);
    wrong.mistake = Some(IpamMistake::ReleasesByName);
    assert_fails(wrong, "without its lock");
}
