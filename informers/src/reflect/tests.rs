//! The reflector against each known behaviour of servers.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use machinery_objects::{
    Capabilities, Continue, Filter, ListAt, ListError, ObjectKey, Page, ResourceVersion, Revision,
    SourceError, Unreadable, WatchError, WatchEvent, WatchFrom,
};

use super::*;

const LISTS: Capabilities = {
    let mut can = Capabilities::ALL;
    can.watches_state = false;
    can
};

/// A reflector with a clock.
struct ReflectorHarness {
    reflector: Reflector,
    now: Instant,
}

impl ReflectorHarness {
    fn with(can: Capabilities) -> Self {
        let now = tokio::time::Instant::now().into_std();
        let limits =
            ReflectorLimits { page: NonZeroU32::new(2).unwrap(), objects: 7, ..ReflectorLimits::default() };
        let plan = ReflectorConfig { filter: Filter::default(), can, limits, seed: 7 };
        Self { reflector: Reflector::new(plan, now), now }
    }

    /// Returns a reflector with a running watch, after a list of `a` at version 7.
    fn watching() -> Self {
        let mut harness = Self::with(LISTS);
        harness.expect(ReflectorInput::Time, "begin; list by 2");
        harness.expect(
            ReflectorInput::Page(page(7, &[("a", 3)], None)),
            "put a 3; finish 7; well; watch after 7",
        );
        harness.expect(ReflectorInput::Watching, "");
        harness
    }

    /// Processes an input; compares the effects and the command.
    #[track_caller]
    fn expect(&mut self, input: ReflectorInput<()>, expected: &str) {
        let mut effects = Vec::new();
        let command = self.reflector.step(self.now, input, &mut effects);
        let command = command.map(|command| self.command(&command));
        let actual: Vec<_> = effects.iter().map(effect).chain(command).collect();
        assert_eq!(actual.join("; "), expected);
    }

    fn step(&mut self, input: ReflectorInput<()>) {
        self.reflector.step(self.now, input, &mut Vec::new());
    }

    /// Advances the clock to the deadline, and compares the effects and the command.
    #[track_caller]
    fn later(&mut self, expected: &str) {
        self.now = self.reflector.due();
        self.expect(ReflectorInput::Time, expected);
    }

    fn command(&self, command: &ReflectorCommand) -> String {
        match command {
            ReflectorCommand::List(request) => {
                assert_eq!(request.at, ListAt::default());
                let rest = request.rest.as_ref().map(|rest| format!(" after {}", rest.as_str()));
                let limit = request.limit.map_or("whole".to_owned(), |limit| format!("by {limit}"));
                format!("list {limit}{}", rest.unwrap_or_default())
            }
            ReflectorCommand::Watch(request) => match &request.from {
                WatchFrom::After(version) => format!("watch after {version}"),
                WatchFrom::State(_) => "watch state".into(),
            },
            ReflectorCommand::Wait => {
                let wait = self.reflector.due() - self.now;
                assert!(wait >= Duration::from_millis(125));
                if wait > Duration::from_secs(31) {
                    format!("wait {}", wait.as_secs())
                } else {
                    "wait".into()
                }
            }
        }
    }
}

fn effect(effect: &Effect<()>) -> String {
    let of =
        |found: &SourceObject<()>| format!("{} {}", found.key, found.version.as_ref().expect("it has one"));
    match effect {
        Effect::Put(found) => format!("put {}", of(found)),
        Effect::Remove(found, gone) => format!("{gone:?} {}", of(found)),
        Effect::Unreadable(unreadable) => format!("unreadable {}", unreadable.key),
        Effect::BeginRelist => "begin".into(),
        Effect::FinishRelist(version) => format!("finish {version}"),
        Effect::AbandonRelist => "abandon".into(),
        Effect::Progress(version) => format!("reached {version}"),
        Effect::Failed(ReflectorError::List(ListError::Expired { .. })) => "list expired".into(),
        Effect::Failed(ReflectorError::List(_)) => "no list".into(),
        Effect::Failed(ReflectorError::Watch(WatchError::Expired)) => "watch expired".into(),
        Effect::Failed(ReflectorError::Watch(_)) => "no watch".into(),
        Effect::Failed(ReflectorError::Silent(_)) => "silent".into(),
        Effect::Failed(ReflectorError::Endless { of, .. }) => format!("too many {of}"),
        Effect::Failed(trouble) => {
            format!("{trouble:?}").split(' ').next().unwrap_or_default().to_lowercase()
        }
        Effect::Late => "late".into(),
        Effect::Recovered => "well".into(),
        Effect::BeginPartialRelist | Effect::FinishPartialRelist => "no reflector says so".into(),
    }
}

