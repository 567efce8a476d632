//! An attachment changes its network while a node watches each network by a stream of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;

use machinery::objects::ObjectKey;

use crate::model::{NetworkAttachment, Vni};
use crate::plan::{
    AgentStep, AgentView, Interface, LocalInterface, PeerLocation, RemoteInterface, next_step,
};
use machinery::sync::explore::{Race, assert_fails, assert_holds};

const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Location of the attachment: network, address, node.
type Location = (Vni, Ipv4Addr, Ipv4Addr);

fn at(vni: u32, low: u8, node: u8) -> Option<Location> {
    Some((Vni::new(vni).unwrap(), [10, 0, 0, low].into(), [192, 0, 2, node].into()))
}

#[derive(Clone, Debug)]
struct MoveRace {
    /// The locations to move to, in order; `None` deletes the attachment.
    moves: VecDeque<Option<Location>>,
    /// Networks that the node stops or resumes watching, in order.
    watch_changes: VecDeque<(u32, bool)>,
    now: Option<Location>,
    former_locations: Vec<Location>,
    agent: AgentModel,
    mistake: Option<AgentMistake>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum AgentMistake {
    /// Trusts the last event of any stream, as the original did before it had a map across its
    /// informers.
    BelievesTheLast,
    /// Keeps cached peers of a network that it no longer watches.
    KeepsWhatItHeard,
}

/// A node with attachments in both networks, and its view of another attachment.
#[derive(Clone, Debug, Default)]
struct AgentModel {
    /// Events by stream: ordered within a stream, unordered between streams. Stream 0 is the node's
    /// own attachments.
    events: BTreeMap<u32, VecDeque<Option<Location>>>,
    cached: BTreeMap<u32, Location>,
    /// Streams that are not watched.
    ignored: BTreeSet<u32>,
    is_due: bool,
    actual: Option<Interface>,
    /// Whether the finalizer is set.
    has_finalizer: bool,
}

#[derive(Clone, Debug)]
enum MoveStep {
    Move,
    ChangeWatch,
    Receive(u32),
    Run,
}

/// Returns the stream that reports a location: the node's own attachments have stream 0.
fn stream(place: &Location) -> u32 {
    if place.2 == HERE { 0 } else { place.0.number() }
}

impl MoveRace {
    fn new(moves: impl IntoIterator<Item = Option<Location>>) -> Self {
        Self {
            moves: moves.into_iter().collect(),
            watch_changes: VecDeque::new(),
            now: None,
            former_locations: Vec::new(),
            agent: AgentModel::default(),
            mistake: None,
        }
    }

    fn moves(&mut self) {
        let Some(to) = self.moves.pop_front() else { return };
        let before = std::mem::replace(&mut self.now, to);
        self.former_locations.extend(to);
        if let Some(before) = before.filter(|before| to.as_ref().map(stream) != Some(stream(before))) {
            self.agent.notify(stream(&before), None);
        }
        if let Some(to) = to {
            self.agent.notify(stream(&to), Some(to));
        }
    }

    /// Ending a stream drops its cached objects and pending events. A new stream begins with the
    /// current state.
    fn watch_changes(&mut self) {
        let Some((network, is_watched)) = self.watch_changes.pop_front() else { return };
        let AgentModel { events, cached, ignored, is_due, .. } = &mut self.agent;
        if is_watched {
            ignored.remove(&network);
            self.agent.notify(network, self.now.filter(|now| stream(now) == network));
            return;
        }
        ignored.insert(network);
        events.remove(&network);
        if self.mistake != Some(AgentMistake::KeepsWhatItHeard) {
            cached.remove(&network);
        }
        *is_due = true;
    }

    /// Returns the interface that the node should have.
    fn desired(&self) -> Option<Interface> {
        self.now.filter(|now| !self.agent.ignored.contains(&stream(now))).map(desired_interface)
    }
}

impl AgentModel {
    fn notify(&mut self, stream: u32, events: Option<Location>) {
        if !self.ignored.contains(&stream) {
            self.events.entry(stream).or_default().push_back(events);
        }
    }

    fn receive(&mut self, stream: u32, mistake: Option<AgentMistake>) {
        let Some(notify) = self.events.get_mut(&stream).and_then(VecDeque::pop_front) else { return };
        if mistake == Some(AgentMistake::BelievesTheLast) {
            self.actual = notify
                .map(|(vni, address, host)| Interface::Remote(RemoteInterface::new(vni, address, host)));
            return;
        }
        match notify {
            Some(place) => drop(self.cached.insert(stream, place)),
            None => drop(self.cached.remove(&stream)),
        }
        self.is_due = true;
    }

