//! What a stream of interest tells: objects, in order or as the state of keys, and how far it is.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Instant;

use machinery_objects::{ResourceVersion, WatchEvent};

use super::editor::{Editor, Order, Phase};
use super::wanted::Tenure;
use crate::reflect::{Effect, Found, Trouble, effect_of, version_of};

impl<F: Ord + Clone + Display> Editor<F> {
    pub(super) fn event<T>(
        &mut self,
        now: Instant,
        event: WatchEvent<Found<T>>,
        effects: &mut Vec<Effect<T>>,
        complete: &mut Vec<(F, Tenure)>,
    ) -> Option<Order<F>> {
        if !matches!(self.phase, Phase::Beginning { .. } | Phase::Going) {
            return None;
        }
        self.due = now + self.limits.silence;
        if let WatchEvent::Complete { edit, version } = event {
            return match self.phase {
                Phase::Beginning { anew } => self.begun(now, anew, version, effects, complete),
                _ => self.echo(now, Some((edit, version)), effects, complete),
            };
        }
        // Only the state of keys comes in no order.
        let anew = self.phase == Phase::Beginning { anew: true };
        let is_mark = matches!(event, WatchEvent::Bookmark { .. });
        if !is_mark {
            self.news += u64::from(!anew);
            if let Some(awaited) = &mut self.awaited {
                awaited.told = now;
                awaited.objects += 1;
                if anew && awaited.objects > self.limits.objects {
                    let limit = self.limits.objects as u64;
                    return Some(self.give_up(now, Trouble::Endless { limit, of: "objects" }, effects));
                }
            }
        }
        let version = version_of(&event).filter(|_| !anew);
        if let (Some(edit), false) = (&mut self.edit, is_mark) {
            if self.ordered && version > edit.told {
                edit.told = version;
            }
            effects.extend(effect_of(event));
            return None;
        }
        // It was told before, and what came of it since may be forgotten here. The end of an object may have the version of
        // its last state.
        let is_end = matches!(event, WatchEvent::Deleted(_) | WatchEvent::Left(_))
            || matches!(&event, WatchEvent::Unreadable(unreadable) if unreadable.is_gone);
        if self.ordered && !is_end && version.is_some() && version < self.reached {
            effects.push(Effect::Late);
            return None;
        }
        effects.extend(effect_of(event));
        if let Some(version) = version {
            self.reach(version, effects);
        }
        None
    }

    /// The keys that it was opened with are complete.
    fn begun<T>(
        &mut self,
        now: Instant,
        anew: bool,
        version: ResourceVersion,
        effects: &mut Vec<Effect<T>>,
        complete: &mut Vec<(F, Tenure)>,
    ) -> Option<Order<F>> {
        let seen = self.reached.clone().filter(|seen| anew && self.ordered && *seen > version);
        let was_restored = seen.is_some();
        if let Some(seen) = seen {
            let since = *self.behind.get_or_insert(now);
            if now < since + self.limits.stale_time {
                self.doubted = true;
                return Some(self.give_up(now, Trouble::Behind { found: version, seen }, effects));
            }
        }
        self.phase = Phase::Going;
        (self.awaited, self.behind) = (None, None);
        self.doubted = false;
        self.whole = true;
        if anew {
            self.reached = Some(version.clone());
            effects.push(Effect::Finish(version));
            self.known(self.asked.clone(), complete);
            self.lost = !self.stale.is_empty() && (self.lost || was_restored);
            if was_restored {
                let tenure = |key: &F| self.wanted.get(key).map(|tenure| (key.clone(), *tenure));
                self.outdated.extend(self.stale.iter().filter_map(tenure));
            }
            if self.asked.keys().any(|key| self.refused.has(key)) {
                self.refused.clear();
            }
        } else {
            self.reach(version, effects);
        }
        effects.push(Effect::Well);
        self.edit(now, effects)
    }

    /// All of these has come.
    pub(super) fn known(&mut self, keys: BTreeMap<F, Tenure>, complete: &mut Vec<(F, Tenure)>) {
        if !self.stale.is_empty() {
            self.stale.retain(|key| !keys.contains_key(key));
            self.lost &= !self.stale.is_empty();
        }
        complete.extend(keys);
    }

    pub(super) fn reach<T>(&mut self, version: ResourceVersion, effects: &mut Vec<Effect<T>>) {
        let is_told = |reached: &ResourceVersion| *reached == version || (self.ordered && *reached > version);
        if self.reached.as_ref().is_some_and(is_told) {
            return;
        }
        self.reached = Some(version.clone());
        effects.push(Effect::Reached(version));
    }
}
