use std::collections::VecDeque;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

fn subnet(name: &str, uid: &str, ipv4: &str) -> Subnet {
    let (namespace, name) = name.split_once('/').unwrap();
    let mut subnet = Subnet::new(namespace, name, 1, ipv4);
    subnet.metadata.uid = Some(uid.into());
    subnet
}

fn place(name: &str) -> NamespacedName {
    let (namespace, name) = name.split_once('/').unwrap();
    (namespace.into(), name.into())
}

fn list() -> Examination {
    Examination::List(Vni::new(1).unwrap())
}

fn good() -> Verdict {
    Verdict::Write(SubnetStatus { validated: true, ..SubnetStatus::default() })
}

fn bad(errors: &[&str]) -> Verdict {
    let errors = errors.iter().map(|error| (*error).to_owned()).collect();
    Verdict::Write(SubnetStatus { errors, ..SubnetStatus::default() })
}

#[test]
fn subnet_without_conflict_is_validated() {
    let mut validator = SubnetValidator::new();
    let (a, b) = (subnet("n/a", "1", "10.0.0.0/24"), subnet("n/b", "2", "10.0.1.0/24"));
    let begin = validator.begin(&place("n/a"), Some(&a));
    assert_eq!(begin, BeginOutcome { wake: vec![], examine: list() });
    assert_eq!(validator.judge(&a, &[a.clone(), b]), good());
}

#[test]
fn validated_subnet_is_not_examined() {
    let mut a = subnet("n/a", "1", "10.0.0.0/24");
    a.status.validated = true;
    assert_eq!(SubnetValidator::new().begin(&place("n/a"), Some(&a)).examine, Examination::Skip);
}

#[test]
fn invalid_subnet_is_reported_once() {
    let mut validator = SubnetValidator::new();
    let check = |subnet: Subnet, why: &str, validator: &mut SubnetValidator| {
        let Examination::Write(status) = validator.begin(&place("n/a"), Some(&subnet)).examine else {
            panic!("{why}");
        };
        assert_eq!((status.validated, &*status.errors), (false, &[why.to_owned()][..]));
        let reported = Subnet { status, ..subnet };
        assert_eq!(validator.begin(&place("n/a"), Some(&reported)).examine, Examination::Skip);
    };
    let mut unnumbered = subnet("n/a", "1", "10.0.0.0/24");
    unnumbered.spec.vni = 0;
    check(unnumbered, "spec.vni: must be in [1,2097151]", &mut validator);
    let public = "spec.ipv4: must be compliant with RFC 1918 and is not";
    check(subnet("n/a", "2", "192.0.2.0/24"), public, &mut validator);
    let mut again = subnet("n/a", "3", "10.0.0.0/24");
    again.status.errors = vec!["of another time".into()];
    assert_eq!(validator.begin(&place("n/a"), Some(&again)).examine, list());
}

#[test]
fn conflicting_subnets_report_each_other() {
    let mut validator = SubnetValidator::new();
    let (a, b) = (subnet("n/a", "1", "10.0.0.0/24"), subnet("m/b", "2", "10.0.0.128/25"));
    for one in [&a, &b] {
        validator.begin(&key_of(one), Some(one));
    }
    let all = [a.clone(), b.clone()];
    let reported = ["CIDR overlaps with m/b's (10.0.0.128/25)", "same VNI but different namespace wrt m/b"];
    assert_eq!(validator.judge(&a, &all), bad(&reported));
    let reported = ["CIDR overlaps with n/a's (10.0.0.0/24)", "same VNI but different namespace wrt n/a"];
    let judged = validator.judge(&b, &all);
    assert_eq!(judged, bad(&reported));

    let Verdict::Write(status) = judged else { unreachable!() };
    let reported = Subnet { status, ..b.clone() };
    assert_eq!(validator.judge(&reported, &all), Verdict::Unchanged);
    let begin = validator.begin(&place("n/a"), None);
    assert_eq!(begin.wake, [place("m/b")], "the blocking subnet is deleted");
    assert_eq!(validator.judge(&reported, &[b]), good());
}