fn version(number: u64) -> ResourceVersion {
    Revision(number).into()
}

fn found(name: &str, at: u64) -> SourceObject<()> {
    SourceObject { key: ObjectKey::new(None, name).unwrap(), version: Some(version(at)), object: () }
}

fn page(at: u64, items: &[(&str, u64)], rest: Option<&str>) -> Page<SourceObject<()>> {
    Page {
        items: items.iter().map(|(name, at)| found(name, *at)).collect(),
        unreadable: Vec::new(),
        version: version(at),
        rest: rest.and_then(Continue::new),
        remaining: None,
    }
}

fn mark(at: u64, initial_state_ends: bool) -> ReflectorInput<()> {
    ReflectorInput::Event(WatchEvent::Bookmark { version: version(at), initial_state_ends })
}

fn added(name: &str, at: u64) -> ReflectorInput<()> {
    ReflectorInput::Event(WatchEvent::Added(found(name, at)))
}

fn unavailable() -> SourceError {
    SourceError::Unavailable { reason: "no".into(), retry_after: None }
}

fn later_than(seconds: u64) -> SourceError {
    SourceError::TooManyRequests { retry_after: Some(Duration::from_secs(seconds)) }
}

#[test]
fn a_paged_list_is_followed_by_a_watch() {
    let mut harness = ReflectorHarness::with(LISTS);
    harness.expect(ReflectorInput::Time, "begin; list by 2");
    harness.expect(
        ReflectorInput::Page(page(7, &[("a", 1), ("b", 2)], Some("b"))),
        "put a 1; put b 2; list by 2 after b",
    );
    let unreadable =
        Unreadable { key: found("c", 1).key, version: None, is_gone: false, reason: String::new() };
    let last = Page { unreadable: vec![unreadable], ..page(7, &[], None) };
    harness.expect(ReflectorInput::Page(last), "unreadable c; finish 7; well; watch after 7");
    harness.expect(ReflectorInput::Watching, "");
    harness.expect(added("d", 8), "put d 8; reached 8");
    harness.expect(ReflectorInput::Event(WatchEvent::Deleted(found("a", 9))), "Deleted a 9; reached 9");
    harness.expect(ReflectorInput::Event(WatchEvent::Left(found("b", 10))), "Left b 10; reached 10");
    harness.expect(ReflectorInput::WatchEnded, "watch after 10");
}

#[test]
fn the_initial_state_is_streamed_if_supported() {
    let mut harness = ReflectorHarness::with(Capabilities::ALL);
    harness.expect(ReflectorInput::Time, "begin; watch state");
    harness.expect(ReflectorInput::Watching, "");
    harness.expect(added("b", 5), "put b 5");
    harness.expect(added("a", 3), "put a 3");
    harness.expect(mark(6, false), "");
    harness.expect(mark(7, true), "finish 7; well");
    harness.expect(mark(7, true), "");
    harness.expect(added("c", 8), "put c 8; reached 8");
    harness.expect(ReflectorInput::WatchEnded, "watch after 8");
}

#[test]
fn a_source_that_fails_to_stream_the_state_is_listed() {
    for error in [
        WatchError::Expired,
        SourceError::Unsupported { what: "state" }.into(),
        SourceError::Invalid { reason: String::new(), causes: Vec::new() }.into(),
    ] {
        let mut harness = ReflectorHarness::with(Capabilities::ALL);
        harness.expect(ReflectorInput::Time, "begin; watch state");
        let actual = if error == WatchError::Expired { "watch expired" } else { "no watch" };
        harness.expect(ReflectorInput::WatchFailed(error), &format!("{actual}; abandon; begin; list by 2"));
    }
    // Two broken streams fall back to a list, too.
    let mut harness = ReflectorHarness::with(Capabilities::ALL);
    harness.expect(ReflectorInput::Time, "begin; watch state");
    harness.expect(ReflectorInput::Watching, "");
    harness.expect(added("a", 1), "put a 1");
    harness.expect(ReflectorInput::WatchFailed(unavailable().into()), "no watch; abandon; wait");
    harness.later("begin; watch state");
    harness.expect(ReflectorInput::Watching, "");
    harness.expect(ReflectorInput::WatchEnded, "no watch; abandon; wait");
    harness.later("begin; list by 2");
}

