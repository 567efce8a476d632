//! Two who give addresses want the same one, while whoever has it goes, and others take it by hand.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Race, Short, fails, holds, wanders};
use crate::model::{NetworkAttachment, Subnet, Vni};
use crate::plan::{
    Address, AddressKey, Decision, OwnedLock, Step as Todo, Trouble, View, address_of, decide,
};

/// A lock, and the name of its owner.
type Locked = (&'static str, OwnedLock);

#[derive(Clone, Debug)]
struct World {
    clients: VecDeque<Client>,
    subnet: Subnet,
    attachments: BTreeMap<&'static str, Short<NetworkAttachment>>,
    locks: BTreeMap<AddressKey, Locked>,
    /// How often each was written: what others did makes no other state.
    written: BTreeMap<&'static str, u32>,
    ipams: Vec<Ipam>,
    mistake: Option<Mistake>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    /// They write what is free as far as they know, whether they can lock it or not.
    WritesFirst,
    /// They give back what they see, whatever is there by now.
    ReleasesByName,
}

#[derive(Clone, Debug)]
enum Client {
    Attach(&'static str),
    Detach(&'static str),
}

/// One who gives addresses, and what it has heard of: of each object any state that there was, and of the next the one that is then. What it
/// remembers besides is left out: hints decide nothing.
#[derive(Clone, Debug, Default)]
struct Ipam {
    attachments: BTreeMap<&'static str, Short<NetworkAttachment>>,
    locks: BTreeMap<AddressKey, Locked>,
    gone: BTreeMap<&'static str, String>,
    due: VecDeque<&'static str>,
    at: At,
}

#[derive(Clone, Debug, Default)]
enum At {
    #[default]
    Nothing,
    Decided(&'static str, Option<Short<NetworkAttachment>>, Box<Decision>),
    /// A lock was made, and is to be told of.
    Locked(&'static str, Short<NetworkAttachment>, Address),
}

/// So many locks are made before news must be heard: more would be the same again.
const LOCKS: u32 = 1;

#[derive(Clone, Debug)]
enum Step {
    Client,
    HearAttachment(usize, &'static str),
    HearLock(usize),
    Work(usize),
    Collect,
}

fn address() -> AddressKey {
    AddressKey { vni: Vni::new(1).unwrap(), address: [10, 0, 0, 0].into() }
}

impl World {
    fn new(ipams: usize, clients: impl IntoIterator<Item = Client>) -> Self {
        let mut subnet = Subnet::new("n", "s", 1, "10.0.0.0/32");
        subnet.status.validated = true;
        Self {
            clients: clients.into_iter().collect(),
            subnet,
            attachments: BTreeMap::new(),
            locks: BTreeMap::new(),
            written: BTreeMap::new(),
            ipams: vec![Ipam::default(); ipams],
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
            Some(attachment) => drop(self.attachments.insert(name, Short(attachment))),
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

    /// A lock whose owner is gone.
    fn garbage(&self) -> Option<AddressKey> {
        let lives = |uid: &str| self.attachments.values().any(|one| one.metadata.uid.as_deref() == Some(uid));
        self.locks.values().find(|(_, lock)| !lives(&lock.owner_uid)).map(|(_, lock)| lock.key)
    }

    fn work(&mut self, who: usize) {
        match std::mem::take(&mut self.ipams[who].at) {
            At::Nothing => self.decide(who),
            At::Decided(name, attachment, decision) => {
                self.act(who, name, attachment.map(|one| one.0), *decision)
            }
            At::Locked(name, attachment, address) => {
                let status = address.written(&attachment, &self.subnet);
                self.write(who, name, NetworkAttachment { status, ..attachment.0 });
            }
        }
    }

    fn decide(&mut self, who: usize) {
        let ipam = &mut self.ipams[who];
        let Some(name) = ipam.due.pop_front() else { return };
        let attachment = ipam.attachments.get(name).map(|one| one.0.clone());
        let locks: Vec<_> =
            ipam.locks.values().filter(|(owner, _)| *owner == name).map(|(_, lock)| lock.clone()).collect();
        let gone = if attachment.is_none() { ipam.gone.remove(name) } else { None };
        let view = View {
            attachment: attachment.as_ref(),
            gone: gone.as_deref(),
            subnet: Some(&self.subnet),
            locks: &locks,
        };
        let decision = decide(&view);
        if decision.step != Todo::Done || !decision.release.is_empty() {
            ipam.at = At::Decided(name, attachment.map(Short), Box::new(decision));
        }
    }

    fn act(
        &mut self,
        who: usize,
        name: &'static str,
        attachment: Option<NetworkAttachment>,
        decision: Decision,
    ) {
        for lock in decision.release {
            let is_it = |(_, there): &(_, OwnedLock)| {
                there.uid == lock.uid || self.mistake == Some(Mistake::ReleasesByName)
            };
            if self.locks.get(&lock.key).is_some_and(is_it) {
                self.lock(lock.key, None);
            }
        }
        let Some(attachment) = attachment else { return };
        match decision.step {
            Todo::Pick { .. } => self.pick(who, name, attachment),
            Todo::Write(address) => self.ipams[who].at = At::Locked(name, Short(attachment), address),
            Todo::None(_) | Todo::Wait | Todo::Done => {}
        }
    }

    fn pick(&mut self, who: usize, name: &'static str, attachment: NetworkAttachment) {
        let key = address();
        let (is_known, is_there) = (self.ipams[who].locks.contains_key(&key), self.locks.contains_key(&key));
        let writes_first = self.mistake == Some(Mistake::WritesFirst) && !is_known;
        if is_known {
            let status = Trouble::Full.written(&attachment);
            if status != attachment.status {
                self.write(who, name, NetworkAttachment { status, ..attachment });
            }
            return;
        }
        // Whose it is it has not heard yet: it tries again until it has, or it is free.
        if is_there && !writes_first {
            return self.ipams[who].wants(name);
        }
        let owner_uid = attachment.metadata.uid.clone().unwrap();
        let uid = format!("lock-{}", self.version("lock"));
        let new = OwnedLock { key, uid, owner_uid, created: None };
        let address = address_of(&new).unwrap();
        if !is_there {
            self.lock(key, Some((name, new)));
        }
        self.ipams[who].at = At::Locked(name, Short(attachment), address);
    }

    /// Written, if it is as it was read; else it is looked at again.
    fn write(&mut self, who: usize, name: &'static str, says: NetworkAttachment) {
        let now = self.attachments.get(name).and_then(|now| now.metadata.resource_version.clone());
        match now == says.metadata.resource_version {
            true => self.put(name, Some(says)),
            false => self.ipams[who].wants(name),
        }
    }
}

impl Ipam {
    fn wants(&mut self, name: &'static str) {
        if !self.due.contains(&name) {
            self.due.push_back(name);
        }
    }

    fn hear_attachment(&mut self, name: &'static str, now: Option<&Short<NetworkAttachment>>) {
        let uid = |of: &NetworkAttachment| of.metadata.uid.clone();
        let before = self.attachments.get(name).and_then(|before| uid(before));
        if let Some(before) = before.filter(|before| now.and_then(|now| uid(now)).as_ref() != Some(before)) {
            self.gone.insert(name, before);
        }
        match now {
            Some(now) => drop(self.attachments.insert(name, now.clone())),
            None => drop(self.attachments.remove(name)),
        }
        self.wants(name);
    }

    /// Whoever waits is woken when a lock goes; the owner always.
    fn hear_lock(&mut self, now: Option<&Locked>) {
        let before = self.locks.remove(&address());
        self.locks.extend(now.map(|now| (address(), now.clone())));
        let freed = before.is_some() && now.is_none();
        let waiting = self.attachments.keys().filter(|_| freed).copied();
        let owners = before.iter().chain(now).map(|(owner, _)| *owner);
        let mut woken = BTreeSet::new();
        woken.extend(waiting.chain(owners));
        for name in woken {
            self.wants(name);
        }
    }
}

impl Race for World {
    type Step = Step;

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.clients.is_empty() {
            steps.push(Step::Client);
        }
        let made = self.written.get("lock").copied().unwrap_or_default();
        for (who, ipam) in self.ipams.iter().enumerate() {
            let names =
                self.attachments.keys().chain(ipam.attachments.keys()).copied().collect::<BTreeSet<_>>();
            let news =
                names.into_iter().filter(|name| ipam.attachments.get(name) != self.attachments.get(name));
            let news: Vec<_> = news.map(|name| Step::HearAttachment(who, name)).collect();
            if !news.is_empty() {
                steps.extend(news);
                // It may lock for who is gone again and again, until it hears so: in the end it does.
                if made >= LOCKS {
                    continue;
                }
            }
            if ipam.locks != self.locks {
                steps.push(Step::HearLock(who));
            }
            if !ipam.due.is_empty() || !matches!(ipam.at, At::Nothing) {
                steps.push(Step::Work(who));
            }
        }
        if self.garbage().is_some() {
            steps.push(Step::Collect);
        }
        steps
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Client => match self.clients.pop_front() {
                Some(Client::Attach(name)) => {
                    let mut new = NetworkAttachment::new("n", name, "node-1", "s");
                    new.metadata.uid = Some(format!("{name}-{}", self.version(name)));
                    self.put(name, Some(new));
                }
                Some(Client::Detach(name)) => self.put(name, None),
                None => {}
            },
            Step::HearAttachment(who, name) => {
                self.ipams[*who].hear_attachment(name, self.attachments.get(name));
            }
            Step::HearLock(who) => self.ipams[*who].hear_lock(self.locks.get(&address())),
            Step::Work(who) => self.work(*who),
            Step::Collect => {
                if let Some(key) = self.garbage() {
                    self.lock(key, None);
                }
            }
        }
    }

    /// Who tells of an address has the lock on it, and hence nobody else.
    fn wrong(&self) -> Option<String> {
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
            lock.is_none().then(|| format!("{name} tells of an address that it has not"))
        })
    }

    fn wrong_at_the_end(&self) -> Option<String> {
        let having = self.attachments.values().filter(|one| !one.status.ipv4.is_empty()).count();
        if having != self.attachments.len().min(1) {
            return Some(format!("{having} have the address"));
        }
        let full = [Trouble::Full.to_string()];
        let told =
            |one: &&Short<NetworkAttachment>| one.status.ipv4.is_empty() && one.status.errors.ipam != full;
        let untold = self.attachments.values().find(told).map(|one| format!("{one:?} is not told"));
        untold.or_else(|| (self.locks.len() != having).then(|| "a lock is left".into()))
    }
}

const TWO: [Client; 2] = [Client::Attach("a"), Client::Attach("b")];

#[test]
fn of_two_who_want_one_address_one_has_it() {
    holds(World::new(1, TWO), 100);
    holds(World::new(2, TWO), 1000);
}

#[test]
fn who_waits_has_it_when_whoever_had_it_goes() {
    let clients = [Client::Attach("a"), Client::Attach("b"), Client::Detach("a")];
    holds(World::new(1, clients), 500);
}

#[test]
fn an_attachment_that_is_made_again_has_nothing_of_the_former() {
    let clients = [Client::Attach("a"), Client::Detach("a"), Client::Attach("a")];
    holds(World::new(1, clients), 100);
}

#[test]
fn with_two_who_give_addresses_it_is_the_same() {
    let [attach, again, detach] = [Client::Attach("a"), Client::Attach("a"), Client::Detach("a")];
    wanders(&World::new(2, [attach.clone(), Client::Attach("b"), detach.clone()]), 5000);
    wanders(&World::new(2, [attach, detach, again, Client::Attach("b")]), 5000);
}

#[test]
fn who_writes_before_it_locks_is_found() {
    let mut wrong = World::new(2, TWO);
    wrong.mistake = Some(Mistake::WritesFirst);
    fails(wrong, "that it has not");
}

#[test]
fn who_gives_back_by_name_is_found() {
    let clients = [Client::Attach("a"), Client::Detach("a"), Client::Attach("a")];
    let mut wrong = World::new(2, clients);
    wrong.mistake = Some(Mistake::ReleasesByName);
    fails(wrong, "that it has not");
}
