//! One who gives addresses, whose caches lag and who crashes, beside clients who come and go as they like.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::plan::{Addresses, WaitLists};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const BLOCKS: [&str; 2] = ["10.0.0.0/30", "10.0.1.0/30"];

#[derive(Clone, Debug)]
enum Op {
    Create(usize),
    Delete(usize),
    Subnet(Option<usize>),
    Hear(usize),
    Work(u8),
    Collect,
    Crash,
    Settle,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..NAMES.len()).prop_map(Op::Create),
        3 => (0..NAMES.len()).prop_map(Op::Delete),
        2 => proptest::option::weighted(0.8, 0..BLOCKS.len()).prop_map(Op::Subnet),
        12 => (0..3_usize).prop_map(Op::Hear),
        20 => any::<u8>().prop_map(Op::Work),
        1 => Just(Op::Collect),
        1 => Just(Op::Crash),
        2 => Just(Op::Settle),
    ]
}

/// What is there.
#[derive(Clone, Debug, Default)]
struct Store {
    subnet: Option<Subnet>,
    attachments: BTreeMap<String, NetworkAttachment>,
    /// With the name of the owner.
    locks: BTreeMap<AddressKey, (String, OwnedLock)>,
}

#[derive(Debug)]
enum News {
    Subnet(Option<Box<Subnet>>),
    Attachment(String, Option<Box<NetworkAttachment>>),
    Lock(AddressKey, Option<(String, OwnedLock)>),
}

/// One who gives addresses.
#[derive(Debug)]
struct Ipam {
    cache: Store,
    /// Of subnets, attachments and locks: each in order, and in no order among them.
    news: [VecDeque<News>; 3],
    queue: VecDeque<String>,
    gone: BTreeMap<String, String>,
    taken: Addresses,
    lines: WaitLists<(), String>,
    at: Option<(String, Decided)>,
}

/// What it decided, and on what.
#[derive(Debug)]
struct Decided {
    decision: Decision,
    attachment: Option<NetworkAttachment>,
    subnet: Option<Subnet>,
}

struct World {
    store: Store,
    revision: u64,
    ipam: Ipam,
}

impl Ipam {
    fn begin(store: &Store) -> Self {
        let owners = store.locks.values().map(|(owner, _)| owner.clone());
        let queue: BTreeSet<String> = store.attachments.keys().cloned().chain(owners).collect();
        let mut taken = Addresses::default();
        for key in store.locks.keys() {
            taken.take(key.address.into());
        }
        Self {
            cache: store.clone(),
            news: Default::default(),
            queue: queue.into_iter().collect(),
            gone: BTreeMap::new(),
            taken,
            lines: WaitLists::new(NAMES.len()),
            at: None,
        }
    }

    fn hear(&mut self, kind: usize) -> bool {
        match self.news[kind].pop_front() {
            None => return false,
            Some(News::Subnet(subnet)) => {
                self.cache.subnet = subnet.map(|subnet| *subnet);
                self.queue.extend(self.cache.attachments.keys().cloned());
            }
            Some(News::Attachment(name, now)) => {
                let uid = |of: &NetworkAttachment| of.metadata.uid.clone().unwrap();
                let before = self.cache.attachments.get(&name).map(uid);
                if let Some(before) = before.filter(|before| now.as_deref().map(uid).as_ref() != Some(before))
                {
                    self.gone.insert(name.clone(), before);
                    self.queue.extend(self.lines.leave(&name));
                }
                match now {
                    Some(now) => drop(self.cache.attachments.insert(name.clone(), *now)),
                    None => drop(self.cache.attachments.remove(&name)),
                }
                self.queue.push_back(name);
            }
            Some(News::Lock(key, Some((owner, lock)))) => {
                self.taken.take(key.address.into());
                self.cache.locks.insert(key, (owner.clone(), lock));
                self.queue.push_back(owner);
            }
            Some(News::Lock(key, None)) => {
                self.taken.release(key.address.into());
                self.queue.extend(self.lines.freed(&()));
                self.queue.extend(self.cache.locks.remove(&key).map(|(owner, _)| owner));
            }
        }
        true
    }
}

