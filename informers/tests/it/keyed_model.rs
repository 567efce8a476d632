//! A model of keyed informers: random operations and faults, with one stream and with a stream per
//! key.

mod dice;
mod handler_view;
mod history;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use machinery_informers::testing::{FakeSource, TestObject};
use machinery_informers::{Interest, KeyedInformers, Lookup, ReflectorLimits};
use machinery_objects::{Capabilities, InterestBy, ListWatch, ObjectKey, WriteOutcome, WriteToken};
use machinery_sync::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use dice::Dice;
use handler_view::KeyedHandlerView;
use history::{KeyedSourceHistory, ObservedRevisions};

/// Counts of rare situations.
#[derive(Debug, Default)]
struct CaseCounts {
    released: u64,
    left: u64,
    deleted: u64,
    faults: u64,
    came_back: u64,
    ambiguous: u64,
    fenced: u64,
    moved: u64,
    restored: u64,
    faulty_edits: u64,
    in_parts: u64,
    refused: u64,
    /// A key was shown completely; a handler had received all of it.
    complete: u64,
    marked: u64,
    /// A write was reached, or not in time.
    reached: u64,
    not_reached: u64,
}

/// The held interests, and the number of writes when each key was acquired.
struct HeldInterests {
    interests: Vec<Interest<String, TestObject>>,
    since: BTreeMap<String, usize>,
}

/// The invariants.
struct Checks {
    history: KeyedSourceHistory,
    shown: ObservedRevisions,
    delivered: ObservedRevisions,
}

impl Checks {
    /// A complete key holds the objects that the source had under it at some time since the key was
    /// acquired, and so does a handler that received its completion mark. Neither goes back.
    fn complete(
        &mut self,
        held: &HeldInterests,
        informers: &KeyedInformers<String, TestObject>,
        known: &KeyedHandlerView,
        rare: &mut CaseCounts,
    ) -> Result<(), String> {
        let read = informers.read();
        for interest in &held.interests {
            let (key, Some(number)) = (interest.key(), interest.completed()) else { continue };
            let under: BTreeMap<_, _> = read.under(key).collect();
            let since = held.since[key];
            self.shown
                .check_key(&self.history, since, key, |name| under.get(name).map(|thing| (*thing).clone()))?;
            rare.complete += 1;
            if known.marked >= number.0 {
                let holds = |name: &ObjectKey| known.holds.get(&(key.clone(), name.clone())).cloned();
                self.delivered
                    .check_key(&self.history, since, key, holds)
                    .map_err(|wrong| format!("handler: {wrong}"))?;
                rare.marked += 1;
            }
        }
        Ok(())
    }

    /// A reached write, or a later one, is visible under every complete key; with a stream per key
    /// it may be so under one of them.
    fn check_reached(
        &self,
        token: &WriteToken,
        held: &HeldInterests,
        informers: &KeyedInformers<String, TestObject>,
        per_key: bool,
    ) -> Result<(), String> {
        let (WriteOutcome::Stored(version)
        | WriteOutcome::Observed(version)
        | WriteOutcome::Removed(Some(version))) = &token.wrote
        else {
            return Ok(());
        };
        let at = version.revision().map_or(0, |revision| revision.0 as usize);
        let read = informers.read();
        let mut behind = Vec::new();
        for interest in held.interests.iter().filter(|interest| interest.is_synced()) {
            let there = read.under(interest.key()).find(|(name, _)| **name == token.key);
            let there = there.map(|(_, thing)| thing);
            if self.history.since(at, interest.key(), &token.key, there).is_none() {
                behind.push(format!("{}: {there:?}", interest.key()));
            }
        }
        // Also under a key that lingers.
        let is_shown = read.iter().any(|(key, name, thing)| {
            *name == token.key && self.history.since(at, key, name, Some(thing)).is_some()
        });
        if behind.is_empty() || (per_key && is_shown) {
            return Ok(());
        }
        Err(format!("{token:?} is reached, and not so under {behind:?}"))
    }
}

