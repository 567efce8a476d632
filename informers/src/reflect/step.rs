//! The state machine of the reflector, without clock, I/O or cache: inputs in, effects and commands
//! out.

use std::time::{Duration, Instant};

use machinery_objects::{
    Freshness, ListError, ListRequest, ObjectKey, Page, ResourceVersion, SourceError, Unreadable, WatchError,
    WatchEvent, WatchFrom, WatchRequest,
};

use super::backoff::Backoff;
use super::config::ReflectorConfig;
use super::error::ReflectorError;
use super::list::Listing;

/// A received object with its key and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceObject<T> {
    pub(crate) key: ObjectKey,
    pub(crate) version: Option<ResourceVersion>,
    pub(crate) object: T,
}

/// An input of the reflector.
pub(crate) enum ReflectorInput<T> {
    /// The start, or the passing of [`Reflector::due`].
    Time,
    Page(Page<SourceObject<T>>),
    ListFailed(ListError),
    /// The requested watch was opened.
    Watching,
    /// The watch could not be opened, or ended with an error.
    WatchFailed(WatchError),
    WatchEnded,
    Event(WatchEvent<SourceObject<T>>),
    /// A relist is requested.
    Relist,
    /// The cache is full, and dropped the last change.
    Full,
}

/// A request to the source. It replaces the running one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReflectorCommand {
    List(ListRequest),
    Watch(WatchRequest),
    /// No request until [`Reflector::due`].
    Wait,
}

/// An effect on the cache, to be applied in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect<T> {
    Put(SourceObject<T>),
    Remove(SourceObject<T>, RemovalKind),
    Unreadable(Unreadable),
    /// A stale event was received and dropped.
    Late,
    /// A relist, or the initial list, begins; it is collected beside the cache.
    BeginRelist,
    /// The relist is complete at this version and replaces the cache.
    FinishRelist(ResourceVersion),
    /// The relist failed; the collected objects are discarded.
    AbandonRelist,
    /// A relist of some keys begins, interleaved with changes of the others; the store knows its
    /// scope.
    BeginPartialRelist,
    /// The relist of these keys is complete.
    FinishPartialRelist,
    /// The cache is current up to this version.
    Progress(ResourceVersion),
    Failed(ReflectorError),
    /// The source works again.
    Recovered,
}

/// The kind of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovalKind {
    Deleted,
    Left,
}

/// The reflector as a state machine: its initial list, watches and relists. See
/// [`step`](Self::step).
pub(crate) struct Reflector {
    pub(super) config: ReflectorConfig,
    pub(super) phase: ReflectorPhase,
    /// The deadline of the phase.
    pub(super) due: Instant,
    pub(super) backoff: Backoff,
    /// The version up to which all events were received; a watch resumes after it.
    pub(super) resume_version: Option<ResourceVersion>,
    /// A relist is needed before a watch can resume.
    pub(super) needs_relist: bool,
    /// The state cannot be streamed and is listed.
    pub(super) uses_list: bool,
    /// Number of successive lists that expired between pages; the next one is unpaged.
    pub(super) expired_lists: u32,
    /// Since when the source has been behind the cache.
    pub(super) behind_since: Option<Instant>,
    /// An error occurred, and the source has not been seen to work since.
    pub(super) failing: bool,
    /// The last input showed the cache to be current.
    pub(super) fresh: bool,
    /// Another relist was requested while one is running.
    relist_again: bool,
}

pub(super) enum ReflectorPhase {
    Waiting,
    Listing(Listing),
    /// A watch was requested, of the state or of changes.
    Opening {
        state: bool,
    },
    Watching {
        state: bool,
        began: Instant,
        events: u64,
    },
}

/// Upper bound of a server's `Retry-After`.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// Delay of the relist of a full cache: it is long, and unlikely to fit soon.
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

    /// Returns whether the last input was a change or bookmark that is not behind the cache.
    pub(crate) const fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Returns whether a relist, or the initial list, is running.
    pub(crate) const fn is_relisting(&self) -> bool {
        matches!(
            self.phase,
            ReflectorPhase::Listing(_)
                | ReflectorPhase::Opening { state: true }
                | ReflectorPhase::Watching { state: true, .. }
        )
    }

    /// When [`ReflectorInput::Time`] is due, if there is no other input before.
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// Processes an input. Without a command the running request continues.
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
                // A watch does not repeat the dropped change; only a list does.
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

    /// Requests a relist: at once, but not during a back-off. A running one is finished first, or
    /// frequent requests would prevent it from ever completing.
    fn request_relist<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Option<ReflectorCommand> {
        self.needs_relist = true;
        match &self.phase {
            ReflectorPhase::Waiting => None,
            // The kept pages are older than the request. The deadline stays that of the back-off.
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

    /// Returns the next command without a delay.
    pub(super) fn next_command<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> ReflectorCommand {
        // The relist that begins now satisfies the request too.
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
        // Bounded: a wrong `Retry-After` must not stop the informer for hours.
        self.due = now + retry_after.map_or(wait, |least| wait.max(least.min(LONGEST_WAIT)));
        ReflectorCommand::Wait
    }

    /// Discards the running relist.
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
                // Older servers ignore the parameters, and begin an ordinary watch.
                effects.push(Effect::Failed(ReflectorError::NoEnd));
                self.abandon_relist(effects);
                self.uses_list = true;
                self.next_command(now, effects)
            }
            ReflectorPhase::Watching { state: false, .. } => {
                // Without a back-off: the silence was the delay.
                effects.push(Effect::Failed(ReflectorError::Silent(self.config.silence())));
                self.next_command(now, effects)
            }
        })
    }

    /// Completes a relist at this version, unless the source is behind the cache.
    pub(super) fn finish_state<T>(
        &mut self,
        now: Instant,
        version: ResourceVersion,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<ReflectorCommand> {
        if let Some(seen) = self.resume_version.as_ref().filter(|seen| self.is_later(seen, &version)) {
            let since = *self.behind_since.get_or_insert(now);
            // A lagging replica, by all appearances: its state would move the cache back.
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

    /// Returns whether one version is known to be later than another.
    pub(super) fn is_later(&self, one: &ResourceVersion, other: &ResourceVersion) -> bool {
        self.config.can.versions_are_ordered && one > other
    }

    /// Advances the version after which a watch resumes.
    pub(super) fn advance<T>(&mut self, version: ResourceVersion, effects: &mut Vec<Effect<T>>) {
        // A duplicate or late bookmark.
        if self.resume_version.as_ref().is_some_and(|resume_version| {
            *resume_version == version || self.is_later(resume_version, &version)
        }) {
            return;
        }
        // No other change shares it: "One version" in docs/designs/011-informers.md.
        self.resume_version = Some(version.clone());
        effects.push(Effect::Progress(version));
    }
}
