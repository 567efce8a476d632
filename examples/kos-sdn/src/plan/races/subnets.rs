//! Two subnets in each other's way that are made at once, and validators that hear of them in opposite orders.

use std::collections::{BTreeMap, VecDeque};

use super::{Race, fails, holds, wanders};
use crate::model::{Subnet, SubnetStatus};
use crate::plan::{Examine, Judged, Validator, conflicts};

type Place = (String, String);

#[derive(Clone, Debug)]
struct World {
    /// What clients do, in this order, at any time.
    clients: VecDeque<Client>,
    there: BTreeMap<Place, Subnet>,
    /// How often each was written: what others did makes no other state.
    written: BTreeMap<Place, u32>,
    validators: Vec<Working>,
    /// The mistake: they judge by what they have heard of.
    by_cache: bool,
}

#[derive(Clone, Debug)]
enum Client {
    Create(&'static str, &'static str),
    Delete(&'static str),
}

#[derive(Clone, Debug, Default)]
struct Working {
    validator: Validator,
    /// Of each subnet in order, and in no order among them.
    news: BTreeMap<Place, VecDeque<Option<Subnet>>>,
    cache: BTreeMap<Place, Subnet>,
    queue: VecDeque<Place>,
    at: At,
}

#[derive(Clone, Debug, Default)]
enum At {
    #[default]
    Nothing,
    List(Subnet),
    Judge(Subnet, Vec<Subnet>),
    Write(Subnet, SubnetStatus),
}

#[derive(Clone, Debug)]
enum Step {
    Client,
    Hear(usize, Place),
    Work(usize),
}

fn place(name: &str) -> Place {
    ("n".into(), name.into())
}

impl World {
    fn new(validators: usize, clients: impl IntoIterator<Item = Client>) -> Self {
        Self {
            clients: clients.into_iter().collect(),
            there: BTreeMap::new(),
            written: BTreeMap::new(),
            validators: vec![Working::default(); validators],
            by_cache: false,
        }
    }

    fn put(&mut self, place: Place, subnet: Option<Subnet>) {
        let version = self.written.entry(place.clone()).or_default();
        *version += 1;
        let subnet = subnet.map(|mut subnet| {
            subnet.metadata.resource_version = Some(version.to_string());
            subnet
        });
        for validator in &mut self.validators {
            validator.news.entry(place.clone()).or_default().push_back(subnet.clone());
        }
        match subnet {
            Some(subnet) => drop(self.there.insert(place, subnet)),
            None => drop(self.there.remove(&place)),
        }
    }

    fn work(&mut self, who: usize) {
        let working = &mut self.validators[who];
        let (next, write) = match std::mem::take(&mut working.at) {
            At::Nothing => {
                let Some(place) = working.queue.pop_front() else { return };
                let found = working.cache.get(&place).cloned();
                let begin = working.validator.begin(&place, found.as_ref());
                working.queue.extend(begin.wake);
                match (found, begin.examine) {
                    (Some(subnet), Examine::List(_)) => (At::List(subnet), None),
                    (Some(subnet), Examine::Write(status)) => (At::Write(subnet, status), None),
                    _ => (At::Nothing, None),
                }
            }
            At::List(subnet) => {
                let listed = if self.by_cache { &working.cache } else { &self.there };
                (At::Judge(subnet, listed.values().cloned().collect()), None)
            }
            At::Judge(subnet, listed) => match working.validator.judge(&subnet, &listed) {
                Judged::Early { .. } => {
                    working.queue.push_back(place_of(&subnet));
                    (At::Nothing, None)
                }
                Judged::Same => (At::Nothing, None),
                Judged::Write(status) => (At::Write(subnet, status), None),
            },
            At::Write(subnet, status) => (At::Nothing, Some((subnet, status))),
        };
        working.at = next;
        let Some((subnet, status)) = write else { return };
        let place = place_of(&subnet);
        let now = self.there.get(&place).and_then(|now| now.metadata.resource_version.clone());
        match now == subnet.metadata.resource_version {
            true => self.put(place, Some(Subnet { status, ..subnet })),
            false => self.validators[who].queue.push_back(place),
        }
    }

