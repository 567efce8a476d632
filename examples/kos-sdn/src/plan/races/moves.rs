//! An attachment changes its network while a node hears of each network by a stream of its own, as long as that matters to it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;

use super::{Race, fails, holds};
use crate::model::{NetworkAttachment, Vni};
use crate::plan::{AgentStep, Elsewhere, Interface, Local, Remote, Sight, next};

const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Where the attachment is: in which network, with which address, on which node.
type Where = (Vni, Ipv4Addr, Ipv4Addr);

fn at(vni: u32, low: u8, node: u8) -> Option<Where> {
    Some((Vni::new(vni).unwrap(), [10, 0, 0, low].into(), [192, 0, 2, node].into()))
}

#[derive(Clone, Debug)]
struct World {
    /// Where it is to be, one after the other; nowhere is that it is deleted.
    moves: VecDeque<Option<Where>>,
    /// Which networks stop mattering to the node, or matter again, one after the other.
    turns: VecDeque<(u32, bool)>,
    now: Option<Where>,
    was: Vec<Where>,
    agent: Agent,
    mistake: Option<Mistake>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    /// As the original did before it had a map across its informers: whatever is told last is so.
    BelievesTheLast,
    /// What was heard of a network that matters no more is kept.
    KeepsWhatItHeard,
}

/// A node with attachments in both networks, so both matter, and what it hears of another one.
#[derive(Clone, Debug, Default)]
struct Agent {
    /// Of each network in order, and in no order among them. The one of the node itself is 0.
    news: BTreeMap<u32, VecDeque<Option<Where>>>,
    knows: BTreeMap<u32, Where>,
    /// It does not listen to these.
    deaf: BTreeSet<u32>,
    is_due: bool,
    have: Option<Interface>,
    /// Held, as far as the finalizer goes.
    is_held: bool,
}

#[derive(Clone, Debug)]
enum Step {
    Move,
    Turn,
    Hear(u32),
    Run,
}

/// The stream that tells of a place: the node's own attachments have one of their own.
fn stream(place: &Where) -> u32 {
    if place.2 == HERE { 0 } else { place.0.number() }
}

impl World {
    fn new(moves: impl IntoIterator<Item = Option<Where>>) -> Self {
        Self {
            moves: moves.into_iter().collect(),
            turns: VecDeque::new(),
            now: None,
            was: Vec::new(),
            agent: Agent::default(),
            mistake: None,
        }
    }

    fn moves(&mut self) {
        let Some(to) = self.moves.pop_front() else { return };
        let before = std::mem::replace(&mut self.now, to);
        self.was.extend(to);
        if let Some(before) = before.filter(|before| to.as_ref().map(stream) != Some(stream(before))) {
            self.agent.told(stream(&before), None);
        }
        if let Some(to) = to {
            self.agent.told(stream(&to), Some(to));
        }
    }

    /// A stream that ends takes along what it told, and what it had to tell. One that begins tells what there is.
    fn turns(&mut self) {
        let Some((network, matters)) = self.turns.pop_front() else { return };
        let Agent { news, knows, deaf, is_due, .. } = &mut self.agent;
        if matters {
            deaf.remove(&network);
            self.agent.told(network, self.now.filter(|now| stream(now) == network));
            return;
        }
        deaf.insert(network);
        news.remove(&network);
        if self.mistake != Some(Mistake::KeepsWhatItHeard) {
            knows.remove(&network);
        }
        *is_due = true;
    }

    /// What the node is to have.
    fn wanted(&self) -> Option<Interface> {
        self.now.filter(|now| !self.agent.deaf.contains(&stream(now))).map(as_wanted)
    }
}

impl Agent {
    fn told(&mut self, stream: u32, news: Option<Where>) {
        if !self.deaf.contains(&stream) {
            self.news.entry(stream).or_default().push_back(news);
        }
    }

    fn hear(&mut self, stream: u32, mistake: Option<Mistake>) {
        let Some(told) = self.news.get_mut(&stream).and_then(VecDeque::pop_front) else { return };
        if mistake == Some(Mistake::BelievesTheLast) {
            self.have = told.map(|(vni, address, host)| Interface::Remote(Remote::new(vni, address, host)));
            return;
        }
        match told {
            Some(place) => drop(self.knows.insert(stream, place)),
            None => drop(self.knows.remove(&stream)),
        }
        self.is_due = true;
    }

