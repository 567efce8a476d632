//! Watches: of the state, and of what comes after it.

use std::time::{Duration, Instant};

use machinery_objects::{ResourceVersion, SourceError, Unreadable, WatchError, WatchEvent};

use super::error::ReflectorError;
use super::event_effect::{effect_of, version_of};
use super::step::{Effect, Reflector, ReflectorCommand, ReflectorPhase, SourceObject};

/// A watch that ends sooner, without an event, has been none; and one that breaks sooner does not show that the source is well.
const MIN_WATCH_TIME: Duration = Duration::from_secs(1);
/// After so many failures in a row to hear the state from a watch, it is listed.
const STATE_WATCH_ATTEMPTS: u32 = 2;

impl Reflector {
    pub(super) fn watch_opened(&mut self, now: Instant) {
        let ReflectorPhase::Opening { state } = self.phase else { return };
        self.phase = ReflectorPhase::Watching { state, began: now, events: 0 };
        // One that lasts so long is one, also where nothing happens.
        let well = self.failing && !state;
        self.due = now + if well { MIN_WATCH_TIME } else { self.silence(state) };
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
        // A state that does not go on is not coming any more, whatever else is said.
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
            self.fresh = !self.is_stale(version.as_ref());
            if self.failing && self.fresh {
                effects.push(Effect::Recovered);
            }
        }
        match event {
            // It would come back if it has gone since.
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
            event => effects.extend(effect_of(event)),
        }
        // The state comes in no order: how far it is, its end says.
        if let Some(version) = version.filter(|_| !state) {
            self.advance(version, effects);
        }
        None
    }

    /// Whether what came is farther than what was told already.
    fn advances(&self, version: Option<&ResourceVersion>) -> bool {
        version.is_none() || (version != self.resume_version.as_ref() && !self.is_stale(version))
    }

    /// Whether what came since was told already. Of one version there may be more than one change.
    fn is_stale(&self, version: Option<&ResourceVersion>) -> bool {
        let resume_version = self.resume_version.as_ref();
        resume_version
            .zip(version)
            .is_some_and(|(resume_version, version)| self.is_later(resume_version, version))
    }

    /// A state that goes on so long has no end.
    fn endless(&self, now: Instant, began: Instant, events: u64) -> Option<ReflectorError> {
        let limits = self.config.limits;
        if events > limits.objects as u64 {
            return Some(ReflectorError::Endless { limit: limits.objects as u64, of: "objects" });
        }
        (now > began + limits.list_time)
            .then_some(ReflectorError::Endless { limit: limits.list_time.as_secs(), of: "seconds" })
    }

    /// Some sources go on after any version, and say only in bookmarks that they have not come so far: it is all listed anew when
    /// they do so for long.
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
            self.behind_since = None; // that is to be so for long, without a break
        }
        match error {
            // This source has no such watch, whatever it said.
            WatchError::Source(SourceError::Unsupported { .. } | SourceError::Invalid { .. })
            | WatchError::Expired
                if state =>
            {
                self.uses_list = true;
                self.next_command(now, effects)
            }
            WatchError::Expired => {
                self.needs_relist = true;
                // Once at once; a source that has nothing for anybody is not asked without a pause.
                match self.backoff.failures() {
                    0 => {
                        self.backoff.next();
                        self.next_command(now, effects)
                    }
                    _ => self.wait(now, None),
                }
            }
            WatchError::FutureRevision { retry_after, .. } => {
                let since = *self.behind_since.get_or_insert(now);
                // It was restored: what is there now is all that there is.
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
