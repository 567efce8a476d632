//! Keyed informers on a source that misbehaves, against what they must be: everything at random, by either source.

mod dice;
mod known;
mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use machinery_informers::testing::{Plane, Thing};
use machinery_informers::{Interest, KeyedInformers, Limits, Lookup};
use machinery_objects::{Capabilities, InterestBy, ListWatch, ObjectKey, WriteToken, Wrote};
use machinery_sync::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use dice::Dice;
use known::Known;
use truth::{Seen, Truth};

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
    refused: u64,
    /// That all of a key was shown, and that a handler was told all of it.
    complete: u64,
    marked: u64,
    /// That a write was reached, and was not in time.
    reached: u64,
    not_reached: u64,
}

/// What is held, and since when: by how many writes there had been.
struct Held {
    interests: Vec<Interest<String, Thing>>,
    since: BTreeMap<String, usize>,
}

/// What is to be so at all times.
struct Checks {
    truth: Truth,
    shown: Seen,
    told: Seen,
}

impl Checks {
    /// Under each key that is complete is what the source had there, some time since the key was held; so it is for a handler that was
    /// told that it is complete. Neither goes back.
    fn complete(
        &mut self,
        held: &Held,
        informers: &KeyedInformers<String, Thing>,
        known: &Known,
        rare: &mut Rare,
    ) -> Result<(), String> {
        let read = informers.read();
        for interest in &held.interests {
            let (key, Some(number)) = (interest.key(), interest.completed()) else { continue };
            let under: BTreeMap<_, _> = read.under(key).collect();
            let since = held.since[key];
            self.shown.sees(&self.truth, since, key, |name| under.get(name).map(|thing| (*thing).clone()))?;
            rare.complete += 1;
            if known.marked >= number.0 {
                let holds = |name: &ObjectKey| known.holds.get(&(key.clone(), name.clone())).cloned();
                self.told.sees(&self.truth, since, key, holds).map_err(|wrong| format!("told: {wrong}"))?;
                rare.marked += 1;
            }
        }
        Ok(())
    }

