//! The reflector as a machine: no clock, no stream, no cache. It is told what happened, and says what becomes of the cache
//! and what to ask for next.

use std::time::{Duration, Instant};

use machinery_objects::{
    Freshness, ListError, ListRequest, ObjectKey, Page, ResourceVersion, SourceError, Unreadable, WatchError,
    WatchEvent, WatchFrom, WatchRequest,
};

use super::backoff::Backoff;
use super::list::Listing;
use super::plan::Plan;
use super::trouble::Trouble;

/// An object as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found<T> {
    pub(crate) key: ObjectKey,
    pub(crate) version: Option<ResourceVersion>,
    pub(crate) object: T,
}

/// What happened.
pub(crate) enum Input<T> {
    /// It begins, or what [`Reflector::due`] said is past.
    Time,
    Page(Page<Found<T>>),
    ListFailed(ListError),
    /// The watch that was asked for has begun.
    Watching,
    /// It did not begin, or ended so.
    WatchFailed(WatchError),
    WatchEnded,
    Event(WatchEvent<Found<T>>),
    /// The cache is not what the source has.
    Anew,
    /// The cache has as much as it may, and has not taken what came last.
    Full,
}

/// What to ask the source for. It takes the place of whatever was under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    List(ListRequest),
    Watch(WatchRequest),
    /// Nothing until [`Reflector::due`].
    Wait,
}

/// What becomes of the cache, in this order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect<T> {
    Put(Found<T>),
    Remove(Found<T>, Went),
    Unreadable(Unreadable),
    /// What was told before came again.
    Late,
    /// All of it comes anew, beside what is there.
    Begin,
    /// It was all, as of this version: it takes the place of what was there.
    Finish(ResourceVersion),
    /// What comes anew never becomes whole.
    Abandon,
    /// Some of it comes anew, between changes of the rest: what the shelf says is renewed.
    BeginSome,
    /// That was all there is of it.
    FinishSome,
    /// The cache shows everything up to this version.
    Reached(ResourceVersion),
    Troubled(Trouble),
    /// The source answers again.
    Well,
}

/// How an object went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Went {
    Deleted,
    Left,
}

/// The machine. See [`step`](Self::step).
pub(crate) struct Reflector {
    pub(super) plan: Plan,
    pub(super) phase: Phase,
    /// When the phase is over, whatever comes.
    pub(super) due: Instant,
    pub(super) backoff: Backoff,
    /// Up to where everything was told: a watch goes on from here.
    pub(super) reached: Option<ResourceVersion>,
    /// Whether it must be all told anew before that.
    pub(super) anew: bool,
    /// The state cannot be watched here, as was seen.
    pub(super) lists: bool,
    /// So many lists in a row expired before their end: the next is asked for whole.
    pub(super) expired: u32,
    /// Since when the source shows less than it did.
    pub(super) behind: Option<Instant>,
    /// Something went wrong, and nothing has shown since that it is well.
    pub(super) troubled: bool,
    /// What happened last says that what is known is as new as it can be.
    pub(super) fresh: bool,
    /// Somebody wants all of it anew once more, after what is coming anew now.
    again: bool,
}

pub(super) enum Phase {
    Waiting,
    Listing(Listing),
    /// A watch was asked for: of the state, or of what comes.
    Opening {
        state: bool,
    },
    Watching {
        state: bool,
        began: Instant,
        events: u64,
    },
}

/// The longest that a source may tell us to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// What does not fit will hardly fit soon, and to see whether it does takes a long list.
pub(crate) const FULL_WAIT: Duration = Duration::from_secs(60);

impl Reflector {
    pub(crate) fn new(plan: Plan, now: Instant) -> Self {
        let plan = Plan { limits: plan.limits.bounded(), ..plan };
        let backoff = Backoff::new(plan.seed);
        Self {
            lists: !plan.watches_state(),
            plan,
            phase: Phase::Waiting,
            due: now,
            backoff,
            reached: None,
            anew: true,
            expired: 0,
            behind: None,
            troubled: false,
            fresh: false,
            again: false,
        }
    }

    /// Whether what happened last was a change or a mark of the source, and no earlier one than it told before.
    pub(crate) const fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Whether all of it is coming anew.
    pub(crate) const fn is_renewing(&self) -> bool {
        matches!(
            self.phase,
            Phase::Listing(_) | Phase::Opening { state: true } | Phase::Watching { state: true, .. }
        )
    }