#[test]
fn conflict_before_begin_is_early() {
    let mut validator = SubnetValidator::new();
    let (a, b) = (subnet("n/a", "1", "10.0.0.0/24"), subnet("n/b", "2", "10.0.0.0/24"));
    validator.begin(&place("n/a"), Some(&a));
    let all = [a.clone(), b.clone()];
    assert_eq!(validator.judge(&a, &all), Verdict::Early { rival: place("n/b") });
    validator.begin(&place("n/b"), Some(&subnet("n/b", "0", "10.0.0.0/24")));
    assert_eq!(
        validator.judge(&a, &all),
        Verdict::Early { rival: place("n/b") },
        "another subnet had the name"
    );
    validator.begin(&place("n/b"), Some(&b));
    assert_eq!(validator.judge(&a, &all), bad(&["CIDR overlaps with n/b's (10.0.0.0/24)"]));
}

/// The original kept conflicts forever, some of them several times.
#[test]
fn conflicts_are_dropped_with_their_subnet() {
    let mut validator = SubnetValidator::new();
    let a = subnet("n/a", "1", "10.0.0.0/24");
    validator.begin(&place("n/a"), Some(&a));
    for round in 0..100 {
        let b = subnet("n/b", &format!("b{round}"), "10.0.0.0/24");
        validator.begin(&place("n/b"), Some(&b));
        for _ in 0..3 {
            validator.judge(&b, &[a.clone(), b.clone()]);
        }
        assert_eq!(validator.remembered(), (2, 1));
        validator.begin(&place("n/b"), None);
        assert_eq!(validator.remembered(), (1, 0));
    }
}

/// The existing subnets, and two validators with lagging caches.
struct ValidatorSystem {
    stored: BTreeMap<NamespacedName, Subnet>,
    revision: u64,
    validators: [LaggingValidator; 2],
}

#[derive(Default)]
struct LaggingValidator {
    validator: SubnetValidator,
    events: VecDeque<(NamespacedName, Option<Subnet>)>,
    cache: BTreeMap<NamespacedName, Subnet>,
    queue: VecDeque<NamespacedName>,
    at: LaggingPhase,
}

#[derive(Default)]
enum LaggingPhase {
    #[default]
    Nothing,
    List(Subnet),
    Judge(Subnet, Vec<Subnet>),
    Write(Subnet, SubnetStatus),
}

#[derive(Clone, Debug)]
enum ValidatorOp {
    Create { place: u8, block: u8 },
    Delete(Index),
    Receive(bool),
    Work(bool),
    Settle,
}

fn op() -> impl Strategy<Value = ValidatorOp> {
    prop_oneof![
        1 => (0..6_u8, 0..6_u8).prop_map(|(place, block)| ValidatorOp::Create { place, block }),
        1 => any::<Index>().prop_map(ValidatorOp::Delete),
        4 => any::<bool>().prop_map(ValidatorOp::Receive),
        6 => any::<bool>().prop_map(ValidatorOp::Work),
        1 => Just(ValidatorOp::Settle),
    ]
}

impl ValidatorSystem {
    fn new() -> Self {
        Self { stored: BTreeMap::new(), revision: 0, validators: Default::default() }
    }

    fn put(&mut self, mut subnet: Subnet) {
        self.revision += 1;
        subnet.metadata.resource_version = Some(self.revision.to_string());
        self.notify(&key_of(&subnet), Some(&subnet));
        self.stored.insert(key_of(&subnet), subnet);
    }

    fn notify(&mut self, place: &NamespacedName, subnet: Option<&Subnet>) {
        for validator in &mut self.validators {
            validator.events.push_back((place.clone(), subnet.cloned()));
        }
    }

    fn create(&mut self, at: u8, block: u8) {
        let name = ["m/a", "n/a", "n/b", "n/c", "n/d", "n/e"][usize::from(at)];
        let block =
            ["10.0.0.0/24", "10.0.0.0/25", "10.0.0.128/25", "10.0.1.0/24", "10.0.0.0/16", "10.0.2.0/24"]
                [usize::from(block)];
        if !self.stored.contains_key(&place(name)) {
            self.put(subnet(name, &format!("uid-{}", self.revision), block));
        }
    }

