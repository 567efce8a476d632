//! A case.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use machinery_informers::testing::{Plane, Thing};
use machinery_informers::{Limits, Trouble};
use machinery_objects::{
    FieldSelector, FieldTerm, Filter, ListError, Object, ObjectKey, ResourceVersion, WatchError,
};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use tokio::time::sleep;

use super::handlers::{Hearer, Tally};
use super::truth::{Things, Truth, told};
use super::walk::{FEW, KEYS, Op, RECOVERS, Setting, settings, thing, walks};
use crate::support::{Rig, key, seconds, settled, virtually};

/// What happened in all cases together, to see that each rare thing did.
type Happened = BTreeMap<&'static str, u64>;

struct Case {
    rig: Rig,
    setting: Setting,
    truth: Truth,
    hearers: Vec<Hearer>,
    written: usize,
    restored: bool,
    happened: Happened,
}

#[test]
fn the_cache_is_the_server_at_some_version_and_what_was_told_adds_up() {
    let happened = RefCell::new(Happened::new());
    let cases = settings().prop_flat_map(|setting| (Just(setting), walks(setting.can.versions_are_ordered)));
    let config = ProptestConfig {
        cases: 2_000,
        source_file: Some(file!()),
        test_name: Some("the_cache_is_the_server_at_some_version_and_what_was_told_adds_up"),
        ..ProptestConfig::default()
    };
    // The same cases each time: what is rare must happen, and some would be without it.
    for round in 0..ROUNDS {
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[round; 32]);
        let mut runner = TestRunner::new_with_rng(config.clone(), random);
        let outcome = runner.run(&cases, |(setting, walk)| {
            let of_this = virtually(case(setting, walk));
            let mut happened = happened.borrow_mut();
            of_this.into_iter().for_each(|(what, times)| *happened.entry(what).or_default() += times);
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{error}");
        }
        if RARE.iter().all(|what| happened.borrow().contains_key(what)) {
            break;
        }
    }
    let happened = happened.into_inner();
    for what in RARE {
        assert!(happened.contains_key(what), "it never happened that {what}: {happened:#?}");
    }
}

/// So often it is begun at the most, until all that is rare has happened.
const ROUNDS: u8 = 8;

const RARE: [&str; 26] = [
    "the cache was full",
    "the list was too long",
    "a list expired",
    "a list failed",
    "a watch expired",
    "a watch failed",
    "a watch was silent",
    "a watch ended at once",
    "the source was behind",
    "the state did not end",
    "a change came late",
    "an object vanished",
    "an object left",
    "an object was deleted",
    "an object became another",
    "an object was updated",
    "an object could not be read",
    "an unreadable object was kept as it was",
    "a restore was noticed",
    "a handler came late",
    "a handler was removed",
    "a handler lagged",
    "the cache was behind the source",
    "the cache was the source",
    "it was renewed",
    "it was compacted",
];

async fn case(setting: Setting, walk: Vec<Op>) -> Happened {
    let filter = Filter {
        labels: if setting.labels { "app=0".parse().unwrap() } else { Default::default() },
        fields: if setting.place {
            FieldSelector::from_iter([FieldTerm::equals(Thing::PLACE, "0").unwrap()])
        } else {
            Default::default()
        },
        ..Filter::default()
    };
    let rig = Rig::with(Plane::of_things(setting.can), |builder| {
        let mut limits = Limits::default();
        limits.page = NonZeroU32::new(2).unwrap();
        limits.objects = if setting.few { FEW } else { limits.objects };
        builder.filter(filter).limits(limits);
    });
    let truth = Truth::new(setting);
    let hearers = vec![Hearer::called(&rig.informer, setting.can.versions_are_ordered)];
    let mut case =
        Case { rig, setting, truth, hearers, written: 0, restored: false, happened: Happened::new() };
    for op in walk {
        case.apply(op).await;
        settled().await;
        case.check();
    }
    case.recovers().await;
    for hearer in std::mem::take(&mut case.hearers) {
        case.count(hearer.go().await);
    }
    case.rig.stop().await;
    case.happened
}

impl Case {
    fn happens(&mut self, what: &'static str, times: u64) {
        if times > 0 {
            *self.happened.entry(what).or_default() += times;
        }
    }

    fn count(&mut self, heard: Tally) {
        self.happens("an object was updated", heard.updated);
        self.happens("an object became another", heard.another);
        self.happens("an object was deleted", heard.deleted);
        self.happens("an object vanished", heard.vanished);
        self.happens("an object left", heard.left);
    }

    /// Whether a write now would hide from everybody that the source was restored: it would be as far as it was before, or have
    /// another object of the same name and version.
    fn is_ambiguous(&self, key: &ObjectKey) -> bool {
        let next = self.rig.plane.revision() + 1;
        let number = |version: Option<ResourceVersion>| version?.revision().map(|revision| revision.0);
        let reached = number(self.rig.informer.state().version);
        let there = self.rig.informer.get(key).and_then(|thing| number(thing.version()));
        self.restored && (reached == Some(next) || there == Some(next))
    }

