//! Conflicting subnets created at the same time, and validators that receive their events in
//! opposite orders.

use std::collections::{BTreeMap, VecDeque};

use crate::model::{Subnet, SubnetStatus};
use crate::plan::{Examination, SubnetValidator, Verdict, conflicts};
use machinery::sync::explore::{Race, assert_fails, assert_holds, assert_random_walks};

type SubnetName = (String, String);

#[derive(Clone, Debug)]
struct SubnetRace {
    /// Client actions, executed in this order at any time.
    clients: VecDeque<SubnetAction>,
    stored: BTreeMap<SubnetName, Subnet>,
    /// Number of writes of each object, used as its resourceVersion. Counted per object, so that
    /// interleavings of writes to different objects lead to equal states.
    written: BTreeMap<SubnetName, u32>,
    validators: Vec<RacingValidator>,
    /// The mistake: judge by the cache instead of a live list.
    by_cache: bool,
}

#[derive(Clone, Debug)]
enum SubnetAction {
    Create(&'static str, &'static str),
    Delete(&'static str),
}

#[derive(Clone, Debug, Default)]
struct RacingValidator {
    validator: SubnetValidator,
    /// Events by subnet: ordered within one, unordered between subnets.
    events: BTreeMap<SubnetName, VecDeque<Option<Subnet>>>,
    cache: BTreeMap<SubnetName, Subnet>,
    queue: VecDeque<SubnetName>,
    at: RacingPhase,
}

#[derive(Clone, Debug, Default)]
enum RacingPhase {
    #[default]
    Nothing,
    List(Subnet),
    Judge(Subnet, Vec<Subnet>),
    Write(Subnet, SubnetStatus),
}

#[derive(Clone, Debug)]
enum SubnetRaceStep {
    SubnetAction,
    Receive(usize, SubnetName),
    Work(usize),
}

fn place(name: &str) -> SubnetName {
    ("n".into(), name.into())
}

impl SubnetRace {
    fn new(validators: usize, clients: impl IntoIterator<Item = SubnetAction>) -> Self {
        Self {
            clients: clients.into_iter().collect(),
            stored: BTreeMap::new(),
            written: BTreeMap::new(),
            validators: vec![RacingValidator::default(); validators],
            by_cache: false,
        }
    }

    fn put(&mut self, place: SubnetName, subnet: Option<Subnet>) {
        let version = self.written.entry(place.clone()).or_default();
        *version += 1;
        let subnet = subnet.map(|mut subnet| {
            subnet.metadata.resource_version = Some(version.to_string());
            subnet
        });
        for validator in &mut self.validators {
            validator.events.entry(place.clone()).or_default().push_back(subnet.clone());
        }
        match subnet {
            Some(subnet) => drop(self.stored.insert(place, subnet)),
            None => drop(self.stored.remove(&place)),
        }
    }

    fn work(&mut self, index: usize) {
        let validator = &mut self.validators[index];
        let (next, write) = match std::mem::take(&mut validator.at) {
            RacingPhase::Nothing => {
                let Some(place) = validator.queue.pop_front() else { return };
                let found = validator.cache.get(&place).cloned();
                let begin = validator.validator.begin(&place, found.as_ref());
                validator.queue.extend(begin.wake);
                match (found, begin.examine) {
                    (Some(subnet), Examination::List(_)) => (RacingPhase::List(subnet), None),
                    (Some(subnet), Examination::Write(status)) => (RacingPhase::Write(subnet, status), None),
                    _ => (RacingPhase::Nothing, None),
                }
            }
            RacingPhase::List(subnet) => {
                let listed = if self.by_cache { &validator.cache } else { &self.stored };
                (RacingPhase::Judge(subnet, listed.values().cloned().collect()), None)
            }
            RacingPhase::Judge(subnet, listed) => match validator.validator.judge(&subnet, &listed) {
                Verdict::Early { .. } => {
                    validator.queue.push_back(key_of(&subnet));
                    (RacingPhase::Nothing, None)
                }
                Verdict::Unchanged => (RacingPhase::Nothing, None),
                Verdict::Write(status) => (RacingPhase::Write(subnet, status), None),
            },
            RacingPhase::Write(subnet, status) => (RacingPhase::Nothing, Some((subnet, status))),
        };
        validator.at = next;
        let Some((subnet, status)) = write else { return };
        let place = key_of(&subnet);
        let now = self.stored.get(&place).and_then(|now| now.metadata.resource_version.clone());
        match now == subnet.metadata.resource_version {
            true => self.put(place, Some(Subnet { status, ..subnet })),
            false => self.validators[index].queue.push_back(place),
        }
    }

