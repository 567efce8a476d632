//! A model of the IPAM controller with lagging caches and crashes, beside clients that create and
//! delete attachments.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::plan::{Addresses, WaitQueues};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const BLOCKS: [&str; 2] = ["10.0.0.0/30", "10.0.1.0/30"];

#[derive(Clone, Debug)]
enum IpamOp {
    Create(usize),
    Delete(usize),
    Subnet(Option<usize>),
    Receive(usize),
    Work(u8),
    Collect,
    Crash,
    Settle,
}

fn op() -> impl Strategy<Value = IpamOp> {
    prop_oneof![
        4 => (0..NAMES.len()).prop_map(IpamOp::Create),
        3 => (0..NAMES.len()).prop_map(IpamOp::Delete),
        2 => proptest::option::weighted(0.8, 0..BLOCKS.len()).prop_map(IpamOp::Subnet),
        12 => (0..3_usize).prop_map(IpamOp::Receive),
        20 => any::<u8>().prop_map(IpamOp::Work),
        1 => Just(IpamOp::Collect),
        1 => Just(IpamOp::Crash),
        2 => Just(IpamOp::Settle),
    ]
}

/// The objects of the server.
#[derive(Clone, Debug, Default)]
struct ObjectStore {
    subnet: Option<Subnet>,
    attachments: BTreeMap<String, NetworkAttachment>,
    /// Locks by address, each with the name of the owning attachment.
    locks: BTreeMap<AddressKey, (String, OwnedLock)>,
}

#[derive(Debug)]
enum CacheEvent {
    Subnet(Option<Box<Subnet>>),
    Attachment(String, Option<Box<NetworkAttachment>>),
    Lock(AddressKey, Option<(String, OwnedLock)>),
}

/// The controller.
#[derive(Debug)]
struct IpamModel {
    cache: ObjectStore,
    /// Undelivered events of subnets, attachments and locks: ordered within a kind, unordered
    /// between kinds.
    pending_events: [VecDeque<CacheEvent>; 3],
    queue: VecDeque<String>,
    gone: BTreeMap<String, String>,
    taken: Addresses,
    queues: WaitQueues<(), String>,
    at: Option<(String, PendingDecision)>,
}

/// A decision that is not executed yet, and its input.
#[derive(Debug)]
struct PendingDecision {
    decision: IpamDecision,
    attachment: Option<NetworkAttachment>,
    subnet: Option<Subnet>,
}

struct IpamSystem {
    store: ObjectStore,
    revision: u64,
    ipam: IpamModel,
}

impl IpamModel {
    fn begin(store: &ObjectStore) -> Self {
        let owners = store.locks.values().map(|(owner, _)| owner.clone());
        let queue: BTreeSet<String> = store.attachments.keys().cloned().chain(owners).collect();
        let mut taken = Addresses::default();
        for key in store.locks.keys() {
            taken.take(key.address.into());
        }
        Self {
            cache: store.clone(),
            pending_events: Default::default(),
            queue: queue.into_iter().collect(),
            gone: BTreeMap::new(),
            taken,
            queues: WaitQueues::new(NAMES.len()),
            at: None,
        }
    }

    fn receive(&mut self, kind: usize) -> bool {
        match self.pending_events[kind].pop_front() {
            None => return false,
            Some(CacheEvent::Subnet(subnet)) => {
                self.cache.subnet = subnet.map(|subnet| *subnet);
                self.queue.extend(self.cache.attachments.keys().cloned());
            }
            Some(CacheEvent::Attachment(name, now)) => {
                let uid = |of: &NetworkAttachment| of.metadata.uid.clone().unwrap();
                let before = self.cache.attachments.get(&name).map(uid);
                if let Some(before) = before.filter(|before| now.as_deref().map(uid).as_ref() != Some(before))
                {
                    self.gone.insert(name.clone(), before);
                    self.queue.extend(self.queues.leave(&name));
                }
                match now {
                    Some(now) => drop(self.cache.attachments.insert(name.clone(), *now)),
                    None => drop(self.cache.attachments.remove(&name)),
                }
                self.queue.push_back(name);
            }
            Some(CacheEvent::Lock(key, Some((owner, lock)))) => {
                self.taken.take(key.address.into());
                self.cache.locks.insert(key, (owner.clone(), lock));
                self.queue.push_back(owner);
            }
            Some(CacheEvent::Lock(key, None)) => {
                self.taken.release(key.address.into());
                self.queue.extend(self.queues.freed(&()));
                self.queue.extend(self.cache.locks.remove(&key).map(|(owner, _)| owner));
            }
        }
        true
    }
}

impl IpamSystem {
    fn new() -> Self {
        let store = ObjectStore::default();
        Self { ipam: IpamModel::begin(&store), store, revision: 0 }
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
        self.ipam.pending_events[1]
            .push_back(CacheEvent::Attachment(name.into(), attachment.clone().map(Box::new)));
        match attachment {
            Some(attachment) => drop(self.store.attachments.insert(name.into(), attachment)),
            None => drop(self.store.attachments.remove(name)),
        }
        self.check();
    }

