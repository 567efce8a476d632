//! The runs of the model.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use machinery_informers::testing::{FakeSource, TestObject};
use machinery_informers::{ReflectorError, ReflectorLimits};
use machinery_objects::{
    FieldSelector, FieldTerm, Filter, ListError, Object, ObjectKey, ResourceVersion, WatchError,
};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use tokio::time::sleep;

use super::handlers::{EventCounts, TestHandler};
use super::history::{SourceHistory, TestObjects, text_of};
use super::walk::{FEW, KEYS, ModelOp, RECOVERS, Setting, settings, thing, walks};
use crate::support::{InformerFixture, key, seconds, settled, virtually};

/// Counts of situations over all cases, to check that each rare one occurs.
type SituationCounts = BTreeMap<&'static str, u64>;

struct Case {
    rig: InformerFixture,
    setting: Setting,
    history: SourceHistory,
    handlers: Vec<TestHandler>,
    written: usize,
    restored: bool,
    situations: SituationCounts,
}

#[test]
fn the_cache_equals_the_source_at_some_version_and_events_add_up() {
    let situations = RefCell::new(SituationCounts::new());
    let cases = settings().prop_flat_map(|setting| (Just(setting), walks(setting.can.versions_are_ordered)));
    let config = ProptestConfig {
        cases: 2_000,
        source_file: Some(file!()),
        test_name: Some("the_cache_equals_the_source_at_some_version_and_events_add_up"),
        ..ProptestConfig::default()
    };
    // Fixed seeds: each rare situation has to occur, and with some seeds one would not.
    for round in 0..ROUNDS {
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[round; 32]);
        let mut runner = TestRunner::new_with_rng(config.clone(), random);
        let outcome = runner.run(&cases, |(setting, walk)| {
            let of_this = virtually(case(setting, walk));
            let mut situations = situations.borrow_mut();
            of_this
                .into_iter()
                .for_each(|(situation, times)| *situations.entry(situation).or_default() += times);
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{error}");
        }
        if RARE.iter().all(|situation| situations.borrow().contains_key(situation)) {
            break;
        }
    }
    let situations = situations.into_inner();
    for situation in RARE {
        assert!(situations.contains_key(situation), "it never occurred that {situation}: {situations:#?}");
    }
}

/// Maximum number of rounds until all rare situations have occurred.
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
    "the cache was relisted",
    "the history was compacted",
];

async fn case(setting: Setting, walk: Vec<ModelOp>) -> SituationCounts {
    let filter = Filter {
        labels: if setting.labels { "app=0".parse().unwrap() } else { Default::default() },
        fields: if setting.place {
            FieldSelector::from_iter([FieldTerm::equals(TestObject::PLACE, "0").unwrap()])
        } else {
            Default::default()
        },
        ..Filter::default()
    };
    let rig = InformerFixture::with(FakeSource::of_test_objects(setting.can), |builder| {
        let mut limits = ReflectorLimits::default();
        limits.page = NonZeroU32::new(2).unwrap();
        limits.objects = if setting.few { FEW } else { limits.objects };
        builder.filter(filter).limits(limits);
    });
    let history = SourceHistory::new(setting);
    let handlers = vec![TestHandler::called(&rig.informer, setting.can.versions_are_ordered)];
    let mut case = Case {
        rig,
        setting,
        history,
        handlers,
        written: 0,
        restored: false,
        situations: SituationCounts::new(),
    };
    for op in walk {
        case.apply(op).await;
        settled().await;
        case.check();
    }
    case.recovers().await;
    for handler in std::mem::take(&mut case.handlers) {
        case.count_events(handler.remove().await);
    }
    case.rig.stop().await;
    case.situations
}

impl Case {
    fn count_situation(&mut self, situation: &'static str, times: u64) {
        if times > 0 {
            *self.situations.entry(situation).or_default() += times;
        }
    }

    fn count_events(&mut self, counts: EventCounts) {
        self.count_situation("an object was updated", counts.updated);
        self.count_situation("an object became another", counts.another);
        self.count_situation("an object was deleted", counts.deleted);
        self.count_situation("an object vanished", counts.vanished);
        self.count_situation("an object left", counts.left);
    }

    /// Returns whether a write now would make a restore undetectable: the source would reach its
    /// earlier version, or have another object with the same name and version.
    fn is_ambiguous(&self, key: &ObjectKey) -> bool {
        let next = self.rig.fake.revision() + 1;
        let number = |version: Option<ResourceVersion>| version?.revision().map(|revision| revision.0);
        let reached = number(self.rig.informer.state().version);
        let there = self.rig.informer.get(key).and_then(|thing| number(thing.version()));
        self.restored && (reached == Some(next) || there == Some(next))
    }