    /// Runs the agent's steps until nothing is left to do.
    fn run(&mut self) {
        self.is_due = false;
        let here = self.cached.get(&0).map(|(vni, address, _)| {
            let mut here = NetworkAttachment::new("n", "a", "node-1", "s");
            here.status.lock_uid = "lock".into();
            here.status.address_vni = vni.number();
            here.status.ipv4 = address.to_string();
            here
        });
        let elsewhere: Vec<_> = self.cached.iter().filter(|(stream, _)| **stream != 0).collect();
        let elsewhere = match elsewhere[..] {
            [] => PeerLocation::Absent,
            [(_, &(vni, address, host))] => PeerLocation::At(vni, address, host),
            _ => PeerLocation::Ambiguous,
        };
        for _ in 0..8 {
            let mut here = here.clone();
            if let (Some(here), true) = (&mut here, self.has_finalizer) {
                here.metadata.finalizers = Some(vec![crate::plan::FINALIZER.into()]);
            }
            let step = next_step(&AgentView {
                host: HERE,
                here: here.as_ref(),
                location: elsewhere,
                actual: self.actual.as_ref(),
                report: None,
                errors: &[],
                now: jiff::Timestamp::UNIX_EPOCH,
                failed: false,
            });
            match step {
                AgentStep::Create(interface) => {
                    assert!(self.actual.replace(interface).is_none(), "one interface per attachment")
                }
                AgentStep::Delete(interface) => assert_eq!(self.actual.take(), Some(interface)),
                AgentStep::AddFinalizer => self.has_finalizer = true,
                // Status and finalizer removal are not modelled.
                AgentStep::WriteStatus(_) | AgentStep::RemoveFinalizer | AgentStep::Done => return,
            }
        }
        panic!("its steps have no end");
    }
}

fn desired_interface(place: Location) -> Interface {
    match stream(&place) {
        0 => {
            let attachment = ObjectKey::new(Some("n"), "a").unwrap();
            Interface::Local(LocalInterface::new(place.0, place.1).with_workload(attachment, None))
        }
        _ => Interface::Remote(RemoteInterface::new(place.0, place.1, place.2)),
    }
}

impl Race for MoveRace {
    type Step = MoveStep;

    fn steps(&self) -> Vec<MoveStep> {
        let notify =
            self.agent.events.iter().filter(|(_, events)| !events.is_empty()).map(|(stream, _)| *stream);
        let mut steps: Vec<MoveStep> = notify.map(MoveStep::Receive).collect();
        steps.extend((!self.moves.is_empty()).then_some(MoveStep::Move));
        steps.extend((!self.watch_changes.is_empty()).then_some(MoveStep::ChangeWatch));
        steps.extend(self.agent.is_due.then_some(MoveStep::Run));
        steps
    }

    fn take(&mut self, step: &MoveStep) {
        match step {
            MoveStep::Move => self.moves(),
            MoveStep::ChangeWatch => self.watch_changes(),
            MoveStep::Receive(stream) => self.agent.receive(*stream, self.mistake),
            MoveStep::Run => self.agent.run(),
        }
    }

    fn violation(&self) -> Option<String> {
        let actual = self.agent.actual.as_ref()?;
        let ever = self
            .former_locations
            .iter()
            .any(|former_locations| desired_interface(*former_locations) == *actual);
        (!ever).then(|| format!("it has {actual:?}, where the attachment never was"))
    }

    fn violation_at_end(&self) -> Option<String> {
        let (actual, desired) = (&self.agent.actual, self.desired());
        (*actual != desired).then(|| format!("it has {actual:?} at the end, and not {desired:?}"))
    }
}

#[test]
fn moved_attachment_converges() {
    for moves in [
        vec![at(1, 2, 2), at(2, 2, 2)],
        vec![at(1, 2, 2), at(2, 3, 2), at(1, 2, 2)],
        vec![at(1, 2, 2), at(2, 2, 2), at(1, 4, 2), at(2, 5, 3)],
        vec![at(1, 2, 2), None, at(2, 2, 3), None],
    ] {
        assert_holds(MoveRace::new(moves), 8);
    }
}

/// Deleted and recreated under the same name on another node.
#[test]
fn recreated_attachment_converges() {
    for moves in [
        vec![at(1, 2, 1), None, at(1, 2, 2)],
        vec![at(1, 2, 2), None, at(2, 2, 1), None, at(1, 3, 3)],
        vec![at(1, 2, 1), None, at(2, 2, 1)],
    ] {
        assert_holds(MoveRace::new(moves), 8);
    }
}

/// The node stops and resumes watching networks at any time during the moves.
#[test]
fn unwatched_network_drops_its_remote_interfaces() {
    for (moves, watch_changes) in [
        (vec![at(1, 2, 2), at(2, 2, 2)], vec![(1, false)]),
        (vec![at(1, 2, 2), at(2, 2, 2)], vec![(2, false), (2, true)]),
        (vec![at(1, 2, 2), at(2, 3, 2), at(1, 4, 2)], vec![(1, false), (2, false), (1, true)]),
        (vec![at(1, 2, 2), None, at(2, 2, 1), None, at(1, 3, 3)], vec![(1, false), (1, true), (1, false)]),
    ] {
        let mut world = MoveRace::new(moves);
        world.watch_changes = watch_changes.into();
        assert_holds(world, 8);
    }
}

#[test]
fn trusting_the_last_event_is_detected() {
    let mut wrong = MoveRace::new([at(1, 2, 2), at(2, 2, 2)]);
    wrong.mistake = Some(AgentMistake::BelievesTheLast);
    assert_fails(wrong, "at the end");
}

#[test]
fn keeping_unwatched_peers_is_detected() {
    let mut wrong = MoveRace::new([at(1, 2, 2)]);
    wrong.watch_changes = [(1, false)].into();
    wrong.mistake = Some(AgentMistake::KeepsWhatItHeard);
    assert_fails(wrong, "at the end");
}