impl World {
    fn new() -> Self {
        let store = Store::default();
        Self { ipam: Ipam::begin(&store), store, revision: 0 }
    }

    fn uid(&mut self) -> String {
        self.revision += 1;
        format!("uid-{:05}", self.revision)
    }

    fn put(&mut self, name: &str, attachment: Option<NetworkAttachment>) {
        let attachment = attachment.map(|mut attachment| {
            self.revision += 1;
            attachment.metadata.resource_version = Some(self.revision.to_string());
            attachment
        });
        self.ipam.news[1].push_back(News::Attachment(name.into(), attachment.clone().map(Box::new)));
        match attachment {
            Some(attachment) => drop(self.store.attachments.insert(name.into(), attachment)),
            None => drop(self.store.attachments.remove(name)),
        }
        self.check();
    }

    fn lock(&mut self, key: AddressKey, lock: Option<(String, OwnedLock)>) {
        self.ipam.news[2].push_back(News::Lock(key, lock.clone()));
        match lock {
            Some(lock) => drop(self.store.locks.insert(key, lock)),
            None => drop(self.store.locks.remove(&key)),
        }
        self.check();
    }

    fn subnet(&mut self, block: Option<usize>) {
        let subnet = block.map(|block| {
            let mut subnet = Subnet::new("n", "s", 1, BLOCKS[block]);
            subnet.status.validated = true;
            subnet
        });
        self.ipam.news[0].push_back(News::Subnet(subnet.clone().map(Box::new)));
        self.store.subnet = subnet;
    }

    /// Locks of those that are gone go.
    fn collect(&mut self) -> bool {
        let lives = |owner: &str| {
            self.store
                .attachments
                .values()
                .any(|attachment| attachment.metadata.uid.as_deref() == Some(owner))
        };
        let of_nobody =
            self.store.locks.values().find(|(_, lock)| !lives(&lock.owner_uid)).map(|(_, lock)| lock.key);
        of_nobody.map(|key| self.lock(key, None)).is_some()
    }

    /// An address that a status tells is held by the lock that it tells, and hence nobody else's.
    fn check(&self) {
        for (name, attachment) in &self.store.attachments {
            let status = &attachment.status;
            if status.ipv4.is_empty() {
                continue;
            }
            let lock = self.store.locks.values().find(|(_, lock)| lock.uid == status.lock_uid);
            let (owner, lock) =
                lock.unwrap_or_else(|| panic!("{name} tells of {} without a lock", status.ipv4));
            assert_eq!((owner, Some(&lock.owner_uid)), (name, attachment.metadata.uid.as_ref()));
            assert_eq!(
                (lock.key.address.to_string(), lock.key.vni.number()),
                (status.ipv4.clone(), status.address_vni)
            );
        }
    }

    fn work(&mut self, chance: u8) -> bool {
        let Some((name, view)) = self.ipam.at.take() else { return self.decide() };
        for lock in view.decision.release {
            if self.store.locks.get(&lock.key).is_some_and(|(_, there)| there.uid == lock.uid) {
                self.lock(lock.key, None);
            }
            // What it gave back it does not see any more when it runs again.
            while self.ipam.hear(2) {}
        }
        match (view.decision.step, view.attachment, view.subnet) {
            (Step::Pick { vni, range }, Some(attachment), _) => {
                match self.ipam.taken.pick(&range, chance.into()) {
                    Some(address) => {
                        self.claim(&name, &attachment, AddressKey { vni, address: address.into() })
                    }
                    None => {
                        assert!(self.ipam.lines.wait(&(), &name, None));
                        // Who went meanwhile was told to be gone before it waited: nobody else takes it out of the line.
                        if !self.ipam.cache.attachments.contains_key(&name) {
                            self.ipam.queue.extend(self.ipam.lines.leave(&name));
                        }
                        let status = Trouble::Full.written(&attachment);
                        self.write(&name, attachment, status);
                    }
                }
            }
            (Step::Write(address), Some(attachment), Some(subnet)) => {
                self.ipam.lines.served(&name);
                let status = address.written(&attachment, &subnet);
                self.write(&name, attachment, status);
            }
            (Step::None(trouble), Some(attachment), _) => {
                self.ipam.queue.extend(self.ipam.lines.leave(&name));
                let status = trouble.written(&attachment);
                self.write(&name, attachment, status);
            }
            _ => {}
        }
        true
    }

