//! Keyed informers on a source that misbehaves, against what they must be: everything at random, by either source.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use machinery_informers::testing::{Fault, OnEdit, OnEvent, OnList, OnWatch, Plane, Thing};
use machinery_informers::{Interest, KeyedInformers, Limits, Lookup};
use machinery_objects::{
    Capabilities, Departure, Event, InterestBy, ListError, ListWatch, ObjectKey, SourceError, WatchError,
};
use machinery_sync::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a handler knows: what it was told, applied in order.
#[derive(Default)]
struct Known {
    holds: BTreeMap<(String, ObjectKey), Arc<Thing>>,
    released: u64,
    left: u64,
    deleted: u64,
    wrong: Option<String>,
}

impl Known {
    fn told(&mut self, key: &str, event: Event<Arc<Thing>>) {
        let at = (key.to_owned(), event.object().key.clone());
        let was = self.holds.get(&at).cloned();
        let said = format!("{at:?} {event:?}, and before it {was:?}");
        let fits = match event {
            Event::Added { object, .. } => {
                self.holds.insert(at, object);
                was.is_none()
            }
            Event::Updated { old, object } => {
                self.holds.insert(at, object);
                was == Some(old)
            }
            Event::Deleted { .. } => {
                self.deleted += 1;
                self.holds.remove(&at).is_some()
            }
            Event::Left { because, .. } => {
                match because {
                    Departure::Released => self.released += 1,
                    Departure::Changed => self.left += 1,
                }
                self.holds.remove(&at).is_some()
            }
            _ => false,
        };
        if !fits {
            self.wrong.get_or_insert(said);
        }
    }
}

/// Numbers without end (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn fault(&mut self, per_key: bool) -> Fault {
        let unavailable = || SourceError::Unavailable { reason: "no".into(), retry_after: None };
        let busy = |after: Option<u64>| {
            WatchError::from(SourceError::TooManyRequests { retry_after: after.map(Duration::from_secs) })
        };
        if !per_key && self.below(3) == 0 {
            return Fault::Edit(match self.below(7) {
                0 => OnEdit::Fails(busy(None)),
                1 => OnEdit::Fails(busy(Some(self.below(20)))),
                2 => OnEdit::MadeAndFails(SourceError::TimedOut.into()),
                3 => OnEdit::NoAnswer,
                4 => OnEdit::AnsweredLast,
                5 => OnEdit::Late,
                _ => OnEdit::NoEcho,
            });
        }
        match self.below(if per_key { 12 } else { 8 }) {
            0 => Fault::Event(OnEvent::Fails(WatchError::Expired)),
            1 => Fault::Event(OnEvent::Ends),
            2 => Fault::Event(OnEvent::Silent),
            3 => Fault::Event(OnEvent::Twice),
            4 => Fault::Event(OnEvent::EarlierAgain),
            5 => Fault::Watch(OnWatch::Fails(unavailable().into())),
            6 => Fault::Watch(OnWatch::NoAnswer),
            7 => Fault::Watch(OnWatch::EndsAtOnce),
            8 => Fault::Watch(OnWatch::NoEnd),
            9 => Fault::List(OnList::Fails(ListError::Expired { rest: None })),
            10 => Fault::Page(OnList::Fails(ListError::Expired { rest: None })),
            _ => Fault::Watch(OnWatch::EndTwice),
        }
    }
}

/// How often what is rare has happened.
#[derive(Debug, Default)]
struct Rare {
    released: u64,
    left: u64,
    deleted: u64,
    faults: u64,
    came_back: u64,
    ambiguous: u64,
    fenced: u64,
    moved: u64,
    restored: u64,
    spoiled_edits: u64,
    in_parts: u64,
}