#[test]
fn a_state_stream_without_an_end_falls_back_to_a_list() {
    let mut harness = ReflectorHarness::with(Capabilities::ALL);
    harness.expect(ReflectorInput::Time, "begin; watch state");
    harness.expect(ReflectorInput::Watching, "");
    harness.expect(added("a", 1), "put a 1");
    harness.later("noend; abandon; begin; list by 2");
}

#[test]
fn a_list_that_expires_between_pages_restarts_and_is_then_unpaged() {
    let expired = || ReflectorInput::ListFailed(ListError::Expired { rest: None });
    let mut harness = ReflectorHarness::with(LISTS);
    harness.expect(ReflectorInput::Time, "begin; list by 2");
    harness.expect(ReflectorInput::Page(page(7, &[("a", 1)], Some("a"))), "put a 1; list by 2 after a");
    harness.expect(expired(), "list expired; abandon; begin; list by 2");
    harness.expect(ReflectorInput::Page(page(8, &[("a", 1)], Some("a"))), "put a 1; list by 2 after a");
    harness.expect(expired(), "list expired; abandon; wait");
    harness.later("begin; list whole");
    harness
        .expect(ReflectorInput::Page(page(9, &[("a", 1)], None)), "put a 1; finish 9; well; watch after 9");
}

#[test]
fn only_the_failed_page_is_retried() {
    for error in [later_than(60), SourceError::TimedOut] {
        let mut harness = ReflectorHarness::with(LISTS);
        harness.expect(ReflectorInput::Time, "begin; list by 2");
        harness.expect(ReflectorInput::Page(page(7, &[("a", 1)], Some("a"))), "put a 1; list by 2 after a");
        let wait = if error == SourceError::TimedOut { "wait" } else { "wait 60" };
        harness.expect(ReflectorInput::ListFailed(error.into()), &format!("no list; {wait}"));
        harness.later("list by 2 after a");
        harness.later("no list; wait"); // timed out
        harness.later("list by 2 after a");
        harness.expect(
            ReflectorInput::Page(page(7, &[("b", 2)], None)),
            "put b 2; finish 7; well; watch after 7",
        );
    }
}

#[test]
fn endless_lists_are_abandoned() {
    let mut harness = ReflectorHarness::with(LISTS);
    harness.expect(ReflectorInput::Time, "begin; list by 2");
    for _ in 0..7 {
        harness.expect(ReflectorInput::Page(page(7, &[("a", 1)], Some("a"))), "put a 1; list by 2 after a");
    }
    harness.expect(
        ReflectorInput::Page(page(7, &[("a", 1)], Some("a"))),
        "put a 1; too many objects; abandon; wait",
    );
    harness.later("begin; list by 2");
    for _ in 0..16 {
        harness.expect(ReflectorInput::Page(page(7, &[], Some("a"))), "list by 2 after a");
    }
    harness.expect(
        ReflectorInput::Page(page(7, &[], Some("a"))),
        "too many pages without any object; abandon; wait",
    );
    harness.later("begin; list by 2");
    harness.now += Duration::from_secs(601);
    harness.expect(
        ReflectorInput::Page(page(7, &[("a", 1)], Some("a"))),
        "put a 1; too many seconds; abandon; wait",
    );
}