    async fn apply(&mut self, op: ModelOp) {
        let fake = self.rig.fake.clone();
        match op {
            ModelOp::Put { key: at, place, app, readable } => {
                if self.is_ambiguous(&key(KEYS[at])) {
                    return;
                }
                self.written += 1;
                let thing = thing(at, place, app, self.written);
                if readable {
                    fake.put(thing)
                } else {
                    fake.put_unreadable(thing)
                };
                self.history.note(&fake);
            }
            ModelOp::Delete { key: at } => {
                if !self.is_ambiguous(&key(KEYS[at])) && fake.delete(&key(KEYS[at])).is_some() {
                    self.history.note(&fake);
                }
            }
            ModelOp::Compact => {
                fake.compact();
                self.count_situation("the history was compacted", 1);
            }
            ModelOp::Bookmark => fake.bookmark(),
            ModelOp::EndWatches => fake.end_watches(),
            ModelOp::Pass(time) => {
                let mut left = seconds(time);
                while !left.is_zero() {
                    let slice = left.min(seconds(30));
                    sleep(slice).await;
                    fake.bookmark();
                    settled().await;
                    self.check();
                    left -= slice;
                }
            }
            ModelOp::Fault(fault) => fake.once(fault),
            ModelOp::AddHandler(delay) => self.add_handler(delay),
            ModelOp::RemoveHandler(at) => {
                if at < self.handlers.len() {
                    let counts = self.handlers.swap_remove(at).remove().await;
                    self.count_events(counts);
                    self.count_situation("a handler was removed", 1);
                }
            }
            ModelOp::Relist => {
                self.rig.informer.relist();
                self.count_situation("the cache was relisted", 1);
            }
            ModelOp::Restore(revisions) => self.restore(revisions),
        }
    }

    fn add_handler(&mut self, delay: Option<u64>) {
        if self.handlers.len() > 4 {
            return;
        }
        if !self.rig.informer.read().is_empty() {
            self.count_situation("a handler came late", 1);
        }
        let ordered = self.setting.can.versions_are_ordered && !self.restored;
        let informer = &self.rig.informer;
        self.handlers.push(match delay {
            None => TestHandler::called(informer, ordered),
            Some(delay) => TestHandler::slow(informer, ordered, &self.rig.tasks, seconds(delay)),
        });
    }

    /// Restores the source only if the cache is current, as versions of two histories cannot be
    /// told apart, and if the cache cannot be full, as a lost write might have made the objects
    /// fit.
    fn restore(&mut self, revisions: u64) {
        let fake = &self.rig.fake;
        let version = self.rig.informer.state().version.and_then(|version| version.revision());
        if self.setting.few || self.restored || version.is_none_or(|version| version.0 != fake.revision()) {
            return;
        }
        self.restored = true;
        fake.restore(revisions);
        self.handlers.iter().for_each(|handler| handler.state.lock().forget_order());
        self.history.restored(fake);
    }

    /// Checks the invariants.
    fn check(&mut self) {
        let snapshot = self.rig.informer.read();
        let cache: TestObjects = snapshot.iter().map(|(key, thing)| (key.clone(), thing.clone())).collect();
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
        self.history.find(&cache, reached.map(|reached| reached.0));
        let is_now = self.history.is_now(&cache);
        self.count_situation(
            if is_now { "the cache was the source" } else { "the cache was behind the source" },
            1,
        );
        self.count_situation("an object could not be read", state.unreadable.len() as u64);
        let kept = state.unreadable.iter().any(|unreadable| cache.contains_key(&unreadable.key));
        self.count_situation("an unreadable object was kept as it was", kept.into());
        for handler in &self.handlers {
            if handler.is_idle() {
                let state = handler.state.lock();
                assert_eq!(text_of(&state.things), text_of(&cache), "events do not add up");
            }
        }
        let lag = self.handlers.iter().any(|handler| !handler.is_idle());
        self.count_situation("a handler lagged", lag.into());
        if let Some(trouble) = state.trouble {
            self.count_situation(name(&trouble), 1);
        }
    }

    /// Checks that the informer recovers once there are no faults.
    async fn recovers(&mut self) {
        self.rig.fake.clear_faults();
        let mut left = RECOVERS;
        loop {
            if self.setting.few {
                // So that the objects fit.
                for key in FEW - 1..KEYS.len() {
                    self.apply(ModelOp::Delete { key }).await;
                }
            }
            settled().await;
            self.check();
            let state = self.rig.informer.state();
            let snapshot = self.rig.informer.read();
            let cache: TestObjects =
                snapshot.iter().map(|(key, thing)| (key.clone(), thing.clone())).collect();
            drop(snapshot);
            let all_delivered = self.handlers.iter().all(|handler| handler.is_idle() && handler.is_synced());
            let is_now = self.history.is_now(&cache) && state.synced;
            let unreadable: BTreeSet<_> =
                state.unreadable.iter().map(|unreadable| unreadable.key.clone()).collect();
            let knows = unreadable == *self.history.unreadable_now();
            if all_delivered && is_now && knows && state.trouble.is_none() {
                self.count_situation("a restore was noticed", self.restored.into());
                self.count_situation("a change came late", state.counts.late);
                return;
            }
            assert!(
                !left.is_zero(),
                "it does not recover: {state:?}, all delivered: {all_delivered}, cache {} of {}",
                text_of(&cache),
                self.history.now()
            );
            let slice = seconds(30);
            sleep(slice).await;
            self.rig.fake.bookmark();
            left = left.saturating_sub(slice);
        }
    }
}

const fn name(trouble: &ReflectorError) -> &'static str {
    match trouble {
        ReflectorError::List(ListError::Expired { .. }) => "a list expired",
        ReflectorError::List(_) => "a list failed",
        ReflectorError::Watch(WatchError::Expired) => "a watch expired",
        ReflectorError::Watch(_) => "a watch failed",
        ReflectorError::Silent(_) => "a watch was silent",
        ReflectorError::Short => "a watch ended at once",
        ReflectorError::Behind { .. } => "the source was behind",
        ReflectorError::NoEnd => "the state did not end",
        ReflectorError::Full { .. } => "the cache was full",
        ReflectorError::Endless { .. } => "the list was too long",
        _ => "something else",
    }
}
