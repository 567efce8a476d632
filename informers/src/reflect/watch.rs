//! Watches of changes, and of the streamed state.

use std::time::{Duration, Instant};

use machinery_objects::{ResourceVersion, SourceError, Unreadable, WatchError, WatchEvent};

use super::error::ReflectorError;
use super::event_effect::{effect_of, version_of};
use super::step::{Effect, Reflector, ReflectorCommand, ReflectorPhase, SourceObject};

/// A watch that ends sooner without an event counts as failed; one that breaks sooner does not
/// reset the back-off.
const MIN_WATCH_TIME: Duration = Duration::from_secs(1);
/// Number of successive failures of streaming the state, before it is listed.
const STATE_WATCH_ATTEMPTS: u32 = 2;

impl Reflector {
    pub(super) fn watch_opened(&mut self, now: Instant) {
        let ReflectorPhase::Opening { state } = self.phase else { return };
        self.phase = ReflectorPhase::Watching { state, began: now, events: 0 };
        // An idle watch that lasts this long shows that the source works.
        let well = self.failing && !state;
        self.due = now + if well { MIN_WATCH_TIME } else { self.silence(state) };
        // Without bookmarks, an accepted version is the only sign that the source has caught up.
        if !state && !self.config.can.bookmarks {
            self.behind_since = None;
        }
    }