#[test]
fn a_failed_watch_resumes_and_an_expired_one_relists() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(added("b", 8), "put b 8; reached 8");
    harness.expect(ReflectorInput::WatchFailed(later_than(45).into()), "no watch; wait 45");
    harness.later("watch after 8");
    harness.expect(ReflectorInput::WatchFailed(unavailable().into()), "no watch; wait");
    harness.later("watch after 8");
    harness.expect(ReflectorInput::Watching, "");
    harness.expect(ReflectorInput::WatchFailed(WatchError::TooSlow), "no watch; wait");
    harness.later("watch after 8");
    harness.expect(ReflectorInput::Watching, "");
    harness.expect(mark(9, false), "well; reached 9");
    harness.now += Duration::from_secs(1);
    harness.expect(ReflectorInput::WatchFailed(WatchError::Expired), "watch expired; begin; list by 2");
    harness.expect(ReflectorInput::Page(page(12, &[], None)), "finish 12; well; watch after 12");
    // A source that expires every version is not polled in a hot loop.
    harness.expect(ReflectorInput::WatchFailed(WatchError::Expired), "watch expired; wait");
    harness.later("begin; list by 2");
}

#[test]
fn retry_after_is_honoured_up_to_a_limit() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(ReflectorInput::WatchFailed(later_than(86_400).into()), "no watch; wait 300");
}

#[test]
fn duplicate_and_late_bookmarks_are_ignored() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(mark(9, false), "reached 9");
    harness.expect(mark(9, false), "");
    harness.expect(mark(8, false), "");
    harness.expect(mark(9, true), "");
    harness.expect(ReflectorInput::WatchEnded, "watch after 9");
}

#[test]
fn a_silent_watch_is_restarted() {
    let mut harness = ReflectorHarness::watching();
    harness.now += Duration::from_secs(149);
    harness.expect(ReflectorInput::Time, "");
    harness.expect(mark(8, false), "reached 8");
    harness.now += Duration::from_secs(149);
    harness.expect(ReflectorInput::Time, "");
    harness.later("silent; watch after 8");
    harness.later("no watch; wait"); // the watch cannot even be opened
    harness.later("watch after 8");
    // Without bookmarks a watch may be silent for its whole duration.
    let mut harness = ReflectorHarness::with(Capabilities::LEAST);
    harness.expect(ReflectorInput::Time, "begin; list by 2");
    harness.expect(ReflectorInput::Page(page(7, &[], None)), "finish 7; well; watch after 7");
    harness.expect(ReflectorInput::Watching, "");
    harness.now += Duration::from_secs(349);
    harness.expect(ReflectorInput::Time, "");
    harness.later("silent; watch after 7");
}

#[test]
fn watches_that_end_at_once_back_off() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(ReflectorInput::WatchEnded, "short; wait");
    harness.later("watch after 7");
    harness.expect(ReflectorInput::Watching, "");
    harness.expect(added("b", 8), "well; put b 8; reached 8");
    harness.expect(ReflectorInput::WatchEnded, "watch after 8");
}

#[test]
fn a_list_behind_the_cache_is_rejected_until_a_restore_is_assumed() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(ReflectorInput::WatchFailed(WatchError::Expired), "watch expired; begin; list by 2");
    let behind = || ReflectorInput::Page(page(5, &[("a", 3)], None));
    harness.expect(behind(), "put a 3; behind; abandon; wait");
    harness.later("begin; list by 2");
    harness.expect(behind(), "put a 3; behind; abandon; wait");
    harness.later("begin; list by 2");
    harness.now += Duration::from_secs(300);
    harness.expect(behind(), "put a 3; finish 5; well; watch after 5");
}

#[test]
fn a_future_revision_is_waited_for() {
    let future = |seconds| WatchError::FutureRevision {
        newest: Some(version(3)),
        retry_after: Some(Duration::from_secs(seconds)),
    };
    let mut harness = ReflectorHarness::watching();
    harness.expect(ReflectorInput::WatchFailed(future(40)), "no watch; wait 40");
    harness.later("watch after 7");
    harness.now += Duration::from_secs(300);
    harness.expect(ReflectorInput::WatchFailed(future(40)), "no watch; wait 40");
    harness.later("begin; list by 2");
    harness.expect(ReflectorInput::Page(page(5, &[], None)), "finish 5; well; watch after 5");
}

#[test]
fn an_idle_watch_that_lasts_counts_as_recovered() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(ReflectorInput::WatchFailed(unavailable().into()), "no watch; wait");
    harness.later("watch after 7");
    harness.expect(ReflectorInput::Watching, "");
    harness.later("well");
    harness.later("silent; watch after 7");
}