    fn decide(&mut self) -> bool {
        let Some(name) = self.ipam.queue.pop_front() else { return false };
        let cache = &self.ipam.cache;
        let (attachment, subnet) = (cache.attachments.get(&name).cloned(), cache.subnet.clone());
        let locks: Vec<OwnedLock> =
            cache.locks.values().filter(|(owner, _)| *owner == name).map(|(_, lock)| lock.clone()).collect();
        let gone = if attachment.is_none() { self.ipam.gone.remove(&name) } else { None };
        let view = View {
            attachment: attachment.as_ref(),
            gone: gone.as_deref(),
            subnet: subnet.as_ref(),
            locks: &locks,
        };
        self.ipam.at = Some((name, Decided { decision: decide(&view), attachment, subnet }));
        true
    }

    fn claim(&mut self, name: &str, attachment: &NetworkAttachment, key: AddressKey) {
        if self.store.locks.contains_key(&key) {
            self.ipam.queue.push_back(name.into());
            return;
        }
        let uid = self.uid();
        let created = Timestamp::from_second(i64::try_from(self.revision / 4).unwrap()).ok();
        let owner_uid = attachment.metadata.uid.clone().unwrap();
        self.lock(key, Some((name.into(), OwnedLock { key, uid, owner_uid, created })));
        // What it wrote it reads before it runs again.
        while self.ipam.hear(2) {}
    }

    fn write(&mut self, name: &str, attachment: NetworkAttachment, status: AttachmentStatus) {
        if status == attachment.status {
            return;
        }
        let now = self.store.attachments.get(name).and_then(|now| now.metadata.resource_version.clone());
        if now != attachment.metadata.resource_version {
            self.ipam.queue.push_back(name.into());
            return;
        }
        self.put(name, Some(NetworkAttachment { status, ..attachment }));
        while self.ipam.hear(1) {}
    }

    fn settle(&mut self) {
        for turn in 0..20_000_u32 {
            let heard = (0..3).any(|kind| self.ipam.hear(kind));
            if !heard && !self.work(turn.to_le_bytes()[0]) && !self.collect() {
                return self.is_settled();
            }
        }
        panic!("it never comes to an end");
    }

    fn is_settled(&self) {
        let all = self.store.attachments.values();
        let have = all.clone().filter(|attachment| !attachment.status.ipv4.is_empty()).count();
        let Some(subnet) = &self.store.subnet else {
            assert_eq!(have, 0);
            return;
        };
        let usable = subnet.spec.ipv4.parse::<Cidr>().unwrap().usable().count();
        assert_eq!(have, usable.min(self.store.attachments.len()), "{:#?}", self.store);
        assert_eq!(self.store.locks.len(), have, "no lock is left over");
        for without in all.filter(|attachment| attachment.status.ipv4.is_empty()) {
            assert!(without.status.address_contention);
            assert_eq!(without.status.errors.ipam, [Trouble::Full.to_string()]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn whoever_has_an_address_has_it_alone_and_whoever_can_have_one_gets_it(ops in proptest::collection::vec(op(), 0..300)) {
        let mut world = World::new();
        for op in ops {
            match op {
                Op::Create(which) if !world.store.attachments.contains_key(NAMES[which]) => {
                    let uid = world.uid();
                    let mut new = NetworkAttachment::new("n", NAMES[which], "node-1", "s");
                    new.metadata.uid = Some(uid);
                    world.put(NAMES[which], Some(new));
                }
                Op::Delete(which) if world.store.attachments.contains_key(NAMES[which]) => world.put(NAMES[which], None),
                Op::Create(_) | Op::Delete(_) => {}
                Op::Subnet(block) => world.subnet(block),
                Op::Hear(kind) => drop(world.ipam.hear(kind)),
                Op::Work(chance) => drop(world.work(chance)),
                Op::Collect => drop(world.collect()),
                Op::Crash => world.ipam = Ipam::begin(&world.store),
                Op::Settle => world.settle(),
            }
        }
        world.settle();
    }
}
