//! The end of an interest stream: resuming, relisting or backing off.

use std::fmt::Display;
use std::time::{Duration, Instant};

use machinery_objects::{SourceError, WatchError};

use super::editor::{Editor, StreamCommand, StreamPhase};
use super::edits::Edit;
use crate::reflect::{Effect, FULL_WAIT, ReflectorError};

/// Upper bound of a server's `Retry-After`.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// A stream that ends sooner without an event counts as failed.
pub(super) const MIN_STREAM_TIME: Duration = Duration::from_secs(1);

impl<F: Ord + Clone + Display> Editor<F> {
    /// Discards a relist or edit in progress at the end of the stream.
    pub(super) fn abandon<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) {
        self.awaited = None;
        if matches!(
            self.phase,
            StreamPhase::Opening { relists: true } | StreamPhase::Beginning { relists: true }
        ) {
            effects.push(Effect::AbandonRelist);
        } else if self.edit.is_some() {
            self.break_off(now, effects);
        }
        if self.has_lasted(now) {
            self.backoff.reset();
        }
    }

    /// Makes all known keys stale.
    pub(super) fn forget_known(&mut self) {
        if std::mem::take(&mut self.all_known) {
            let old = self.requested.iter().filter(|(key, tenure)| self.desired.get(*key) == Some(*tenure));
            self.stale.extend(old.map(|(key, _)| key.clone()));
        }
    }

    pub(super) fn has_lasted(&self, now: Instant) -> bool {
        matches!(self.phase, StreamPhase::Beginning { relists: false } | StreamPhase::Going)
            && (self.progress_events > 0 || now >= self.began + MIN_STREAM_TIME)
    }

    /// Abandons an awaited completion, and retries after a delay.
    pub(super) fn give_up<T>(
        &mut self,
        now: Instant,
        trouble: ReflectorError,
        effects: &mut Vec<Effect<T>>,
    ) -> StreamCommand<F> {
        let edits = self.edit.is_some();
        if !matches!(trouble, ReflectorError::Behind { .. }) {
            self.behind_since = None;
        }
        self.halve_batch();
        self.abandon(now, effects);
        effects.push(Effect::Failed(trouble));
        // A failed edit costs only its own keys; an opening that did not complete, all of them.
        if !edits {
            self.forget_known();
        }
        self.wait(now, None)
    }

    /// Keeps the cache, and relists when there may be capacity.
    pub(super) fn full<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> StreamCommand<F> {
        self.abandon(now, effects);
        effects.push(Effect::Failed(ReflectorError::Full { limit: self.limits.objects }));
        self.forget_known();
        self.wait(now, Some(FULL_WAIT))
    }

    /// Halves the batch after an edit that did not complete in time; it may grow again.
    fn halve_batch(&mut self) {
        let keys = self.edit.as_ref().map_or(0, Edit::len);
        if keys > 1 {
            (self.batch, self.batch_grows) = (keys / 2, true);
        }
    }

    fn wait(&mut self, now: Instant, retry_after: Option<Duration>) -> StreamCommand<F> {
        let wait = self.backoff.next();
        self.phase = StreamPhase::Waiting;
        self.due = now + retry_after.map_or(wait, |least| wait.max(least.min(LONGEST_WAIT)));
        StreamCommand::Wait
    }

    pub(super) fn failed<T>(
        &mut self,
        now: Instant,
        error: WatchError,
        effects: &mut Vec<Effect<T>>,
    ) -> StreamCommand<F> {
        // Probably by the state of too many keys at once.
        if error == WatchError::TooSlow {
            self.halve_batch();
        }
        self.abandon(now, effects);
        if !matches!(error, WatchError::FutureRevision { .. }) {
            self.behind_since = None;
        }
        let retry_after = match &error {
            WatchError::Expired => {
                self.forget_known();
                None
            }
            WatchError::FutureRevision { retry_after, .. } => {
                self.is_doubtful = true;
                let since = *self.behind_since.get_or_insert(now);
                if now >= since + self.limits.stale_time {
                    // The server was restored, so its state replaces the cache.
                    self.forget_known();
                }
                *retry_after
            }
            WatchError::Source(SourceError::Invalid { .. })
                if matches!(self.phase, StreamPhase::Opening { .. }) =>
            {
                self.open_refused(now);
                None
            }
            WatchError::Source(source) => source.retry_after(),
            _ => None,
        };
        // Only the first time, because a source may expire every version.
        let at_once = error == WatchError::Expired && self.backoff.failures() == 0;
        effects.push(Effect::Failed(ReflectorError::Watch(error)));
        if at_once {
            self.backoff.next();
            return self.open(now, effects);
        }
        self.wait(now, retry_after)
    }

    /// Halves the number of keys of a rejected opening, down to a single key at fault. The batch
    /// may grow again.
    fn open_refused(&mut self, now: Instant) {
        if self.requested.len() > 1 {
            // To grow again: halving is also the search for a single key at fault.
            (self.batch, self.batch_grows) = (self.requested.len() / 2, true);
        } else if let Some(key) = self.requested.keys().next().cloned()
            && self.refuse(&key, now)
        {
            self.backoff.reset();
        }
    }

    /// Reopens a stream that ended normally: at once, or after a delay if it was too short.
    pub(super) fn ended<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> StreamCommand<F> {
        match self.phase {
            StreamPhase::Beginning { relists: false } | StreamPhase::Going if self.has_lasted(now) => {
                self.abandon(now, effects);
                self.open(now, effects)
            }
            StreamPhase::Beginning { relists: false } | StreamPhase::Going => {
                self.abandon(now, effects);
                effects.push(Effect::Failed(ReflectorError::Short));
                self.wait(now, None)
            }
            _ => {
                let reason = "the stream ended before the state of its keys did".into();
                self.failed(now, SourceError::Unavailable { reason, retry_after: None }.into(), effects)
            }
        }
    }
}