    fn conflicting(&self, of: &Subnet) -> bool {
        self.stored
            .values()
            .any(|other| other.metadata.uid != of.metadata.uid && !conflicts(of, other).is_empty())
    }
}

impl Race for SubnetRace {
    type Step = SubnetRaceStep;

    fn steps(&self) -> Vec<SubnetRaceStep> {
        let mut steps = Vec::new();
        if !self.clients.is_empty() {
            steps.push(SubnetRaceStep::SubnetAction);
        }
        for (index, validator) in self.validators.iter().enumerate() {
            steps.extend(validator.events.keys().map(|place| SubnetRaceStep::Receive(index, place.clone())));
            if !validator.queue.is_empty() || !matches!(validator.at, RacingPhase::Nothing) {
                steps.push(SubnetRaceStep::Work(index));
            }
        }
        steps
    }

    fn take(&mut self, step: &SubnetRaceStep) {
        match step {
            SubnetRaceStep::SubnetAction => match self.clients.pop_front() {
                Some(SubnetAction::Create(name, block)) => {
                    let mut subnet = Subnet::new("n", name, 1, block);
                    subnet.metadata.uid =
                        Some(format!("{name}-{}", self.written.get(&place(name)).unwrap_or(&0)));
                    self.put(place(name), Some(subnet));
                }
                Some(SubnetAction::Delete(name)) => self.put(place(name), None),
                None => {}
            },
            SubnetRaceStep::Receive(index, place) => {
                let validator = &mut self.validators[*index];
                let reported = validator.events.get_mut(place).and_then(VecDeque::pop_front);
                validator.events.retain(|_, events| !events.is_empty());
                match reported {
                    Some(Some(subnet)) => drop(validator.cache.insert(place.clone(), subnet)),
                    _ => drop(validator.cache.remove(place)),
                }
                // One queue entry per key.
                if !validator.queue.contains(place) {
                    validator.queue.push_back(place.clone());
                }
            }
            SubnetRaceStep::Work(index) => self.work(*index),
        }
    }

    fn violation(&self) -> Option<String> {
        let counting: Vec<_> = self.stored.values().filter(|one| one.status.validated).collect();
        let both = |one: &&&Subnet| {
            counting
                .iter()
                .any(|other| other.metadata.uid != one.metadata.uid && !conflicts(one, other).is_empty())
        };
        counting.iter().any(|one| both(&one)).then(|| "two conflicting subnets are validated".into())
    }

    fn violation_at_end(&self) -> Option<String> {
        self.stored.values().find_map(|one| match (one.status.validated, self.conflicting(one)) {
            (false, false) => Some(format!("{one:?} has no conflict and is not validated")),
            (false, true) if one.status.errors.is_empty() => Some(format!("{one:?} has no errors")),
            _ => None,
        })
    }
}

fn key_of(subnet: &Subnet) -> SubnetName {
    place(subnet.metadata.name.as_deref().unwrap_or_default())
}

const AT_ONCE: [SubnetAction; 2] =
    [SubnetAction::Create("a", "10.0.0.0/24"), SubnetAction::Create("b", "10.0.0.0/25")];

#[test]
fn conflicting_subnets_are_never_both_validated() {
    assert_holds(SubnetRace::new(1, AT_ONCE), 100);
    assert_holds(SubnetRace::new(1, AT_ONCE.into_iter().chain([SubnetAction::Delete("a")])), 200);
}

#[test]
fn opposite_event_orders_never_validate_both() {
    assert_holds(SubnetRace::new(2, AT_ONCE), 1000);
}

/// A third subnet is created when one is deleted: it may be validated instead.
#[test]
fn created_subnet_is_judged_by_the_live_list() {
    let clients = [
        SubnetAction::Create("a", "10.0.0.0/24"),
        SubnetAction::Delete("a"),
        SubnetAction::Create("a", "10.0.1.0/24"),
        SubnetAction::Create("b", "10.0.0.0/25"),
    ];
    assert_holds(SubnetRace::new(1, clients.clone()), 500);
    assert_random_walks(&SubnetRace::new(2, clients), 5000, 0);
    assert_random_walks(&SubnetRace::new(2, AT_ONCE.into_iter().chain([SubnetAction::Delete("a")])), 5000, 0);
}

#[test]
fn judging_by_cache_is_detected() {
    let mut wrong = SubnetRace::new(2, AT_ONCE);
    wrong.by_cache = true;
    assert_fails(wrong, "two conflicting");
}