    /// As a run of the agent does: steps until there is nothing to do.
    fn run(&mut self) {
        self.is_due = false;
        let here = self.knows.get(&0).map(|(vni, address, _)| {
            let mut here = NetworkAttachment::new("n", "a", "node-1", "s");
            here.status.lock_uid = "lock".into();
            here.status.address_vni = vni.number();
            here.status.ipv4 = address.to_string();
            here
        });
        let elsewhere: Vec<_> = self.knows.iter().filter(|(stream, _)| **stream != 0).collect();
        let elsewhere = match elsewhere[..] {
            [] => Elsewhere::Nothing,
            [(_, &(vni, address, host))] => Elsewhere::There(vni, address, host),
            _ => Elsewhere::Unclear,
        };
        for _ in 0..8 {
            let mut here = here.clone();
            if let (Some(here), true) = (&mut here, self.is_held) {
                here.metadata.finalizers = Some(vec![crate::plan::FINALIZER.into()]);
            }
            let step = next(&Sight {
                host: HERE,
                here: here.as_ref(),
                elsewhere,
                have: self.have.as_ref(),
                report: None,
                wrong: &[],
                failed: false,
            });
            match step {
                AgentStep::Make(interface) => assert!(self.have.replace(interface).is_none(), "one for each"),
                AgentStep::Unmake(interface) => assert_eq!(self.have.take(), Some(interface)),
                AgentStep::Hold => self.is_held = true,
                // What it says is not what this is about.
                AgentStep::Say(_) | AgentStep::LetGo | AgentStep::Rest => return,
            }
        }
        panic!("its steps have no end");
    }
}

fn as_wanted(place: Where) -> Interface {
    match stream(&place) {
        0 => Interface::Local(Local::new(place.0, place.1)),
        _ => Interface::Remote(Remote::new(place.0, place.1, place.2)),
    }
}

impl Race for World {
    type Step = Step;

    fn steps(&self) -> Vec<Step> {
        let told = self.agent.news.iter().filter(|(_, news)| !news.is_empty()).map(|(stream, _)| *stream);
        let mut steps: Vec<Step> = told.map(Step::Hear).collect();
        steps.extend((!self.moves.is_empty()).then_some(Step::Move));
        steps.extend((!self.turns.is_empty()).then_some(Step::Turn));
        steps.extend(self.agent.is_due.then_some(Step::Run));
        steps
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Move => self.moves(),
            Step::Turn => self.turns(),
            Step::Hear(stream) => self.agent.hear(*stream, self.mistake),
            Step::Run => self.agent.run(),
        }
    }

    fn wrong(&self) -> Option<String> {
        let have = self.agent.have.as_ref()?;
        let ever = self.was.iter().any(|was| as_wanted(*was) == *have);
        (!ever).then(|| format!("it has {have:?}, where the attachment never was"))
    }

    fn wrong_at_the_end(&self) -> Option<String> {
        let (have, wanted) = (&self.agent.have, self.wanted());
        (*have != wanted).then(|| format!("it has {have:?} at the end, and not {wanted:?}"))
    }
}

#[test]
fn who_changes_its_network_is_where_it_is_in_the_end() {
    for moves in [
        vec![at(1, 2, 2), at(2, 2, 2)],
        vec![at(1, 2, 2), at(2, 3, 2), at(1, 2, 2)],
        vec![at(1, 2, 2), at(2, 2, 2), at(1, 4, 2), at(2, 5, 3)],
        vec![at(1, 2, 2), None, at(2, 2, 3), None],
    ] {
        holds(World::new(moves), 8);
    }
}

/// Deleted and made again under its name on another node, this one among them.
#[test]
fn who_is_made_again_elsewhere_is_where_it_is_in_the_end() {
    for moves in [
        vec![at(1, 2, 1), None, at(1, 2, 2)],
        vec![at(1, 2, 2), None, at(2, 2, 1), None, at(1, 3, 3)],
        vec![at(1, 2, 1), None, at(2, 2, 1)],
    ] {
        holds(World::new(moves), 8);
    }
}

/// Networks stop mattering to the node, and matter again, at any moment of that.
#[test]
fn a_network_that_stops_mattering_takes_its_ways_along() {
    for (moves, turns) in [
        (vec![at(1, 2, 2), at(2, 2, 2)], vec![(1, false)]),
        (vec![at(1, 2, 2), at(2, 2, 2)], vec![(2, false), (2, true)]),
        (vec![at(1, 2, 2), at(2, 3, 2), at(1, 4, 2)], vec![(1, false), (2, false), (1, true)]),
        (vec![at(1, 2, 2), None, at(2, 2, 1), None, at(1, 3, 3)], vec![(1, false), (1, true), (1, false)]),
    ] {
        let mut world = World::new(moves);
        world.turns = turns.into();
        holds(world, 8);
    }
}

#[test]
fn an_agent_that_believes_whatever_is_told_last_is_found() {
    let mut wrong = World::new([at(1, 2, 2), at(2, 2, 2)]);
    wrong.mistake = Some(Mistake::BelievesTheLast);
    fails(wrong, "at the end");
}

#[test]
fn an_agent_that_keeps_what_it_heard_of_a_network_is_found() {
    let mut wrong = World::new([at(1, 2, 2)]);
    wrong.turns = [(1, false)].into();
    wrong.mistake = Some(Mistake::KeepsWhatItHeard);
    fails(wrong, "at the end");
}
