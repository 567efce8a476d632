//! Watches: of the state, and of what comes after it.

use std::time::{Duration, Instant};

use machinery_objects::{ResourceVersion, SourceError, Unreadable, WatchError, WatchEvent};

use super::step::{Effect, Found, Order, Phase, Reflector};
use super::told::{effect_of, version_of};
use super::trouble::Trouble;

/// A watch that ends sooner, without an event, has been none; and one that breaks sooner does not show that the source is well.
const SHORT: Duration = Duration::from_secs(1);
/// After so many failures in a row to hear the state from a watch, it is listed.
const PATIENCE: u32 = 2;

impl Reflector {
    pub(super) fn watching(&mut self, now: Instant) {
        let Phase::Opening { state } = self.phase else { return };
        self.phase = Phase::Watching { state, began: now, events: 0 };
        // One that lasts so long is one, also where nothing happens.
        let well = self.troubled && !state;
        self.due = now + if well { SHORT } else { self.silence(state) };
        if !state && !self.plan.can.bookmarks {
            self.behind = None;
        }
    }

    pub(super) fn event<T>(
        &mut self,
        now: Instant,
        event: WatchEvent<Found<T>>,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<Order> {
        let version = version_of(&event);
        let moves = self.moves(version.as_ref());
        let Phase::Watching { state, events, began } = &mut self.phase else { return None };
        // A state that does not go on is not coming any more, whatever else is said.
        let goes_on = !(*state && matches!(event, WatchEvent::Bookmark { .. }));
        *events += u64::from(if *state { goes_on } else { moves });
        let (state, began, events) = (*state, *began, *events);
        if goes_on {
            self.due = now + self.silence(state);
        }
        if state {
            if let Some(trouble) = self.endless(now, began, events) {
                effects.push(Effect::Troubled(trouble));
                self.abandon(effects);
                self.lists = true;
                return Some(self.wait(now, None));
            }
        } else {
            if now >= began + SHORT {
                self.backoff.reset();
            }
            if let Some(order) = self.left_behind(now, &event, version.as_ref(), effects) {
                return Some(order);
            }
            self.fresh = !self.is_told(version.as_ref());
            if self.troubled && self.fresh {
                effects.push(Effect::Well);
            }
        }
        match event {
            // It would come back if it has gone since.
            WatchEvent::Added(_) | WatchEvent::Modified(_) if !state && self.is_told(version.as_ref()) => {
                effects.push(Effect::Late);
            }
            WatchEvent::Unreadable(Unreadable { is_gone: false, .. })
                if !state && self.is_told(version.as_ref()) =>
            {
                effects.push(Effect::Late);
            }
            WatchEvent::Bookmark { version, initial_state_ends: true } if state => {
                if let Some(order) = self.whole(now, version, effects) {
                    return Some(order);
                }
                self.phase = Phase::Watching { state: false, began: now, events: 0 };
                self.due = now + self.silence(false);
                return None;
            }
            event => effects.extend(effect_of(event)),
        }
        // The state comes in no order: how far it is, its end says.
        if let Some(version) = version.filter(|_| !state) {
            self.reach(version, effects);
        }
        None
    }

    /// Whether what came is farther than what was told already.
    fn moves(&self, version: Option<&ResourceVersion>) -> bool {
        version.is_none() || (version != self.reached.as_ref() && !self.is_told(version))
    }

    /// Whether what came since was told already. Of one version there may be more than one change.
    fn is_told(&self, version: Option<&ResourceVersion>) -> bool {
        let reached = self.reached.as_ref();
        reached.zip(version).is_some_and(|(reached, version)| self.is_later(reached, version))
    }

    /// A state that goes on so long has no end.
    fn endless(&self, now: Instant, began: Instant, events: u64) -> Option<Trouble> {
        let limits = self.plan.limits;
        if events > limits.objects as u64 {
            return Some(Trouble::Endless { limit: limits.objects as u64, of: "objects" });
        }
        (now > began + limits.list_time)
            .then_some(Trouble::Endless { limit: limits.list_time.as_secs(), of: "seconds" })
    }

    /// Some sources go on after any version, and say only in bookmarks that they have not come so far: it is all listed anew when
    /// they do so for long.
    fn left_behind<T>(
        &mut self,
        now: Instant,
        event: &WatchEvent<Found<T>>,
        version: Option<&ResourceVersion>,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<Order> {
        if !self.is_told(version) {
            self.behind = None;
            return None;
        }
        let WatchEvent::Bookmark { version: found, .. } = event else { return None };
        let since = *self.behind.get_or_insert(now);
        let seen = self.reached.clone()?;
        if now < since + self.plan.limits.stale_time {
            return None;
        }
        effects.push(Effect::Troubled(Trouble::Behind { found: found.clone(), seen }));
        self.anew = true;
        Some(self.ask(now, effects))
    }

    pub(super) fn watch_failed<T>(
        &mut self,
        now: Instant,
        error: WatchError,
        effects: &mut Vec<Effect<T>>,
    ) -> Order {
        let state =
            matches!(self.phase, Phase::Opening { state: true } | Phase::Watching { state: true, .. });
        effects.push(Effect::Troubled(Trouble::Watch(error.clone())));
        self.abandon(effects);
        if matches!(self.phase, Phase::Watching { state: false, began, events } if events > 0 && now >= began + SHORT)
        {
            self.backoff.reset();
        }
        if !matches!(error, WatchError::FutureRevision { .. }) {
            self.behind = None; // that is to be so for long, without a break
        }
        match error {
            // This source has no such watch, whatever it said.
            WatchError::Source(SourceError::Unsupported { .. } | SourceError::Invalid { .. })
            | WatchError::Expired
                if state =>
            {
                self.lists = true;
                self.ask(now, effects)
            }
            WatchError::Expired => {
                self.anew = true;
                // Once at once; a source that has nothing for anybody is not asked without a pause.
                match self.backoff.failures() {
                    0 => {
                        self.backoff.next();
                        self.ask(now, effects)
                    }
                    _ => self.wait(now, None),
                }
            }
            WatchError::FutureRevision { retry_after, .. } => {
                let since = *self.behind.get_or_insert(now);
                // It was restored: what is there now is all that there is.
                self.anew |= now >= since + self.plan.limits.stale_time;
                self.wait(now, retry_after)
            }
            WatchError::Source(source) => {
                self.lists |= state && self.backoff.failures() + 1 >= PATIENCE;
                self.wait(now, source.retry_after())
            }
            _ => self.wait(now, None),
        }
    }

    pub(super) fn watch_ended<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Order {
        match self.phase {
            Phase::Watching { state: false, began, events } if events > 0 || now >= began + SHORT => {
                if now >= began + SHORT {
                    self.backoff.reset();
                }
                self.ask(now, effects)
            }
            Phase::Watching { state: false, .. } => {
                effects.push(Effect::Troubled(Trouble::Short));
                self.wait(now, None)
            }
            _ => {
                let reason = "the watch ended before its state did".into();
                self.watch_failed(now, SourceError::Unavailable { reason, retry_after: None }.into(), effects)
            }
        }
    }
}