    pub(super) fn event<T>(
        &mut self,
        now: Instant,
        event: WatchEvent<SourceObject<T>>,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<ReflectorCommand> {
        let version = version_of(&event);
        let advances = self.advances(version.as_ref());
        let ReflectorPhase::Watching { state, events, began } = &mut self.phase else { return None };
        // Bookmarks do not prolong a streamed state: without objects it has stalled.
        let goes_on = !(*state && matches!(event, WatchEvent::Bookmark { .. }));
        *events += u64::from(if *state { goes_on } else { advances });
        let (state, began, events) = (*state, *began, *events);
        if goes_on {
            self.due = now + self.silence(state);
        }
        if state {
            if let Some(trouble) = self.endless(now, began, events) {
                effects.push(Effect::Failed(trouble));
                self.abandon_relist(effects);
                self.uses_list = true;
                return Some(self.wait(now, None));
            }
        } else {
            if now >= began + MIN_WATCH_TIME {
                self.backoff.reset();
            }
            if let Some(command) = self.check_behind(now, &event, version.as_ref(), effects) {
                return Some(command);
            }
            // A late bookmark of a stalled replica must not hide the age of the cache.
            self.fresh = !self.is_stale(version.as_ref());
            if self.failing && self.fresh {
                effects.push(Effect::Recovered);
            }
        }
        match event {
            // It might resurrect an object that was deleted since.
            WatchEvent::Added(_) | WatchEvent::Modified(_) if !state && self.is_stale(version.as_ref()) => {
                effects.push(Effect::Late);
            }
            WatchEvent::Unreadable(Unreadable { is_gone: false, .. })
                if !state && self.is_stale(version.as_ref()) =>
            {
                effects.push(Effect::Late);
            }
            WatchEvent::Bookmark { version, initial_state_ends: true } if state => {
                if let Some(command) = self.finish_state(now, version, effects) {
                    return Some(command);
                }
                self.phase = ReflectorPhase::Watching { state: false, began: now, events: 0 };
                self.due = now + self.silence(false);
                return None;
            }
            // Deletions are not late here: the cache compares each with its object.
            event => effects.extend(effect_of(event)),
        }
        // The streamed state is unordered: its end carries the version.
        if let Some(version) = version.filter(|_| !state) {
            self.advance(version, effects);
        }
        None
    }

    /// Returns whether the event is later than the resume version.
    fn advances(&self, version: Option<&ResourceVersion>) -> bool {
        version.is_none() || (version != self.resume_version.as_ref() && !self.is_stale(version))
    }

    /// Returns whether the event is earlier than the resume version. Several changes may share one
    /// version.
    fn is_stale(&self, version: Option<&ResourceVersion>) -> bool {
        let resume_version = self.resume_version.as_ref();
        resume_version
            .zip(version)
            .is_some_and(|(resume_version, version)| self.is_later(resume_version, version))
    }

    /// Returns an error if a streamed state exceeds its limits.
    fn endless(&self, now: Instant, began: Instant, events: u64) -> Option<ReflectorError> {
        let limits = self.config.limits;
        if events > limits.objects as u64 {
            return Some(ReflectorError::Endless { limit: limits.objects as u64, of: "objects" });
        }
        (now > began + limits.list_time)
            .then_some(ReflectorError::Endless { limit: limits.list_time.as_secs(), of: "seconds" })
    }

    /// Detects a restored source by its bookmarks: some sources accept a watch after any version,
    /// and stay behind the cache. After `stale_time` they are relisted.
    fn check_behind<T>(
        &mut self,
        now: Instant,
        event: &WatchEvent<SourceObject<T>>,
        version: Option<&ResourceVersion>,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<ReflectorCommand> {
        if !self.is_stale(version) {
            self.behind_since = None;
            return None;
        }
        let WatchEvent::Bookmark { version: found, .. } = event else { return None };
        let since = *self.behind_since.get_or_insert(now);
        let seen = self.resume_version.clone()?;
        if now < since + self.config.limits.stale_time {
            return None;
        }
        effects.push(Effect::Failed(ReflectorError::Behind { found: found.clone(), seen }));
        self.needs_relist = true;
        Some(self.next_command(now, effects))
    }

    pub(super) fn watch_failed<T>(
        &mut self,
        now: Instant,
        error: WatchError,
        effects: &mut Vec<Effect<T>>,
    ) -> ReflectorCommand {
        let state = matches!(
            self.phase,
            ReflectorPhase::Opening { state: true } | ReflectorPhase::Watching { state: true, .. }
        );
        effects.push(Effect::Failed(ReflectorError::Watch(error.clone())));
        self.abandon_relist(effects);
        if matches!(self.phase, ReflectorPhase::Watching { state: false, began, events } if events > 0 && now >= began + MIN_WATCH_TIME)
        {
            self.backoff.reset();
        }
        if !matches!(error, WatchError::FutureRevision { .. }) {
            self.behind_since = None; // it has to be behind for `stale_time` without interruption
        }
        match error {
            // The source does not support it, whatever its capabilities claim.
            WatchError::Source(SourceError::Unsupported { .. } | SourceError::Invalid { .. })
            | WatchError::Expired
                if state =>
            {
                self.uses_list = true;
                self.next_command(now, effects)
            }
            WatchError::Expired => {
                self.needs_relist = true;
                // Relist at once the first time, then back off: a source may expire every version.
                match self.backoff.failures() {
                    0 => {
                        self.backoff.next();
                        self.next_command(now, effects)
                    }
                    _ => self.wait(now, None),
                }
            }
            // A lagging replica answers the same, and catches up within `stale_time`.
            WatchError::FutureRevision { retry_after, .. } => {
                let since = *self.behind_since.get_or_insert(now);
                // The server was restored, so its state replaces the cache.
                self.needs_relist |= now >= since + self.config.limits.stale_time;
                self.wait(now, retry_after)
            }
            WatchError::Source(source) => {
                self.uses_list |= state && self.backoff.failures() + 1 >= STATE_WATCH_ATTEMPTS;
                self.wait(now, source.retry_after())
            }
            _ => self.wait(now, None),
        }
    }

    pub(super) fn watch_ended<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> ReflectorCommand {
        match self.phase {
            // An end is no failure, unless it came at once and without an event.
            ReflectorPhase::Watching { state: false, began, events }
                if events > 0 || now >= began + MIN_WATCH_TIME =>
            {
                if now >= began + MIN_WATCH_TIME {
                    self.backoff.reset();
                }
                self.next_command(now, effects)
            }
            ReflectorPhase::Watching { state: false, .. } => {
                effects.push(Effect::Failed(ReflectorError::Short));
                self.wait(now, None)
            }
            _ => {
                let reason = "the watch ended before its state did".into();
                self.watch_failed(now, SourceError::Unavailable { reason, retry_after: None }.into(), effects)
            }
        }
    }
}