    /// What was written is shown under every key that is complete, or something later is. Of streams of a key each one may say so for all.
    fn reached(
        &self,
        token: &WriteToken,
        held: &Held,
        informers: &KeyedInformers<String, Thing>,
        per_key: bool,
    ) -> Result<(), String> {
        let (Wrote::Stored(version) | Wrote::Removed(Some(version))) = &token.wrote else { return Ok(()) };
        let at = version.revision().map_or(0, |revision| revision.0 as usize);
        let read = informers.read();
        let mut behind = Vec::new();
        for interest in held.interests.iter().filter(|interest| interest.is_synced()) {
            let there = read.under(interest.key()).find(|(name, _)| **name == token.key);
            let there = there.map(|(_, thing)| thing);
            if self.truth.since(at, interest.key(), &token.key, there).is_none() {
                behind.push(format!("{}: {there:?}", interest.key()));
            }
        }
        // Also under a key that only lingers.
        let is_shown = read.iter().any(|(key, name, thing)| {
            *name == token.key && self.truth.since(at, key, name, Some(thing)).is_some()
        });
        if behind.is_empty() || (per_key && is_shown) {
            return Ok(());
        }
        Err(format!("{token:?} is reached, and not so under {behind:?}"))
    }
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
    let mut events = informers.events().unwrap();
    let handler = tasks.spawn(async move {
        while let Some(told) = events.next().await {
            tells.lock().told(told);
        }
    });
    let mut held = Held { interests: Vec::new(), since: BTreeMap::new() };
    let mut checks = Checks { truth: Truth::default(), shown: Seen::default(), told: Seen::default() };
    let mut written: Option<WriteToken> = None;
    for step in 0..120 {
        checks.truth.hear(&plane);
        match dice.below(16) {
            0..=2 => {
                let key = format!("p{}", dice.below(KEYS));
                let is_held = held.interests.iter().any(|held| *held.key() == key);
                rare.came_back += u64::from(!is_held);
                // One that lingers may be held since before.
                if !is_held && (linger.is_zero() || !held.since.contains_key(&key)) {
                    held.since.insert(key.clone(), checks.truth.now());
                }
                held.interests.push(informers.acquire(key).unwrap());
            }
            3..=4 if !held.interests.is_empty() => {
                let at = dice.below(held.interests.len() as u64) as usize;
                let gone = held.interests.swap_remove(at);
                let key = gone.key().clone();
                drop(gone);
                if linger.is_zero() && !held.interests.iter().any(|held| *held.key() == key) {
                    assert_eq!(informers.read().count(&key), 0, "the drop has let go of {key}");
                }
            }
            5..=9 => {
                let place = format!("p{}", dice.below(KEYS + 1));
                let name = format!("default/o{}", dice.below(6));
                written = Some(plane.put(Thing::new(&name).at(&place).says(&step.to_string())));
                rare.moved += 1;
            }
            10 => {
                let gone = plane.delete(&format!("default/o{}", dice.below(6)).parse().unwrap());
                written = gone.or(written);
            }
            11 => plane.bookmark(),
            12 => plane.compact_but(dice.below(6)),
            13 if dice.below(8) == 0 => {
                rare.refused += u64::from(!per_key);
                plane.refuse_key(&format!("p{}", dice.below(KEYS)));
            }
            13 => plane.once(dice.fault(per_key)),
            14 if step % 12 == 0 => {
                // Nothing is written until it is believed that it was restored: else nobody could tell.
                rare.restored += 1;
                plane.restore(dice.below(8));
                plane.behave();
                written = None;
                checks.truth.restored(&plane);
                (checks.shown, checks.told) = (Seen::default(), Seen::default());
                held.since.values_mut().for_each(|since| *since = 0);
                for _ in 0..40 {
                    sleep(Duration::from_secs(30)).await;
                    plane.bookmark();
                }
            }
            14 => plane.end_watches(),
            _ => sleep(Duration::from_millis(dice.below(4_000))).await,
        }
        checks.truth.hear(&plane);
        if dice.below(3) == 0 {
            sleep(Duration::from_millis(dice.below(20))).await;
        }
        if let Some(token) = written.take_if(|_| dice.below(4) == 0) {
            let patience = Duration::from_millis(dice.below(500));
            let asked =
                tokio::time::timeout(Duration::from_secs(2), informers.reached(&token, patience)).await;
            if let Ok(Ok(())) = asked {
                rare.reached += 1;
                let is_so = checks.reached(&token, &held, &informers, per_key);
                assert_eq!(is_so, Ok(()), "seed {seed}, step {step}");
            } else {
                rare.not_reached += 1;
            }
        }
        let is_so = checks.complete(&held, &informers, &known.lock(), rare);
        assert_eq!(is_so, Ok(()), "seed {seed}, step {step}");
        // At all times: nothing is held that nobody holds, unless it lingers.
        let read = informers.read();
        let keys: BTreeSet<&String> = held.interests.iter().map(Interest::key).collect();
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
    let keys: BTreeSet<String> = held.interests.iter().map(|held| held.key().clone()).collect();
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
    assert!(held.interests.iter().all(Interest::is_synced), "seed {seed}, {state:?}");
    let is_so = checks.complete(&held, &informers, &known.lock(), rare);
    assert_eq!(is_so, Ok(()), "seed {seed}");
    assert_eq!(state.trouble, None, "seed {seed}");
    let streams = if per_key { keys.len() } else { keys.len().min(1) };
    // One that is of no key any more stays for the next until it ends.
    let stays = u64::from(!per_key && keys.is_empty() && plane.asked().open == 1);
    assert_eq!(state.streams, streams as u64 + stays, "seed {seed}, {keys:?} of {state:?}");
    {
        let known = known.lock();
        assert_eq!(known.wrong, None, "seed {seed}");
        assert_eq!(known.holds, expected, "what was told adds up, seed {seed}");
        let last = held.interests.iter().filter_map(Interest::completed).max();
        assert!(last.is_none_or(|last| known.marked >= last.0), "that all are complete is told, seed {seed}");
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
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    handler.await.unwrap();
    assert_eq!(plane.asked().open, 0, "no watch is left, seed {seed}");
}

async fn many(per_key: bool) -> Rare {
    let mut rare = Rare::default();
    for seed in 0..150 {
        one(seed, per_key, &mut rare).await;
    }
    println!("{rare:?}");
    let Rare { released, left, deleted, faults, came_back, moved, restored, in_parts, .. } = rare;
    let Rare { complete, marked, reached, not_reached, .. } = rare;
    for happened in [released, left, deleted, faults, came_back, moved, restored, in_parts] {
        assert!(happened > 10, "{rare:?}");
    }
    for happened in [complete, marked, reached, not_reached] {
        assert!(happened > 100, "{rare:?}");
    }
    rare
}

#[tokio::test(start_paused = true)]
async fn what_is_held_by_one_stream_is_what_the_source_has() {
    let rare = many(false).await;
    assert!(rare.spoiled_edits > 10 && rare.refused > 10, "{rare:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_held_by_a_stream_for_each_key_is_what_the_source_has() {
    let rare = many(true).await;
    assert!(rare.ambiguous > 10, "{rare:?}");
}
