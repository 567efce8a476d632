//! The reflector as a machine: no clock, no stream, no cache. It is told what happened, and says what becomes of the cache
//! and what to ask for next.

use std::time::{Duration, Instant};

use machinery_objects::{
    Freshness, ListError, ListRequest, ObjectKey, Page, ResourceVersion, SourceError, Unreadable, WatchError,
    WatchEvent, WatchFrom, WatchRequest,
};

use super::backoff::Backoff;
use super::config::ReflectorConfig;
use super::error::ReflectorError;
use super::list::Listing;

/// An object as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceObject<T> {
    pub(crate) key: ObjectKey,
    pub(crate) version: Option<ResourceVersion>,
    pub(crate) object: T,
}

/// What happened.
pub(crate) enum ReflectorInput<T> {
    /// It begins, or what [`Reflector::due`] said is past.
    Time,
    Page(Page<SourceObject<T>>),
    ListFailed(ListError),
    /// The watch that was asked for has begun.
    Watching,
    /// It did not begin, or ended so.
    WatchFailed(WatchError),
    WatchEnded,
    Event(WatchEvent<SourceObject<T>>),
    /// The cache is not what the source has.
    Relist,
    /// The cache has as much as it may, and has not taken what came last.
    Full,
}

/// What to ask the source for. It takes the place of whatever was under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReflectorCommand {
    List(ListRequest),
    Watch(WatchRequest),
    /// Nothing until [`Reflector::due`].
    Wait,
}

/// What becomes of the cache, in this order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect<T> {
    Put(SourceObject<T>),
    Remove(SourceObject<T>, RemovalKind),
    Unreadable(Unreadable),
    /// What was told before came again.
    Late,
    /// All of it comes anew, beside what is there.
    BeginRelist,
    /// It was all, as of this version: it takes the place of what was there.
    FinishRelist(ResourceVersion),
    /// What comes anew never becomes whole.
    AbandonRelist,
    /// Some of it comes anew, between changes of the rest: what the shelf says is renewed.
    BeginPartialRelist,
    /// That was all there is of it.
    FinishPartialRelist,
    /// The cache shows everything up to this version.
    Progress(ResourceVersion),
    Failed(ReflectorError),
    /// The source answers again.
    Recovered,
}

/// How an object went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovalKind {
    Deleted,
    Left,
}

/// The machine. See [`step`](Self::step).
pub(crate) struct Reflector {
    pub(super) config: ReflectorConfig,
    pub(super) phase: ReflectorPhase,
    /// When the phase is over, whatever comes.
    pub(super) due: Instant,
    pub(super) backoff: Backoff,
    /// Up to where everything was told: a watch goes on from here.
    pub(super) resume_version: Option<ResourceVersion>,
    /// Whether it must be all told anew before that.
    pub(super) needs_relist: bool,
    /// The state cannot be watched here, as was seen.
    pub(super) uses_list: bool,
    /// So many lists in a row expired before their end: the next is asked for whole.
    pub(super) expired_lists: u32,
    /// Since when the source shows less than it did.
    pub(super) behind_since: Option<Instant>,
    /// Something went wrong, and nothing has shown since that it is well.
    pub(super) failing: bool,
    /// What happened last says that what is known is as new as it can be.
    pub(super) fresh: bool,
    /// Somebody wants all of it anew once more, after what is coming anew now.
    relist_again: bool,
}

pub(super) enum ReflectorPhase {
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
    pub(crate) fn new(config: ReflectorConfig, now: Instant) -> Self {
        let config = ReflectorConfig { limits: config.limits.bounded(), ..config };
        let backoff = Backoff::new(config.seed);
        Self {
            uses_list: !config.watches_state(),
            config,
            phase: ReflectorPhase::Waiting,
            due: now,
            backoff,
            resume_version: None,
            needs_relist: true,
            expired_lists: 0,
            behind_since: None,
            failing: false,
            fresh: false,
            relist_again: false,
        }
    }

    /// Whether what happened last was a change or a mark of the source, and no earlier one than it told before.
    pub(crate) const fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Whether all of it is coming anew.
    pub(crate) const fn is_relisting(&self) -> bool {
        matches!(
            self.phase,
            ReflectorPhase::Listing(_)
                | ReflectorPhase::Opening { state: true }
                | ReflectorPhase::Watching { state: true, .. }
        )
    }