    fn in_the_way(&self, of: &Subnet) -> bool {
        self.there
            .values()
            .any(|other| other.metadata.uid != of.metadata.uid && !conflicts(of, other).is_empty())
    }
}

impl Race for World {
    type Step = Step;

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.clients.is_empty() {
            steps.push(Step::Client);
        }
        for (who, working) in self.validators.iter().enumerate() {
            steps.extend(working.news.keys().map(|place| Step::Hear(who, place.clone())));
            if !working.queue.is_empty() || !matches!(working.at, At::Nothing) {
                steps.push(Step::Work(who));
            }
        }
        steps
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Client => match self.clients.pop_front() {
                Some(Client::Create(name, block)) => {
                    let mut subnet = Subnet::new("n", name, 1, block);
                    subnet.metadata.uid =
                        Some(format!("{name}-{}", self.written.get(&place(name)).unwrap_or(&0)));
                    self.put(place(name), Some(subnet));
                }
                Some(Client::Delete(name)) => self.put(place(name), None),
                None => {}
            },
            Step::Hear(who, place) => {
                let working = &mut self.validators[*who];
                let told = working.news.get_mut(place).and_then(VecDeque::pop_front);
                working.news.retain(|_, news| !news.is_empty());
                match told {
                    Some(Some(subnet)) => drop(working.cache.insert(place.clone(), subnet)),
                    _ => drop(working.cache.remove(place)),
                }
                // One entry for each.
                if !working.queue.contains(place) {
                    working.queue.push_back(place.clone());
                }
            }
            Step::Work(who) => self.work(*who),
        }
    }

    fn wrong(&self) -> Option<String> {
        let counting: Vec<_> = self.there.values().filter(|one| one.status.validated).collect();
        let both = |one: &&&Subnet| {
            counting
                .iter()
                .any(|other| other.metadata.uid != one.metadata.uid && !conflicts(one, other).is_empty())
        };
        counting.iter().any(|one| both(&one)).then(|| "two count in each other's way".into())
    }

    fn wrong_at_the_end(&self) -> Option<String> {
        self.there.values().find_map(|one| match (one.status.validated, self.in_the_way(one)) {
            (false, false) => Some(format!("nothing is in the way of {one:?}, and it does not count")),
            (false, true) if one.status.errors.is_empty() => Some(format!("{one:?} is not told why")),
            _ => None,
        })
    }
}

fn place_of(subnet: &Subnet) -> Place {
    place(subnet.metadata.name.as_deref().unwrap_or_default())
}

const AT_ONCE: [Client; 2] = [Client::Create("a", "10.0.0.0/24"), Client::Create("b", "10.0.0.0/25")];

#[test]
fn of_two_subnets_at_once_never_both_count() {
    holds(World::new(1, AT_ONCE), 100);
    holds(World::new(1, AT_ONCE.into_iter().chain([Client::Delete("a")])), 200);
}

#[test]
fn two_validators_that_hear_in_opposite_orders_never_let_both_count() {
    holds(World::new(2, AT_ONCE), 1000);
}

/// A third comes when one goes: it may count instead.
#[test]
fn who_comes_when_another_goes_is_judged_by_what_is_there() {
    let clients = [
        Client::Create("a", "10.0.0.0/24"),
        Client::Delete("a"),
        Client::Create("a", "10.0.1.0/24"),
        Client::Create("b", "10.0.0.0/25"),
    ];
    holds(World::new(1, clients.clone()), 500);
    wanders(&World::new(2, clients), 5000);
    wanders(&World::new(2, AT_ONCE.into_iter().chain([Client::Delete("a")])), 5000);
}

#[test]
fn validators_that_trust_their_caches_are_found() {
    let mut wrong = World::new(2, AT_ONCE);
    wrong.by_cache = true;
    fails(wrong, "two count");
}
