//! How a stream of interest ends, and what is asked then: again where it was, anew, or nothing for a while.

use std::fmt::Display;
use std::time::{Duration, Instant};

use machinery_objects::{SourceError, WatchError};

use super::editor::{Editor, Order, Phase};
use super::edits::Edit;
use crate::reflect::{Effect, FULL_WAIT, Trouble};

/// The longest that a source may tell us to wait.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// A stream that ends sooner, and told nothing, has been none.
pub(super) const SHORT: Duration = Duration::from_secs(1);

impl<F: Ord + Clone + Display> Editor<F> {
    /// The stream is over, and what was coming anew does not come.
    pub(super) fn abandon<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) {
        self.awaited = None;
        if matches!(self.phase, Phase::Opening { anew: true } | Phase::Beginning { anew: true }) {
            effects.push(Effect::Abandon);
        } else if self.edit.is_some() {
            self.break_off(now, effects);
        }
        if self.has_lasted(now) {
            self.backoff.reset();
        }
    }

    /// No key is known any more.
    pub(super) fn forget(&mut self) {
        if std::mem::take(&mut self.whole) {
            let old = self.asked.iter().filter(|(key, tenure)| self.wanted.get(*key) == Some(*tenure));
            self.stale.extend(old.map(|(key, _)| key.clone()));
        }
    }

    pub(super) fn has_lasted(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Beginning { anew: false } | Phase::Going)
            && (self.news > 0 || now >= self.began + SHORT)
    }

    /// What is awaited does not come: it is asked for anew, later.
    pub(super) fn give_up<T>(
        &mut self,
        now: Instant,
        trouble: Trouble,
        effects: &mut Vec<Effect<T>>,
    ) -> Order<F> {
        let edits = self.edit.is_some();
        if !matches!(trouble, Trouble::Behind { .. }) {
            self.behind = None;
        }
        self.ask_for_less();
        self.abandon(now, effects);
        effects.push(Effect::Troubled(trouble));
        if !edits {
            self.forget();
        }
        self.wait(now, None)
    }

    /// It all stays as it was, and is asked for anew when there may be room.
    pub(super) fn full<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Order<F> {
        self.abandon(now, effects);
        effects.push(Effect::Troubled(Trouble::Full { limit: self.limits.objects }));
        self.forget();
        self.wait(now, Some(FULL_WAIT))
    }

    /// An edit of which not all could be told in time is made with half as many keys. The cause may be another one, and go away.
    fn ask_for_less(&mut self) {
        let keys = self.edit.as_ref().map_or(0, Edit::len);
        if keys > 1 {
            (self.part, self.grows) = (keys / 2, true);
        }
    }

    fn wait(&mut self, now: Instant, retry_after: Option<Duration>) -> Order<F> {
        let wait = self.backoff.next();
        self.phase = Phase::Waiting;
        self.due = now + retry_after.map_or(wait, |least| wait.max(least.min(LONGEST_WAIT)));
        Order::Wait
    }

    pub(super) fn failed<T>(
        &mut self,
        now: Instant,
        error: WatchError,
        effects: &mut Vec<Effect<T>>,
    ) -> Order<F> {
        if error == WatchError::TooSlow {
            self.ask_for_less();
        }
        self.abandon(now, effects);
        if !matches!(error, WatchError::FutureRevision { .. }) {
            self.behind = None;
        }
        let retry_after = match &error {
            WatchError::Expired => {
                self.forget();
                None
            }
            WatchError::FutureRevision { retry_after, .. } => {
                self.doubted = true;
                let since = *self.behind.get_or_insert(now);
                if now >= since + self.limits.stale_time {
                    // It was restored: what is there now is all that there is.
                    self.forget();
                }
                *retry_after
            }
            WatchError::Source(SourceError::Invalid { .. })
                if matches!(self.phase, Phase::Opening { .. }) =>
            {
                self.opened_wrongly(now);
                None
            }
            WatchError::Source(source) => source.retry_after(),
            _ => None,
        };
        let at_once = error == WatchError::Expired && self.backoff.failures() == 0;
        effects.push(Effect::Troubled(Trouble::Watch(error)));
        if at_once {
            self.backoff.next();
            return self.open(now, effects);
        }
        self.wait(now, retry_after)
    }

    /// With fewer keys, down to one: that one is what is wrong. But the cause may be another one, and go away.
    fn opened_wrongly(&mut self, now: Instant) {
        if self.asked.len() > 1 {
            (self.part, self.grows) = (self.asked.len() / 2, true);
        } else if let Some(key) = self.asked.keys().next().cloned()
            && self.refuse(&key, now)
        {
            self.backoff.reset();
        }
    }

    /// Its time was over, as that of any watch is. One that has been none is opened later.
    pub(super) fn ended<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Order<F> {
        match self.phase {
            Phase::Beginning { anew: false } | Phase::Going if self.has_lasted(now) => {
                self.abandon(now, effects);
                self.open(now, effects)
            }
            Phase::Beginning { anew: false } | Phase::Going => {
                self.abandon(now, effects);
                effects.push(Effect::Troubled(Trouble::Short));
                self.wait(now, None)
            }
            _ => {
                let reason = "the stream ended before the state of its keys did".into();
                self.failed(now, SourceError::Unavailable { reason, retry_after: None }.into(), effects)
            }
        }
    }
}