    /// When [`ReflectorInput::Time`] is to come, unless something else does.
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// Goes on. No order: what is under way goes on too.
    pub(crate) fn step<T>(
        &mut self,
        now: Instant,
        input: ReflectorInput<T>,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<ReflectorCommand> {
        let before = effects.len();
        self.fresh = false;
        let command = match input {
            ReflectorInput::Time => self.time(now, effects),
            ReflectorInput::Page(page) => self.page(now, page, effects),
            ReflectorInput::ListFailed(error) => Some(self.list_failed(now, error, effects)),
            ReflectorInput::Watching => {
                self.watch_opened(now);
                None
            }
            ReflectorInput::WatchFailed(error) => Some(self.watch_failed(now, error, effects)),
            ReflectorInput::WatchEnded => Some(self.watch_ended(now, effects)),
            ReflectorInput::Event(event) => self.event(now, event, effects),
            ReflectorInput::Relist => self.request_relist(now, effects),
            ReflectorInput::Full => {
                effects.push(Effect::Failed(ReflectorError::Full { limit: self.config.limits.objects }));
                self.needs_relist = true;
                Some(self.wait(now, Some(FULL_WAIT)))
            }
        };
        for effect in &effects[before..] {
            match effect {
                Effect::Failed(_) => self.failing = true,
                Effect::Recovered => self.failing = false,
                _ => {}
            }
        }
        command
    }

    /// All of it anew: at once, unless the source is not to be asked now. What is coming anew already goes on to its end, or whoever
    /// wants it often would never see one.
    fn request_relist<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Option<ReflectorCommand> {
        self.needs_relist = true;
        match &self.phase {
            ReflectorPhase::Waiting => None,
            ReflectorPhase::Listing(listing) if listing.is_waiting => {
                self.abandon_relist(effects);
                self.phase = ReflectorPhase::Waiting;
                None
            }
            _ if self.is_relisting() => {
                self.relist_again = true;
                None
            }
            _ => Some(self.next_command(now, effects)),
        }
    }

    /// What comes next, without waiting.
    pub(super) fn next_command<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> ReflectorCommand {
        self.relist_again &= !self.needs_relist;
        if self.needs_relist && self.uses_list {
            effects.push(Effect::BeginRelist);
            return self.first_page(now);
        }
        let from = match &self.resume_version {
            Some(version) if !self.needs_relist => WatchFrom::After(version.clone()),
            _ => WatchFrom::State(Freshness::Newest),
        };
        let state = matches!(from, WatchFrom::State(_));
        if state {
            effects.push(Effect::BeginRelist);
        }
        self.phase = ReflectorPhase::Opening { state };
        self.due = now + self.config.limits.answer_time;
        ReflectorCommand::Watch(WatchRequest {
            filter: self.config.filter.clone(),
            from,
            bookmarks: self.config.can.bookmarks,
            timeout: Some(self.config.limits.watch_time),
        })
    }

    pub(super) fn wait(&mut self, now: Instant, retry_after: Option<Duration>) -> ReflectorCommand {
        let wait = self.backoff.next();
        self.phase = ReflectorPhase::Waiting;
        self.due = now + retry_after.map_or(wait, |least| wait.max(least.min(LONGEST_WAIT)));
        ReflectorCommand::Wait
    }

    /// What was coming anew does not come.
    pub(super) fn abandon_relist<T>(&self, effects: &mut Vec<Effect<T>>) {
        if self.is_relisting() {
            effects.push(Effect::AbandonRelist);
        }
    }

    pub(super) fn silence(&self, state: bool) -> Duration {
        if state { self.config.limits.answer_time } else { self.config.silence() }
    }

    fn time<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Option<ReflectorCommand> {
        if now < self.due {
            return None;
        }
        if let ReflectorPhase::Watching { state: false, began, .. } = self.phase
            && self.failing
            && now < began + self.silence(false)
        {
            effects.push(Effect::Recovered);
            self.due = began + self.silence(false);
            return None;
        }
        Some(match &self.phase {
            ReflectorPhase::Waiting => self.next_command(now, effects),
            ReflectorPhase::Listing(listing) if listing.is_waiting => self.next_page(now),
            ReflectorPhase::Listing(_) => self.list_failed(now, SourceError::TimedOut.into(), effects),
            ReflectorPhase::Opening { .. } => self.watch_failed(now, SourceError::TimedOut.into(), effects),
            ReflectorPhase::Watching { state: true, .. } => {
                effects.push(Effect::Failed(ReflectorError::NoEnd));
                self.abandon_relist(effects);
                self.uses_list = true;
                self.next_command(now, effects)
            }
            ReflectorPhase::Watching { state: false, .. } => {
                effects.push(Effect::Failed(ReflectorError::Silent(self.config.silence())));
                self.next_command(now, effects)
            }
        })
    }

    /// The state has come whole, as of this version: it is taken, unless the source has shown more already.
    pub(super) fn finish_state<T>(
        &mut self,
        now: Instant,
        version: ResourceVersion,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<ReflectorCommand> {
        if let Some(seen) = self.resume_version.as_ref().filter(|seen| self.is_later(seen, &version)) {
            let since = *self.behind_since.get_or_insert(now);
            if now < since + self.config.limits.stale_time {
                let seen = seen.clone();
                effects.push(Effect::Failed(ReflectorError::Behind { found: version, seen }));
                self.abandon_relist(effects);
                return Some(self.wait(now, None));
            }
        }
        self.behind_since = None;
        self.needs_relist = false;
        self.expired_lists = 0;
        self.resume_version = Some(version.clone());
        self.fresh = true;
        effects.extend([Effect::FinishRelist(version), Effect::Recovered]);
        if std::mem::take(&mut self.relist_again) {
            self.needs_relist = true;
            return Some(self.next_command(now, effects));
        }
        None
    }

    /// Whether one version is known to come after another.
    pub(super) fn is_later(&self, one: &ResourceVersion, other: &ResourceVersion) -> bool {
        self.config.can.versions_are_ordered && one > other
    }

    /// Everything up to this version has been told.
    pub(super) fn advance<T>(&mut self, version: ResourceVersion, effects: &mut Vec<Effect<T>>) {
        // A bookmark that comes twice, or late, says nothing.
        if self.resume_version.as_ref().is_some_and(|resume_version| {
            *resume_version == version || self.is_later(resume_version, &version)
        }) {
            return;
        }
        self.resume_version = Some(version.clone());
        effects.push(Effect::Progress(version));
    }
}