    fn lock(&mut self, key: AddressKey, lock: Option<(String, OwnedLock)>) {
        self.ipam.pending_events[2].push_back(CacheEvent::Lock(key, lock.clone()));
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
        self.ipam.pending_events[0].push_back(CacheEvent::Subnet(subnet.clone().map(Box::new)));
        self.store.subnet = subnet;
    }

    /// Deletes a lock of a deleted owner.
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

    /// The address in a status is held by the lock named there, so by nobody else.
    fn check(&self) {
        for (name, attachment) in &self.store.attachments {
            let status = &attachment.status;
            if status.ipv4.is_empty() {
                continue;
            }
            let lock = self.store.locks.values().find(|(_, lock)| lock.uid == status.lock_uid);
            let (owner, lock) = lock.unwrap_or_else(|| panic!("{name} has {} without a lock", status.ipv4));
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
            // The cache catches up with the controller's own releases before the next run.
            while self.ipam.receive(2) {}
        }
        match (view.decision.step, view.attachment, view.subnet) {
            (IpamStep::Pick { vni, range }, Some(attachment), _) => {
                match self.ipam.taken.pick(&range, chance.into()) {
                    Some(address) => {
                        self.claim(&name, &attachment, AddressKey { vni, address: address.into() })
                    }
                    None => {
                        assert!(self.ipam.queues.wait(&(), &name, None));
                        // The deletion event may precede the queueing: no other event would dequeue
                        // the waiter.
                        if !self.ipam.cache.attachments.contains_key(&name) {
                            self.ipam.queue.extend(self.ipam.queues.leave(&name));
                        }
                        let status = AddressFailure::Full.written(&attachment);
                        self.write(&name, attachment, status);
                    }
                }
            }
            (IpamStep::Write(address), Some(attachment), Some(subnet)) => {
                self.ipam.queues.served(&name);
                let status = address.written(&attachment, &subnet);
                self.write(&name, attachment, status);
            }
            (IpamStep::None(trouble), Some(attachment), _) => {
                self.ipam.queue.extend(self.ipam.queues.leave(&name));
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
        let view = IpamView {
            attachment: attachment.as_ref(),
            gone: gone.as_deref(),
            subnet: subnet.as_ref(),
            locks: &locks,
        };
        self.ipam.at = Some((name, PendingDecision { decision: decide(&view), attachment, subnet }));
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
        // The cache catches up with the controller's own writes before the next run.
        while self.ipam.receive(2) {}
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
        while self.ipam.receive(1) {}
    }

    fn settle(&mut self) {
        for turn in 0..20_000_u32 {
            let received = (0..3).any(|kind| self.ipam.receive(kind));
            if !received && !self.work(turn.to_le_bytes()[0]) && !self.collect() {
                return self.is_settled();
            }
        }
        panic!("no end is reachable");
    }

    fn is_settled(&self) {
        let all = self.store.attachments.values();
        let holding = all.clone().filter(|attachment| !attachment.status.ipv4.is_empty()).count();
        let Some(subnet) = &self.store.subnet else {
            assert_eq!(holding, 0);
            return;
        };
        let usable = subnet.spec.ipv4.parse::<Cidr>().unwrap().usable().count();
        assert_eq!(holding, usable.min(self.store.attachments.len()), "{:#?}", self.store);
        assert_eq!(self.store.locks.len(), holding, "no lock is left over");
        for without in all.filter(|attachment| attachment.status.ipv4.is_empty()) {
            assert!(without.status.address_contention);
            assert_eq!(without.status.errors.ipam, [AddressFailure::Full.to_string()]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn addresses_are_exclusive_and_eventually_assigned(ops in proptest::collection::vec(op(), 0..300)) {
        let mut world = IpamSystem::new();
        for op in ops {
            match op {
                IpamOp::Create(which) if !world.store.attachments.contains_key(NAMES[which]) => {
                    let uid = world.uid();
                    let mut new = NetworkAttachment::new("n", NAMES[which], "node-1", "s");
                    new.metadata.uid = Some(uid);
                    world.put(NAMES[which], Some(new));
                }
                IpamOp::Delete(which) if world.store.attachments.contains_key(NAMES[which]) => world.put(NAMES[which], None),
                IpamOp::Create(_) | IpamOp::Delete(_) => {}
                IpamOp::Subnet(block) => world.subnet(block),
                IpamOp::Receive(kind) => drop(world.ipam.receive(kind)),
                IpamOp::Work(chance) => drop(world.work(chance)),
                IpamOp::Collect => drop(world.collect()),
                IpamOp::Crash => world.ipam = IpamModel::begin(&world.store),
                IpamOp::Settle => world.settle(),
            }
        }
        world.settle();
    }
}