async fn one(seed: u64, per_key: bool, rare: &mut CaseCounts) {
    const KEYS: u64 = 5;
    let mut dice = Dice(seed);
    let fake = FakeSource::of_test_objects(Capabilities::ALL);
    let source: Arc<dyn ListWatch<TestObject>> = Arc::new(fake.clone());
    let by = InterestBy::Field(TestObject::PLACE.into());
    let builder =
        KeyedInformers::<String, TestObject>::builder(source, by, |thing| Some(thing.place.to_string()));
    let linger = if dice.below(3) == 0 { Duration::from_secs(3) } else { Duration::ZERO };
    let mut limits = ReflectorLimits::default();
    if dice.below(2) == 0 {
        limits.edit_keys = 2;
        fake.refuse_more_keys_than(2);
    }
    let builder = builder.linger(linger).seed(seed).limits(limits);
    let informers = if per_key { builder.per_key() } else { builder }.build();
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(informers.run(stopping.clone()));
    let known = Arc::new(Mutex::new(KeyedHandlerView::default()));
    let view = known.clone();
    let mut events = informers.events().unwrap();
    let handler = tasks.spawn(async move {
        while let Some(delivery) = events.next().await {
            view.lock().apply(delivery);
        }
    });
    let mut held = HeldInterests { interests: Vec::new(), since: BTreeMap::new() };
    let mut checks = Checks {
        history: KeyedSourceHistory::default(),
        shown: ObservedRevisions::default(),
        delivered: ObservedRevisions::default(),
    };
    let mut written: Option<WriteToken> = None;
    for step in 0..120 {
        checks.history.record(&fake);
        match dice.below(16) {
            0..=2 => {
                let key = format!("p{}", dice.below(KEYS));
                let is_held = held.interests.iter().any(|held| *held.key() == key);
                rare.came_back += u64::from(!is_held);
                // A lingering key may be held since an earlier time.
                if !is_held && (linger.is_zero() || !held.since.contains_key(&key)) {
                    held.since.insert(key.clone(), checks.history.now());
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
                written = Some(fake.put(TestObject::new(&name).at(&place).with_text(&step.to_string())));
                rare.moved += 1;
            }
            10 => {
                let gone = fake.delete(&format!("default/o{}", dice.below(6)).parse().unwrap());
                written = gone.or(written);
            }
            11 => fake.bookmark(),
            12 => fake.compact_but(dice.below(6)),
            13 if dice.below(8) == 0 => {
                rare.refused += u64::from(!per_key);
                fake.refuse_key(&format!("p{}", dice.below(KEYS)));
            }
            13 => fake.once(dice.fault(per_key)),
            14 if step % 12 == 0 => {
                // Nothing is written until the restore is accepted, as it would be undetectable.
                rare.restored += 1;
                fake.restore(dice.below(8));
                fake.clear_faults();
                written = None;
                checks.history.restored(&fake);
                (checks.shown, checks.delivered) =
                    (ObservedRevisions::default(), ObservedRevisions::default());
                held.since.values_mut().for_each(|since| *since = 0);
                for _ in 0..40 {
                    sleep(Duration::from_secs(30)).await;
                    fake.bookmark();
                }
            }
            14 => fake.end_watches(),
            _ => sleep(Duration::from_millis(dice.below(4_000))).await,
        }
        checks.history.record(&fake);
        if dice.below(3) == 0 {
            sleep(Duration::from_millis(dice.below(20))).await;
        }
        if let Some(token) = written.take_if(|_| dice.below(4) == 0) {
            let wait = Duration::from_millis(dice.below(500));
            let waited = tokio::time::timeout(Duration::from_secs(2), informers.wait_for(&token, wait)).await;
            if let Ok(Ok(())) = waited {
                rare.reached += 1;
                let is_so = checks.check_reached(&token, &held, &informers, per_key);
                assert_eq!(is_so, Ok(()), "seed {seed}, step {step}");
            } else {
                rare.not_reached += 1;
            }
        }
        let is_so = checks.complete(&held, &informers, &known.lock(), rare);
        assert_eq!(is_so, Ok(()), "seed {seed}, step {step}");
        // No object is cached without an interest in its key, unless the key lingers.
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
    // Without faults, the cache converges to the objects of the source under the held keys.
    fake.clear_faults();
    for _ in 0..40 {
        sleep(Duration::from_secs(30)).await;
        fake.bookmark();
    }
    let keys: BTreeSet<String> = held.interests.iter().map(|held| held.key().clone()).collect();
    let expected: BTreeMap<(String, ObjectKey), Arc<TestObject>> = fake
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
    // A stream without keys stays open for the next one.
    let stays = u64::from(!per_key && keys.is_empty() && fake.calls().open_watches == 1);
    assert_eq!(state.streams, streams as u64 + stays, "seed {seed}, {keys:?} of {state:?}");
    {
        let known = known.lock();
        assert_eq!(known.wrong, None, "seed {seed}");
        assert_eq!(known.holds, expected, "events add up, seed {seed}");
        let last = held.interests.iter().filter_map(Interest::completed).max();
        assert!(last.is_none_or(|last| known.marked >= last.0), "all completions are marked, seed {seed}");
        rare.released += known.released;
        rare.left += known.left;
        rare.deleted += known.deleted;
    }
    rare.faults += fake.calls().faults;
    rare.faulty_edits += fake.calls().faulty_edits;
    rare.in_parts += u64::from(limits.edit_keys < keys.len());
    rare.fenced += state.counts.fenced;
    drop(held);
    sleep(Duration::from_secs(10)).await;
    assert!(informers.read().is_empty(), "no interest is left, seed {seed}");
    assert!(known.lock().holds.is_empty(), "and that was delivered, seed {seed}");
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    handler.await.unwrap();
    assert_eq!(fake.calls().open_watches, 0, "no watch is left, seed {seed}");
}

async fn many(per_key: bool) -> CaseCounts {
    let mut rare = CaseCounts::default();
    for seed in 0..150 {
        one(seed, per_key, &mut rare).await;
    }
    println!("{rare:?}");
    let CaseCounts { released, left, deleted, faults, came_back, moved, restored, in_parts, .. } = rare;
    let CaseCounts { complete, marked, reached, not_reached, .. } = rare;
    for happened in [released, left, deleted, faults, came_back, moved, restored, in_parts] {
        assert!(happened > 10, "{rare:?}");
    }
    for happened in [complete, marked, reached, not_reached] {
        assert!(happened > 100, "{rare:?}");
    }
    rare
}

#[tokio::test(start_paused = true)]
async fn keyed_informers_on_one_stream_match_the_source() {
    let rare = many(false).await;
    assert!(rare.faulty_edits > 10 && rare.refused > 10, "{rare:?}");
}

#[tokio::test(start_paused = true)]
async fn keyed_informers_with_a_stream_per_key_match_the_source() {
    let rare = many(true).await;
    assert!(rare.ambiguous > 10, "{rare:?}");
}