    async fn apply(&mut self, op: Op) {
        let plane = self.rig.plane.clone();
        match op {
            Op::Put { key: at, place, app, readable } => {
                if self.is_ambiguous(&key(KEYS[at])) {
                    return;
                }
                self.written += 1;
                let thing = thing(at, place, app, self.written);
                if readable {
                    plane.put(thing)
                } else {
                    plane.put_unreadable(thing)
                };
                self.truth.note(&plane);
            }
            Op::Delete { key: at } => {
                if !self.is_ambiguous(&key(KEYS[at])) && plane.delete(&key(KEYS[at])).is_some() {
                    self.truth.note(&plane);
                }
            }
            Op::Compact => {
                plane.compact();
                self.happens("it was compacted", 1);
            }
            Op::Bookmark => plane.bookmark(),
            Op::EndWatches => plane.end_watches(),
            Op::Pass(time) => {
                let mut left = seconds(time);
                while !left.is_zero() {
                    let slice = left.min(seconds(30));
                    sleep(slice).await;
                    plane.bookmark();
                    settled().await;
                    self.check();
                    left -= slice;
                }
            }
            Op::Fault(fault) => plane.once(fault),
            Op::Come(delay) => self.come(delay),
            Op::Go(at) => {
                if at < self.hearers.len() {
                    let heard = self.hearers.swap_remove(at).go().await;
                    self.count(heard);
                    self.happens("a handler was removed", 1);
                }
            }
            Op::Renew => {
                self.rig.informer.renew();
                self.happens("it was renewed", 1);
            }
            Op::Restore(revisions) => self.restore(revisions),
        }
    }

    fn come(&mut self, delay: Option<u64>) {
        if self.hearers.len() > 4 {
            return;
        }
        if !self.rig.informer.read().is_empty() {
            self.happens("a handler came late", 1);
        }
        let ordered = self.setting.can.versions_are_ordered && !self.restored;
        let informer = &self.rig.informer;
        self.hearers.push(match delay {
            None => Hearer::called(informer, ordered),
            Some(delay) => Hearer::slow(informer, ordered, &self.rig.tasks, seconds(delay)),
        });
    }

    /// Only if nothing of before is under way: what has the versions of another time cannot be told from it. And where all fits, as
    /// no write might be told from one of before that would make it fit again.
    fn restore(&mut self, revisions: u64) {
        let plane = &self.rig.plane;
        let version = self.rig.informer.state().version.and_then(|version| version.revision());
        if self.setting.few || self.restored || version.is_none_or(|version| version.0 != plane.revision()) {
            return;
        }
        self.restored = true;
        plane.restore(revisions);
        self.hearers.iter().for_each(|hearer| hearer.seen.lock().forget_order());
        self.truth.restored(plane);
    }

    /// What holds at any time.
    fn check(&mut self) {
        let snapshot = self.rig.informer.read();
        let cache: Things = snapshot.iter().map(|(key, thing)| (key.clone(), thing.clone())).collect();
        assert!(!self.setting.few || cache.len() <= FEW, "the cache has more than it may");
        for place in ["0", "1"] {
            let found: BTreeSet<_> =
                snapshot.by(&self.rig.by_place, place).map(|(key, _)| key.clone()).collect();
            let there = cache.values().filter(|thing| &*thing.place == place);
            assert_eq!(found, there.map(|thing| thing.key()).collect(), "the index is not the cache's");
        }
        drop(snapshot);
        let state = self.rig.informer.state();
        let reached = state.version.as_ref().and_then(|version| version.revision());
        self.truth.find(&cache, reached.map(|reached| reached.0));
        let is_now = self.truth.is_now(&cache);
        self.happens(if is_now { "the cache was the source" } else { "the cache was behind the source" }, 1);
        self.happens("an object could not be read", state.unreadable.len() as u64);
        let kept = state.unreadable.iter().any(|unreadable| cache.contains_key(&unreadable.key));
        self.happens("an unreadable object was kept as it was", kept.into());
        for hearer in &self.hearers {
            if hearer.is_idle() {
                let seen = hearer.seen.lock();
                assert_eq!(told(&seen.things), told(&cache), "what was told does not add up");
            }
        }
        let lag = self.hearers.iter().any(|hearer| !hearer.is_idle());
        self.happens("a handler lagged", lag.into());
        if let Some(trouble) = state.trouble {
            self.happens(name(&trouble), 1);
        }
    }

    /// With a source that behaves again, all is well before long.
    async fn recovers(&mut self) {
        self.rig.plane.behave();
        let mut left = RECOVERS;
        loop {
            if self.setting.few {
                // So that it fits.
                for key in FEW - 1..KEYS.len() {
                    self.apply(Op::Delete { key }).await;
                }
            }
            settled().await;
            self.check();
            let state = self.rig.informer.state();
            let snapshot = self.rig.informer.read();
            let cache: Things = snapshot.iter().map(|(key, thing)| (key.clone(), thing.clone())).collect();
            drop(snapshot);
            let told_all = self.hearers.iter().all(|hearer| hearer.is_idle() && hearer.is_synced());
            let is_now = self.truth.is_now(&cache) && state.synced;
            let unreadable: BTreeSet<_> =
                state.unreadable.iter().map(|unreadable| unreadable.key.clone()).collect();
            let knows = unreadable == *self.truth.unreadable_now();
            if told_all && is_now && knows && state.trouble.is_none() {
                self.happens("a restore was noticed", self.restored.into());
                self.happens("a change came late", state.counts.late);
                return;
            }
            assert!(
                !left.is_zero(),
                "it does not recover: {state:?}, told all: {told_all}, cache {} of {}",
                told(&cache),
                self.truth.now()
            );
            let slice = seconds(30);
            sleep(slice).await;
            self.rig.plane.bookmark();
            left = left.saturating_sub(slice);
        }
    }
}

const fn name(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::List(ListError::Expired { .. }) => "a list expired",
        Trouble::List(_) => "a list failed",
        Trouble::Watch(WatchError::Expired) => "a watch expired",
        Trouble::Watch(_) => "a watch failed",
        Trouble::Silent(_) => "a watch was silent",
        Trouble::Short => "a watch ended at once",
        Trouble::Behind { .. } => "the source was behind",
        Trouble::NoEnd => "the state did not end",
        Trouble::Full { .. } => "the cache was full",
        Trouble::Endless { .. } => "the list was too long",
        _ => "something else",
    }
}