    fn delete(&mut self, which: &Index) {
        if !self.stored.is_empty() {
            let place = self.stored.keys().nth(which.index(self.stored.len())).unwrap().clone();
            self.stored.remove(&place);
            self.revision += 1;
            self.notify(&place, None);
        }
    }

    fn receive(&mut self, index: usize) -> bool {
        let validator = &mut self.validators[index];
        let Some((place, subnet)) = validator.events.pop_front() else { return false };
        let uid = |subnet: Option<&Subnet>| subnet.map(|subnet| uid_of(subnet).to_owned());
        if uid(validator.cache.get(&place)) != uid(subnet.as_ref()) {
            validator.queue.push_back(place.clone());
        }
        match subnet {
            Some(subnet) => drop(validator.cache.insert(place, subnet)),
            None => drop(validator.cache.remove(&place)),
        }
        true
    }

    /// Executes one step of a validator.
    fn work(&mut self, index: usize) -> bool {
        let validator = &mut self.validators[index];
        let next = match std::mem::take(&mut validator.at) {
            LaggingPhase::Nothing => {
                let Some(place) = validator.queue.pop_front() else { return false };
                let found = validator.cache.get(&place).cloned();
                let begin = validator.validator.begin(&place, found.as_ref());
                validator.queue.extend(begin.wake);
                match (found, begin.examine) {
                    (Some(subnet), Examination::List(_)) => LaggingPhase::List(subnet),
                    _ => LaggingPhase::Nothing,
                }
            }
            LaggingPhase::List(subnet) => {
                LaggingPhase::Judge(subnet, self.stored.values().cloned().collect())
            }
            LaggingPhase::Judge(subnet, listed) => match validator.validator.judge(&subnet, &listed) {
                Verdict::Early { .. } => {
                    validator.queue.push_back(key_of(&subnet));
                    LaggingPhase::Nothing
                }
                Verdict::Unchanged => LaggingPhase::Nothing,
                Verdict::Write(status) => LaggingPhase::Write(subnet, status),
            },
            LaggingPhase::Write(subnet, status) => {
                let place = key_of(&subnet);
                let now = self.stored.get(&place);
                let is_as_read =
                    now.is_some_and(|now| now.metadata.resource_version == subnet.metadata.resource_version);
                if is_as_read {
                    self.put(Subnet { status, ..subnet });
                } else {
                    validator.queue.push_back(place);
                }
                LaggingPhase::Nothing
            }
        };
        self.validators[index].at = next;
        true
    }

    fn conflicting(&self, one: &Subnet) -> Vec<&Subnet> {
        self.stored
            .values()
            .filter(|other| uid_of(other) != uid_of(one) && !conflicts(one, other).is_empty())
            .collect()
    }

    fn check(&self) {
        for one in self.stored.values().filter(|one| one.status.validated) {
            let both: Vec<_> =
                self.conflicting(one).into_iter().filter(|other| other.status.validated).collect();
            assert!(both.is_empty(), "{one:?} and {both:?}");
        }
    }

    fn settle(&mut self) {
        for _ in 0..10_000 {
            let mut busy = false;
            for index in 0..2 {
                busy |= self.receive(index) | self.work(index);
                self.check();
            }
            if !busy {
                return;
            }
        }
        panic!("no end is reachable");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn two_validators_never_validate_conflicting_subnets(ops in proptest::collection::vec(op(), 0..200)) {
        let mut world = ValidatorSystem::new();
        for op in ops {
            match op {
                ValidatorOp::Create { place, block } => world.create(place, block),
                ValidatorOp::Delete(which) => world.delete(&which),
                ValidatorOp::Receive(index) => drop(world.receive(usize::from(index))),
                ValidatorOp::Work(index) => drop(world.work(usize::from(index))),
                ValidatorOp::Settle => world.settle(),
            }
            world.check();
        }
        world.settle();
        for one in world.stored.values() {
            let conflicting = world.conflicting(one);
            match (one.status.validated, conflicting.is_empty()) {
                (true, _) => {}
                (false, true) => panic!("{one:?} has no conflict and is not validated"),
                (false, false) => prop_assert!(!one.status.errors.is_empty()),
            }
        }
    }
}