async fn one(seed: u64, per_key: bool, rare: &mut Rare) {
    const KEYS: u64 = 5;
    let mut dice = Dice(seed);
    let plane = Plane::of_things(Capabilities::ALL);
    let source: Arc<dyn ListWatch<Thing>> = Arc::new(plane.clone());
    let by = InterestBy::Field(Thing::PLACE.into());
    let builder = KeyedInformers::<String, Thing>::builder(source, by, |thing| Some(thing.place.to_string()));
    let linger = if dice.below(3) == 0 { Duration::from_secs(3) } else { Duration::ZERO };
    let mut limits = Limits::default();
    if dice.below(2) == 0 {
        limits.edit_keys = 2;
        plane.refuse_more_keys_than(2);
    }
    let builder = builder.linger(linger).seed(seed).limits(limits);
    let informers = if per_key { builder.per_key() } else { builder }.build();
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(informers.run(stopping.clone()));
    let known = Arc::new(Mutex::new(Known::default()));
    let tells = known.clone();
    let handler = informers.handle(move |key, event| tells.lock().told(key, event)).unwrap();
    let mut held: Vec<Interest<String, Thing>> = Vec::new();
    for step in 0..120 {
        match dice.below(16) {
            0..=2 => {
                let key = format!("p{}", dice.below(KEYS));
                rare.came_back += u64::from(!held.iter().any(|held| *held.key() == key));
                held.push(informers.acquire(key).unwrap());
            }
            3..=4 if !held.is_empty() => {
                let at = dice.below(held.len() as u64) as usize;
                let gone = held.swap_remove(at);
                let key = gone.key().clone();
                drop(gone);
                if linger.is_zero() && !held.iter().any(|held| *held.key() == key) {
                    assert_eq!(informers.read().count(&key), 0, "the drop has let go of {key}");
                }
            }
            5..=9 => {
                let place = format!("p{}", dice.below(KEYS + 1));
                let name = format!("default/o{}", dice.below(6));
                plane.put(Thing::new(&name).at(&place).says(&step.to_string()));
                rare.moved += 1;
            }
            10 => drop(plane.delete(&format!("default/o{}", dice.below(6)).parse().unwrap())),
            11 => plane.bookmark(),
            12 => plane.compact_but(dice.below(6)),
            13 => plane.once(dice.fault(per_key)),
            14 if step % 12 == 0 => {
                // Nothing is written until it is believed that it was restored: else nobody could tell.
                rare.restored += 1;
                plane.restore(dice.below(8));
                plane.behave();
                for _ in 0..40 {
                    sleep(Duration::from_secs(30)).await;
                    plane.bookmark();
                }
            }
            14 => plane.end_watches(),
            _ => sleep(Duration::from_millis(dice.below(4_000))).await,
        }
        if dice.below(3) == 0 {
            sleep(Duration::from_millis(dice.below(20))).await;
        }
        // At all times: nothing is held that nobody holds, unless it lingers.
        let read = informers.read();
        let keys: BTreeSet<&String> = held.iter().map(Interest::key).collect();
        if linger.is_zero() {
            for (key, name, thing) in read.iter() {
                assert!(keys.contains(key), "{name} is under {key}, seed {seed}");
                assert_eq!(**key, *thing.place);
            }
        }
        for name in read.names() {
            if let Lookup::Ambiguous(keys) = informers.lookup(name) {
                rare.ambiguous += 1;
                assert!(per_key, "one stream knows where {name} is, and not {keys:?}");
            }
        }
        assert_eq!(known.lock().wrong, None, "seed {seed}");
    }
    // When the faults cease it comes to be what the source has, under what is held.
    plane.behave();
    for _ in 0..40 {
        sleep(Duration::from_secs(30)).await;
        plane.bookmark();
    }
    let keys: BTreeSet<String> = held.iter().map(|held| held.key().clone()).collect();
    let expected: BTreeMap<(String, ObjectKey), Arc<Thing>> = plane
        .state()
        .into_iter()
        .filter(|(_, thing)| keys.contains(&*thing.place))
        .map(|(name, thing)| ((thing.place.to_string(), name), thing))
        .collect();
    let holds: BTreeMap<_, _> = informers
        .read()
        .iter()
        .map(|(key, name, thing)| ((key.clone(), name.clone()), thing.clone()))
        .collect();
    let state = informers.state();
    assert_eq!(holds, expected, "seed {seed}, {state:?}");
    assert!(held.iter().all(Interest::is_synced), "seed {seed}, {state:?}");
    assert_eq!(state.trouble, None, "seed {seed}");
    let streams = if per_key { keys.len() } else { keys.len().min(1) };
    // One that is of no key any more stays for the next until it ends.
    let stays = u64::from(!per_key && keys.is_empty() && plane.asked().open == 1);
    assert_eq!(state.streams, streams as u64 + stays, "seed {seed}");
    {
        let known = known.lock();
        assert_eq!(known.wrong, None, "seed {seed}");
        assert_eq!(known.holds, expected, "what was told adds up, seed {seed}");
        rare.released += known.released;
        rare.left += known.left;
        rare.deleted += known.deleted;
    }
    rare.faults += plane.asked().faults;
    rare.spoiled_edits += plane.asked().spoiled_edits;
    rare.in_parts += u64::from(limits.edit_keys < keys.len());
    rare.fenced += state.counts.fenced;
    drop(held);
    sleep(Duration::from_secs(10)).await;
    assert!(informers.read().is_empty(), "nobody holds anything, seed {seed}");
    assert!(known.lock().holds.is_empty(), "and that was told, seed {seed}");
    drop(handler);
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    assert_eq!(plane.asked().open, 0, "no watch is left, seed {seed}");
}

async fn many(per_key: bool) -> Rare {
    let mut rare = Rare::default();
    for seed in 0..150 {
        one(seed, per_key, &mut rare).await;
    }
    println!("{rare:?}");
    let Rare { released, left, deleted, faults, came_back, moved, restored, in_parts, .. } = rare;
    for happened in [released, left, deleted, faults, came_back, moved, restored, in_parts] {
        assert!(happened > 10, "{rare:?}");
    }
    rare
}

#[tokio::test(start_paused = true)]
async fn what_is_held_by_one_stream_is_what_the_source_has() {
    let rare = many(false).await;
    assert!(rare.spoiled_edits > 10, "{rare:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_held_by_a_stream_for_each_key_is_what_the_source_has() {
    let rare = many(true).await;
    assert!(rare.ambiguous > 10, "{rare:?}");
}