    /// When [`Input::Time`] is to come, unless something else does.
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// Goes on. No order: what is under way goes on too.
    pub(crate) fn step<T>(
        &mut self,
        now: Instant,
        input: Input<T>,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<Order> {
        let before = effects.len();
        self.fresh = false;
        let order = match input {
            Input::Time => self.time(now, effects),
            Input::Page(page) => self.page(now, page, effects),
            Input::ListFailed(error) => Some(self.list_failed(now, error, effects)),
            Input::Watching => {
                self.watching(now);
                None
            }
            Input::WatchFailed(error) => Some(self.watch_failed(now, error, effects)),
            Input::WatchEnded => Some(self.watch_ended(now, effects)),
            Input::Event(event) => self.event(now, event, effects),
            Input::Anew => self.renew(now, effects),
            Input::Full => {
                effects.push(Effect::Troubled(Trouble::Full { limit: self.plan.limits.objects }));
                self.anew = true;
                Some(self.wait(now, Some(FULL_WAIT)))
            }
        };
        for effect in &effects[before..] {
            match effect {
                Effect::Troubled(_) => self.troubled = true,
                Effect::Well => self.troubled = false,
                _ => {}
            }
        }
        order
    }

    /// All of it anew: at once, unless the source is not to be asked now. What is coming anew already goes on to its end, or whoever
    /// wants it often would never see one.
    fn renew<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Option<Order> {
        self.anew = true;
        match &self.phase {
            Phase::Waiting => None,
            Phase::Listing(listing) if listing.waits => {
                self.abandon(effects);
                self.phase = Phase::Waiting;
                None
            }
            _ if self.is_renewing() => {
                self.again = true;
                None
            }
            _ => Some(self.ask(now, effects)),
        }
    }

    /// What comes next, without waiting.
    pub(super) fn ask<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Order {
        self.again &= !self.anew;
        if self.anew && self.lists {
            effects.push(Effect::Begin);
            return self.first_page(now);
        }
        let from = match &self.reached {
            Some(version) if !self.anew => WatchFrom::After(version.clone()),
            _ => WatchFrom::State(Freshness::Newest),
        };
        let state = matches!(from, WatchFrom::State(_));
        if state {
            effects.push(Effect::Begin);
        }
        self.phase = Phase::Opening { state };
        self.due = now + self.plan.limits.answer_time;
        Order::Watch(WatchRequest {
            filter: self.plan.filter.clone(),
            from,
            bookmarks: self.plan.can.bookmarks,
            timeout: Some(self.plan.limits.watch_time),
        })
    }

    pub(super) fn wait(&mut self, now: Instant, retry_after: Option<Duration>) -> Order {
        let wait = self.backoff.next();
        self.phase = Phase::Waiting;
        self.due = now + retry_after.map_or(wait, |least| wait.max(least.min(LONGEST_WAIT)));
        Order::Wait
    }

    /// What was coming anew does not come.
    pub(super) fn abandon<T>(&self, effects: &mut Vec<Effect<T>>) {
        if self.is_renewing() {
            effects.push(Effect::Abandon);
        }
    }

    pub(super) fn silence(&self, state: bool) -> Duration {
        if state { self.plan.limits.answer_time } else { self.plan.silence() }
    }

    fn time<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Option<Order> {
        if now < self.due {
            return None;
        }
        if let Phase::Watching { state: false, began, .. } = self.phase
            && self.troubled
            && now < began + self.silence(false)
        {
            effects.push(Effect::Well);
            self.due = began + self.silence(false);
            return None;
        }
        Some(match &self.phase {
            Phase::Waiting => self.ask(now, effects),
            Phase::Listing(listing) if listing.waits => self.next_page(now),
            Phase::Listing(_) => self.list_failed(now, SourceError::TimedOut.into(), effects),
            Phase::Opening { .. } => self.watch_failed(now, SourceError::TimedOut.into(), effects),
            Phase::Watching { state: true, .. } => {
                effects.push(Effect::Troubled(Trouble::NoEnd));
                self.abandon(effects);
                self.lists = true;
                self.ask(now, effects)
            }
            Phase::Watching { state: false, .. } => {
                effects.push(Effect::Troubled(Trouble::Silent(self.plan.silence())));
                self.ask(now, effects)
            }
        })
    }

    /// The state has come whole, as of this version: it is taken, unless the source has shown more already.
    pub(super) fn whole<T>(
        &mut self,
        now: Instant,
        version: ResourceVersion,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<Order> {
        if let Some(seen) = self.reached.as_ref().filter(|seen| self.is_later(seen, &version)) {
            let since = *self.behind.get_or_insert(now);
            if now < since + self.plan.limits.stale_time {
                let seen = seen.clone();
                effects.push(Effect::Troubled(Trouble::Behind { found: version, seen }));
                self.abandon(effects);
                return Some(self.wait(now, None));
            }
        }
        self.behind = None;
        self.anew = false;
        self.expired = 0;
        self.reached = Some(version.clone());
        self.fresh = true;
        effects.extend([Effect::Finish(version), Effect::Well]);
        if std::mem::take(&mut self.again) {
            self.anew = true;
            return Some(self.ask(now, effects));
        }
        None
    }

    /// Whether one version is known to come after another.
    pub(super) fn is_later(&self, one: &ResourceVersion, other: &ResourceVersion) -> bool {
        self.plan.can.versions_are_ordered && one > other
    }

    /// Everything up to this version has been told.
    pub(super) fn reach<T>(&mut self, version: ResourceVersion, effects: &mut Vec<Effect<T>>) {
        // A bookmark that comes twice, or late, says nothing.
        if self
            .reached
            .as_ref()
            .is_some_and(|reached| *reached == version || self.is_later(reached, &version))
        {
            return;
        }
        self.reached = Some(version.clone());
        effects.push(Effect::Reached(version));
    }
}
