//! Events of an interest stream: objects, ordered or as the state of keys, and marks.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Instant;

use machinery_objects::{ResourceVersion, WatchEvent};

use super::editor::{Editor, StreamCommand, StreamPhase};
use super::interest_counts::Tenure;
use crate::reflect::{Effect, ReflectorError, SourceObject, effect_of, version_of};

impl<F: Ord + Clone + Display> Editor<F> {
    pub(super) fn event<T>(
        &mut self,
        now: Instant,
        event: WatchEvent<SourceObject<T>>,
        effects: &mut Vec<Effect<T>>,
        complete: &mut Vec<(F, Tenure)>,
    ) -> Option<StreamCommand<F>> {
        if !matches!(self.phase, StreamPhase::Beginning { .. } | StreamPhase::Going) {
            return None;
        }
        self.due = now + self.limits.silence;
        if let WatchEvent::Complete { edit, version } = event {
            return match self.phase {
                StreamPhase::Beginning { relists } => {
                    self.opening_complete(now, relists, version, effects, complete)
                }
                _ => self.echo(now, Some((edit, version)), effects, complete),
            };
        }
        // Only the initial state of keys is unordered.
        let relists = self.phase == StreamPhase::Beginning { relists: true };
        let is_mark = matches!(event, WatchEvent::Bookmark { .. });
        if !is_mark {
            self.progress_events += u64::from(!relists);
            if let Some(awaited) = &mut self.awaited {
                awaited.last_object = now;
                awaited.objects += 1;
                if relists && awaited.objects > self.limits.objects {
                    let limit = self.limits.objects as u64;
                    return Some(self.give_up(
                        now,
                        ReflectorError::Endless { limit, of: "objects" },
                        effects,
                    ));
                }
            }
        }
        let version = version_of(&event).filter(|_| !relists);
        // The state of added keys may be older than the resume version, so no object is late here.
        if let (Some(edit), false) = (&mut self.edit, is_mark) {
            if self.ordered && version > edit.last_version {
                edit.last_version = version;
            }
            effects.extend(effect_of(event));
            return None;
        }
        // A stale event: a later deletion may be forgotten here. A deletion may have the version of
        // the last state.
        let is_end = matches!(event, WatchEvent::Deleted(_) | WatchEvent::Left(_))
            || matches!(&event, WatchEvent::Unreadable(unreadable) if unreadable.is_gone);
        if self.ordered && !is_end && version.is_some() && version < self.resume_version {
            effects.push(Effect::Late);
            return None;
        }
        effects.extend(effect_of(event));
        if let Some(version) = version {
            self.advance(version, effects);
        }
        None
    }

    /// The keys of the opening are complete.
    fn opening_complete<T>(
        &mut self,
        now: Instant,
        relists: bool,
        version: ResourceVersion,
        effects: &mut Vec<Effect<T>>,
        complete: &mut Vec<(F, Tenure)>,
    ) -> Option<StreamCommand<F>> {
        let seen = self.resume_version.clone().filter(|seen| relists && self.ordered && *seen > version);
        let was_restored = seen.is_some();
        if let Some(seen) = seen {
            let since = *self.behind_since.get_or_insert(now);
            if now < since + self.limits.stale_time {
                self.is_doubtful = true;
                return Some(self.give_up(now, ReflectorError::Behind { found: version, seen }, effects));
            }
        }
        self.phase = StreamPhase::Going;
        (self.awaited, self.behind_since) = (None, None);
        self.is_doubtful = false;
        self.all_known = true;
        if relists {
            self.resume_version = Some(version.clone());
            effects.push(Effect::FinishRelist(version));
            self.keys_complete(self.requested.clone(), complete);
            self.pre_restore = !self.stale.is_empty() && (self.pre_restore || was_restored);
            // Kept, but not complete: "A restored source" in docs/designs/011-informers.md.
            if was_restored {
                let tenure = |key: &F| self.desired.get(key).map(|tenure| (key.clone(), *tenure));
                self.outdated.extend(self.stale.iter().filter_map(tenure));
            }
            // A refused key was accepted, so the refusals had another cause.
            if self.requested.keys().any(|key| self.refused.has(key)) {
                self.refused.clear();
            }
        } else {
            self.advance(version, effects);
        }
        effects.push(Effect::Recovered);
        self.edit(now, effects)
    }

    /// All objects of these keys were received.
    pub(super) fn keys_complete(&mut self, keys: BTreeMap<F, Tenure>, complete: &mut Vec<(F, Tenure)>) {
        if !self.stale.is_empty() {
            self.stale.retain(|key| !keys.contains_key(key));
            self.pre_restore &= !self.stale.is_empty();
        }
        complete.extend(keys);
    }

    pub(super) fn advance<T>(&mut self, version: ResourceVersion, effects: &mut Vec<Effect<T>>) {
        let is_stale = |resume_version: &ResourceVersion| {
            *resume_version == version || (self.ordered && *resume_version > version)
        };
        if self.resume_version.as_ref().is_some_and(is_stale) {
            return;
        }
        self.resume_version = Some(version.clone());
        effects.push(Effect::Progress(version));
    }
}
