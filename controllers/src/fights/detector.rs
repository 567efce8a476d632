//! The decision whether a write fight is going on, and how much it is slowed. Pure: receives the
//! time as an argument.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::{Equivalent, HashMap};
use machinery_objects::ObjectKey;
use tokio::time::Instant;

use super::fields::ChangedFields;

/// Alternations of own and foreign writes after which the fields of an object are compared.
const SUSPECT: u32 = 3;
/// Times that our value of a field was undone and set again, from which on it is a fight.
const UNDONE: u32 = 3;
/// Writes that are further apart are no fight.
const PAUSE: Duration = Duration::from_secs(10);
/// A fight is over when nothing was undone for this time beyond its delay.
const PEACE: Duration = Duration::from_secs(60);
const FIRST_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(30);
/// Contests of a generation. The table has two, and forgets the older one.
const CONTESTS: usize = 4096;

/// The author of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The run of the key.
    Own,
    /// Somebody else.
    Foreign,
}

/// The objects that runs have written lately, with the alternations of writers.
pub(super) struct FightDetector<K> {
    recent: HashMap<(K, ObjectKey), Contest, FixedState>,
    older: HashMap<(K, ObjectKey), Contest, FixedState>,
}

struct Contest {
    last: Side,
    last_at: Instant,
    alternations: u32,
    /// The fields that were compared; empty while the object is not suspect.
    fields: BTreeMap<String, ContestedField>,
    fight: Option<Fight>,
}

/// A field that we have set.
struct ContestedField {
    /// Hash of the value that we set last.
    ours: u64,
    /// The manager that has set another value since; `Some(None)` if unknown.
    undone_by: Option<Option<String>>,
    undone: u32,
    first_at: Instant,
}

/// A fight over one field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fight {
    pub(super) field: String,
    pub(super) manager: Option<String>,
    /// Number of times that the value was undone and set again.
    pub(super) undone: u32,
    pub(super) first_at: Instant,
    pub(super) last_at: Instant,
    pub(super) delay: Duration,
}

impl Fight {
    /// Returns how often per second the value was undone.
    pub(super) fn rate(&self) -> f64 {
        let seconds = self.last_at.saturating_duration_since(self.first_at).as_secs_f64();
        f64::from(self.undone) / seconds.max(0.001)
    }
}

/// The effect of a change on a fight.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FightVerdict {
    /// A fight that began with this change.
    pub(super) began: Option<Fight>,
    /// The time by which the next run of the key is delayed.
    pub(super) delay: Duration,
}

impl<K: Hash + Eq + Clone> FightDetector<K> {
    pub(super) fn new(seed: u64) -> Self {
        let table = || HashMap::with_hasher(FixedState::with_seed(seed));
        Self { recent: table(), older: table() }
    }