#[test]
fn stale_events_do_not_resurrect_deleted_objects() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(added("b", 8), "put b 8; reached 8");
    harness.expect(ReflectorInput::Event(WatchEvent::Deleted(found("b", 9))), "Deleted b 9; reached 9");
    harness.expect(added("b", 8), "late");
    harness.expect(added("c", 9), "put c 9"); // of the same commit
    let unreadable = |is_gone| {
        let (key, version) = (found("b", 8).key, Some(version(8)));
        ReflectorInput::Event(WatchEvent::Unreadable(Unreadable {
            key,
            version,
            is_gone,
            reason: String::new(),
        }))
    };
    harness.expect(unreadable(false), "late");
    harness.expect(unreadable(true), "unreadable b"); // the cache decides whether the name belongs to another object by now
}

#[test]
fn old_bookmarks_for_long_mean_a_restore() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(mark(5, false), "");
    harness.now += Duration::from_secs(100);
    harness.expect(mark(7, false), "");
    for _ in 0..3 {
        harness.now += Duration::from_secs(100);
        harness.expect(mark(5, false), "");
    }
    harness.now += Duration::from_secs(100);
    harness.expect(mark(5, false), "behind; begin; list by 2");
    harness.expect(ReflectorInput::Page(page(5, &[], None)), "finish 5; well; watch after 5");
}

#[test]
fn an_endless_state_stream_is_abandoned() {
    let mut harness = ReflectorHarness::with(Capabilities::ALL);
    harness.expect(ReflectorInput::Time, "begin; watch state");
    harness.expect(ReflectorInput::Watching, "");
    for _ in 0..7 {
        harness.expect(added("a", 1), "put a 1");
    }
    harness.expect(added("a", 1), "too many objects; abandon; wait");
    // A slow endless stream.
    let mut harness = ReflectorHarness::with(Capabilities::ALL);
    harness.expect(ReflectorInput::Time, "begin; watch state");
    harness.expect(ReflectorInput::Watching, "");
    harness.now += Duration::from_secs(601);
    harness.expect(mark(7, false), "too many seconds; abandon; wait");
    harness.later("begin; list by 2");
}

#[test]
fn a_requested_relist_runs_to_its_end() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(ReflectorInput::Relist, "begin; list by 2");
    // Requests that are more frequent than relists do not prevent one from completing.
    harness.expect(ReflectorInput::Relist, "");
    harness.expect(ReflectorInput::Relist, "");
    harness.expect(
        ReflectorInput::Page(page(7, &[("a", 3)], None)),
        "put a 3; finish 7; well; begin; list by 2",
    );
    harness
        .expect(ReflectorInput::Page(page(7, &[("a", 3)], None)), "put a 3; finish 7; well; watch after 7");
}

#[test]
fn a_watch_that_breaks_after_each_event_backs_off() {
    for breaks in [WatchError::Expired, unavailable().into()] {
        let mut harness = ReflectorHarness::watching();
        let mut longest = Duration::ZERO;
        for version in 8..20 {
            harness.step(mark(version, false));
            harness.step(ReflectorInput::WatchFailed(breaks.clone()));
            longest = longest.max(harness.reflector.due() - harness.now);
            harness.now = harness.reflector.due();
            harness.step(ReflectorInput::Time);
            if harness.reflector.is_relisting() {
                harness.step(ReflectorInput::Page(page(version, &[], None)));
            }
            harness.step(ReflectorInput::Watching);
        }
        assert!(longest >= Duration::from_secs(15), "{breaks}: {longest:?}");
        // A watch that lasts shows that the source works.
        harness.now += Duration::from_secs(1);
        harness.step(mark(30, false));
        harness.expect(ReflectorInput::WatchFailed(WatchError::Expired), "watch expired; begin; list by 2");
    }
}

#[test]
fn a_watch_with_only_stale_events_counts_as_empty() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(mark(7, false), "");
    harness.expect(ReflectorInput::WatchEnded, "short; wait");
}

#[test]
fn an_old_bookmark_neither_recovers_nor_refreshes() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(ReflectorInput::WatchFailed(unavailable().into()), "no watch; wait");
    harness.later("watch after 7");
    harness.expect(ReflectorInput::Watching, "");
    harness.expect(mark(5, false), "");
    assert!(!harness.reflector.is_fresh());
    harness.expect(mark(7, false), "well");
    assert!(harness.reflector.is_fresh());
}

#[test]
fn a_requested_relist_does_not_shorten_the_backoff() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(ReflectorInput::WatchFailed(later_than(45).into()), "no watch; wait 45");
    harness.expect(ReflectorInput::Relist, "");
    harness.later("begin; list by 2");
    harness.expect(ReflectorInput::Page(page(8, &[("a", 3)], Some("a"))), "put a 3; list by 2 after a");
    harness.expect(ReflectorInput::ListFailed(later_than(45).into()), "no list; wait 45");
    harness.expect(ReflectorInput::Relist, "abandon");
    harness.later("begin; list by 2");
}

#[test]
fn a_list_of_exactly_the_limit_is_accepted() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| (name, 1));
    let mut harness = ReflectorHarness::with(LISTS);
    harness.expect(ReflectorInput::Time, "begin; list by 2");
    let puts =
        |count: usize| names[..count].iter().map(|(name, _)| format!("put {name} 1; ")).collect::<String>();
    harness.expect(
        ReflectorInput::Page(page(9, &names, None)),
        &format!("{}too many objects; abandon; wait", puts(8)),
    );
    harness.later("begin; list by 2");
    harness.expect(
        ReflectorInput::Page(page(9, &names[..7], None)),
        &format!("{}finish 9; well; watch after 9", puts(7)),
    );
    let mut harness = ReflectorHarness::with(Capabilities::ALL);
    harness.expect(ReflectorInput::Time, "begin; watch state");
    harness.expect(ReflectorInput::Watching, "");
    harness.expect(mark(5, false), "");
    for (name, _) in &names[..7] {
        harness.expect(added(name, 1), &format!("put {name} 1"));
    }
    harness.expect(mark(9, true), "finish 9; well");
}

#[test]
fn a_full_cache_relists_rarely() {
    let mut harness = ReflectorHarness::watching();
    harness.expect(added("b", 8), "put b 8; reached 8");
    harness.expect(ReflectorInput::Full, "full; wait 60");
    harness.later("begin; list by 2");
    harness
        .expect(ReflectorInput::Page(page(9, &[("a", 3)], None)), "put a 3; finish 9; well; watch after 9");
}

#[test]
fn extreme_limits_do_not_overflow_the_clock() {
    let now = tokio::time::Instant::now().into_std();
    let ever = Duration::MAX;
    let limits = ReflectorLimits {
        list_time: ever,
        answer_time: ever,
        watch_time: ever,
        silence: ever,
        stale_time: ever,
        ..ReflectorLimits::default()
    };
    for can in [LISTS, Capabilities::ALL, Capabilities::LEAST] {
        let plan = ReflectorConfig { filter: Filter::default(), can, limits, seed: 7 };
        let mut harness = ReflectorHarness { reflector: Reflector::new(plan, now), now };
        let inputs = [
            ReflectorInput::Time,
            ReflectorInput::Watching,
            added("a", 1),
            mark(2, true),
            ReflectorInput::Page(page(2, &[("a", 1)], Some("a"))),
            ReflectorInput::ListFailed(later_than(u64::MAX).into()),
            ReflectorInput::Time,
            ReflectorInput::Page(page(2, &[], None)),
            ReflectorInput::Watching,
            added("b", 3),
            mark(1, false),
            mark(1, false),
            ReflectorInput::WatchFailed(WatchError::FutureRevision { newest: None, retry_after: Some(ever) }),
            ReflectorInput::Time,
            ReflectorInput::Watching,
            ReflectorInput::WatchEnded,
        ];
        for input in inputs {
            harness.now += Duration::from_secs(1);
            harness.reflector.step(harness.now, input, &mut Vec::new());
        }
    }
}

#[test]
fn backoffs_grow_and_are_jittered() {
    let waits = |seed| {
        let mut backoff = super::backoff::Backoff::new(seed);
        (0..12).map(|_| backoff.next().as_millis()).collect::<Vec<_>>()
    };
    let (one, other) = (waits(1), waits(2));
    for (at, wait) in one.iter().enumerate() {
        let whole = (250_u128 << at.min(16)).min(30_000);
        assert!((whole / 2..=whole).contains(wait), "{wait} of {whole}");
    }
    assert_ne!(one, other);
}