    /// Returns the number of contests.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.recent.len() + self.older.len()
    }

    /// Returns whether the fields of a change of this object are needed.
    pub(super) fn is_suspect(&self, key: &K, object: &ObjectKey) -> bool {
        let pair = ContestKey(key, object);
        let contest = self.recent.get(&pair).or_else(|| self.older.get(&pair));
        contest.is_some_and(|contest| contest.alternations >= SUSPECT)
    }

    /// Records a change. Foreign changes count only for objects that a run of the key has written.
    pub(super) fn record(
        &mut self,
        now: Instant,
        (key, object): (&K, &ObjectKey),
        side: Side,
        fields: Option<&ChangedFields>,
    ) -> FightVerdict {
        let Some(contest) = self.contest(now, key, object, side) else { return FightVerdict::default() };
        if contest.is_over(now) {
            *contest = Contest::new(now, side);
        }
        let was = contest.last;
        contest.alternations += u32::from(was == Side::Foreign && side == Side::Own);
        (contest.last, contest.last_at) = (side, now);
        if contest.alternations < SUSPECT {
            return FightVerdict::default();
        }
        match (side, fields) {
            (Side::Own, Some(fields)) => contest.set(now, fields),
            (Side::Foreign, Some(fields)) => {
                contest.undo(fields);
                FightVerdict::default()
            }
            (_, None) => FightVerdict::default(),
        }
    }

    /// Returns the fights that are going on.
    pub(super) fn fights(&self, now: Instant) -> Vec<(K, ObjectKey, Fight)> {
        let all = self.recent.iter().chain(&self.older);
        all.filter(|(_, contest)| !contest.is_over(now))
            .filter_map(|((key, object), contest)| {
                Some((key.clone(), object.clone(), contest.fight.clone()?))
            })
            .collect()
    }

    /// Returns the contest of an object. Own writes begin one.
    fn contest(&mut self, now: Instant, key: &K, object: &ObjectKey, side: Side) -> Option<&mut Contest> {
        let pair = ContestKey(key, object);
        if !self.recent.contains_key(&pair) {
            let older = self.older.remove_entry(&pair);
            if older.is_none() && side == Side::Foreign {
                return None;
            }
            if self.recent.len() >= CONTESTS {
                self.forget_older();
            }
            let (names, contest) =
                older.unwrap_or_else(|| ((key.clone(), object.clone()), Contest::new(now, side)));
            self.recent.insert(names, contest);
        }
        self.recent.get_mut(&pair)
    }

    /// Begins a generation. Alternating contests are kept, up to an eighth of it.
    fn forget_older(&mut self) {
        let recent = std::mem::take(&mut self.recent);
        let older = std::mem::replace(&mut self.older, recent);
        let kept = older.into_iter().filter(|(_, contest)| contest.alternations > 0);
        self.recent.extend(kept.take(CONTESTS / 8));
    }
}

impl Contest {
    const fn new(now: Instant, last: Side) -> Self {
        Self { last, last_at: now, alternations: 0, fields: BTreeMap::new(), fight: None }
    }

    fn is_over(&self, now: Instant) -> bool {
        let (since, limit) = match &self.fight {
            Some(fight) => (fight.last_at, fight.delay + PEACE),
            None => (self.last_at, PAUSE),
        };
        now.saturating_duration_since(since) > limit
    }

    /// We set fields: one that was undone, and has our earlier value again, is fought over.
    fn set(&mut self, now: Instant, fields: &ChangedFields) -> FightVerdict {
        let mut verdict = FightVerdict::default();
        for (path, changed) in &fields.fields {
            let field = self.fields.entry(path.clone()).or_insert_with(|| ContestedField {
                ours: changed.after,
                undone_by: None,
                undone: 0,
                first_at: now,
            });
            match field.undone_by.take() {
                Some(manager) if field.ours == changed.after => {
                    field.undone += 1;
                    if field.undone >= UNDONE {
                        let before = self.fight.take().filter(|fight| fight.field == *path);
                        let delay =
                            before.as_ref().map_or(FIRST_DELAY, |fight| (fight.delay * 2).min(MAX_DELAY));
                        let fight = Fight {
                            field: path.clone(),
                            manager,
                            undone: field.undone,
                            first_at: field.first_at,
                            last_at: now,
                            delay,
                        };
                        if before.is_none() {
                            verdict.began = Some(fight.clone());
                        }
                        verdict.delay = verdict.delay.max(delay);
                        self.fight = Some(fight);
                    }
                }
                // Another value than before: a reaction, and no repetition.
                _ => (field.ours, field.undone, field.first_at) = (changed.after, 0, now),
            }
        }
        verdict
    }

    /// Somebody else set fields: those with our value are undone.
    fn undo(&mut self, fields: &ChangedFields) {
        for (path, changed) in &fields.fields {
            if let Some(field) = self.fields.get_mut(path).filter(|field| field.ours == changed.before) {
                field.undone_by = Some(changed.manager.clone());
            }
        }
    }
}

/// A borrowed pair of names, with the hash of the owned one.
#[derive(Hash)]
struct ContestKey<'a, K>(&'a K, &'a ObjectKey);

impl<K: Eq> Equivalent<(K, ObjectKey)> for ContestKey<'_, K> {
    fn equivalent(&self, (key, object): &(K, ObjectKey)) -> bool {
        self.0 == key && self.1 == object
    }
}
