//! Each way in which a server behaves, and what the reflector makes of it.

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

/// A reflector, and the time.
struct Talk {
    reflector: Reflector,
    now: Instant,
}

impl Talk {
    fn with(can: Capabilities) -> Self {
        let now = tokio::time::Instant::now().into_std();
        let limits = Limits { page: NonZeroU32::new(2).unwrap(), objects: 7, ..Limits::default() };
        let plan = Plan { filter: Filter::default(), can, limits, seed: 7 };
        Self { reflector: Reflector::new(plan, now), now }
    }

    /// One whose cache has `a` as of 7, and watches.
    fn watching() -> Self {
        let mut talk = Self::with(LISTS);
        talk.says(Input::Time, "begin; list by 2");
        talk.says(Input::Page(page(7, &[("a", 3)], None)), "put a 3; finish 7; well; watch after 7");
        talk.says(Input::Watching, "");
        talk
    }

    /// What comes of an input: effects, and then the order.
    #[track_caller]
    fn says(&mut self, input: Input<()>, expected: &str) {
        let mut effects = Vec::new();
        let order = self.reflector.step(self.now, input, &mut effects);
        let order = order.map(|order| self.order(&order));
        let said: Vec<_> = effects.iter().map(effect).chain(order).collect();
        assert_eq!(said.join("; "), expected);
    }

    fn says_any(&mut self, input: Input<()>) {
        self.reflector.step(self.now, input, &mut Vec::new());
    }

    /// The same, once what is due is due.
    #[track_caller]
    fn later(&mut self, expected: &str) {
        self.now = self.reflector.due();
        self.says(Input::Time, expected);
    }

    fn order(&self, order: &Order) -> String {
        match order {
            Order::List(request) => {
                assert_eq!(request.at, ListAt::default());
                let rest = request.rest.as_ref().map(|rest| format!(" after {}", rest.as_str()));
                let limit = request.limit.map_or("whole".to_owned(), |limit| format!("by {limit}"));
                format!("list {limit}{}", rest.unwrap_or_default())
            }
            Order::Watch(request) => match &request.from {
                WatchFrom::After(version) => format!("watch after {version}"),
                WatchFrom::State(_) => "watch state".into(),
            },
            Order::Wait => {
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
    let of = |found: &Found<()>| format!("{} {}", found.key, found.version.as_ref().expect("it has one"));
    match effect {
        Effect::Put(found) => format!("put {}", of(found)),
        Effect::Remove(found, gone) => format!("{gone:?} {}", of(found)),
        Effect::Unreadable(unreadable) => format!("unreadable {}", unreadable.key),
        Effect::Begin => "begin".into(),
        Effect::Finish(version) => format!("finish {version}"),
        Effect::Abandon => "abandon".into(),
        Effect::Reached(version) => format!("reached {version}"),
        Effect::Troubled(Trouble::List(ListError::Expired { .. })) => "list expired".into(),
        Effect::Troubled(Trouble::List(_)) => "no list".into(),
        Effect::Troubled(Trouble::Watch(WatchError::Expired)) => "watch expired".into(),
        Effect::Troubled(Trouble::Watch(_)) => "no watch".into(),
        Effect::Troubled(Trouble::Silent(_)) => "silent".into(),
        Effect::Troubled(Trouble::Endless { of, .. }) => format!("too many {of}"),
        Effect::Troubled(trouble) => {
            format!("{trouble:?}").split(' ').next().unwrap_or_default().to_lowercase()
        }
        Effect::Late => "late".into(),
        Effect::Well => "well".into(),
        Effect::BeginSome | Effect::FinishSome => "no reflector says so".into(),
    }
}

fn version(number: u64) -> ResourceVersion {
    Revision(number).into()
}

fn found(name: &str, at: u64) -> Found<()> {
    Found { key: ObjectKey::new(None, name).unwrap(), version: Some(version(at)), object: () }
}

fn page(at: u64, items: &[(&str, u64)], rest: Option<&str>) -> Page<Found<()>> {
    Page {
        items: items.iter().map(|(name, at)| found(name, *at)).collect(),
        unreadable: Vec::new(),
        version: version(at),
        rest: rest.and_then(Continue::new),
        remaining: None,
    }
}

fn mark(at: u64, initial_state_ends: bool) -> Input<()> {
    Input::Event(WatchEvent::Bookmark { version: version(at), initial_state_ends })
}

fn added(name: &str, at: u64) -> Input<()> {
    Input::Event(WatchEvent::Added(found(name, at)))
}

fn unavailable() -> SourceError {
    SourceError::Unavailable { reason: "no".into(), retry_after: None }
}

fn later_than(seconds: u64) -> SourceError {
    SourceError::TooManyRequests { retry_after: Some(Duration::from_secs(seconds)) }
}

#[test]
fn a_list_comes_in_pages_and_is_watched_on_from() {
    let mut talk = Talk::with(LISTS);
    talk.says(Input::Time, "begin; list by 2");
    talk.says(Input::Page(page(7, &[("a", 1), ("b", 2)], Some("b"))), "put a 1; put b 2; list by 2 after b");
    let unreadable =
        Unreadable { key: found("c", 1).key, version: None, is_gone: false, reason: String::new() };
    let last = Page { unreadable: vec![unreadable], ..page(7, &[], None) };
    talk.says(Input::Page(last), "unreadable c; finish 7; well; watch after 7");
    talk.says(Input::Watching, "");
    talk.says(added("d", 8), "put d 8; reached 8");
    talk.says(Input::Event(WatchEvent::Deleted(found("a", 9))), "Deleted a 9; reached 9");
    talk.says(Input::Event(WatchEvent::Left(found("b", 10))), "Left b 10; reached 10");
    talk.says(Input::WatchEnded, "watch after 10");
}

#[test]
fn the_state_is_watched_where_that_can_be_done() {
    let mut talk = Talk::with(Capabilities::ALL);
    talk.says(Input::Time, "begin; watch state");
    talk.says(Input::Watching, "");
    talk.says(added("b", 5), "put b 5");
    talk.says(added("a", 3), "put a 3");
    talk.says(mark(6, false), "");
    talk.says(mark(7, true), "finish 7; well");
    talk.says(mark(7, true), "");
    talk.says(added("c", 8), "put c 8; reached 8");
    talk.says(Input::WatchEnded, "watch after 8");
}

#[test]
fn who_cannot_watch_the_state_after_all_is_listed() {
    for error in [
        WatchError::Expired,
        SourceError::Unsupported { what: "state" }.into(),
        SourceError::Invalid { reason: String::new(), causes: Vec::new() }.into(),
    ] {
        let mut talk = Talk::with(Capabilities::ALL);
        talk.says(Input::Time, "begin; watch state");
        let said = if error == WatchError::Expired { "watch expired" } else { "no watch" };
        talk.says(Input::WatchFailed(error), &format!("{said}; abandon; begin; list by 2"));
    }
    // Broken twice on the way, it is listed too.
    let mut talk = Talk::with(Capabilities::ALL);
    talk.says(Input::Time, "begin; watch state");
    talk.says(Input::Watching, "");
    talk.says(added("a", 1), "put a 1");
    talk.says(Input::WatchFailed(unavailable().into()), "no watch; abandon; wait");
    talk.later("begin; watch state");
    talk.says(Input::Watching, "");
    talk.says(Input::WatchEnded, "no watch; abandon; wait");
    talk.later("begin; list by 2");
}

#[test]
fn a_state_that_never_ends_is_listed() {
    let mut talk = Talk::with(Capabilities::ALL);
    talk.says(Input::Time, "begin; watch state");
    talk.says(Input::Watching, "");
    talk.says(added("a", 1), "put a 1");
    talk.later("noend; abandon; begin; list by 2");
}

#[test]
fn a_list_that_expires_between_pages_is_begun_anew_and_then_asked_for_whole() {
    let expired = || Input::ListFailed(ListError::Expired { rest: None });
    let mut talk = Talk::with(LISTS);
    talk.says(Input::Time, "begin; list by 2");
    talk.says(Input::Page(page(7, &[("a", 1)], Some("a"))), "put a 1; list by 2 after a");
    talk.says(expired(), "list expired; abandon; begin; list by 2");
    talk.says(Input::Page(page(8, &[("a", 1)], Some("a"))), "put a 1; list by 2 after a");
    talk.says(expired(), "list expired; abandon; wait");
    talk.later("begin; list whole");
    talk.says(Input::Page(page(9, &[("a", 1)], None)), "put a 1; finish 9; well; watch after 9");
}

#[test]
fn a_page_that_does_not_come_is_asked_for_again_and_no_other() {
    for error in [later_than(60), SourceError::TimedOut] {
        let mut talk = Talk::with(LISTS);
        talk.says(Input::Time, "begin; list by 2");
        talk.says(Input::Page(page(7, &[("a", 1)], Some("a"))), "put a 1; list by 2 after a");
        let wait = if error == SourceError::TimedOut { "wait" } else { "wait 60" };
        talk.says(Input::ListFailed(error.into()), &format!("no list; {wait}"));
        talk.later("list by 2 after a");
        talk.later("no list; wait"); // nothing came in time
        talk.later("list by 2 after a");
        talk.says(Input::Page(page(7, &[("b", 2)], None)), "put b 2; finish 7; well; watch after 7");
    }
}

#[test]
fn lists_without_an_end_are_given_up() {
    let mut talk = Talk::with(LISTS);
    talk.says(Input::Time, "begin; list by 2");
    for _ in 0..7 {
        talk.says(Input::Page(page(7, &[("a", 1)], Some("a"))), "put a 1; list by 2 after a");
    }
    talk.says(Input::Page(page(7, &[("a", 1)], Some("a"))), "put a 1; too many objects; abandon; wait");
    talk.later("begin; list by 2");
    for _ in 0..16 {
        talk.says(Input::Page(page(7, &[], Some("a"))), "list by 2 after a");
    }
    talk.says(Input::Page(page(7, &[], Some("a"))), "too many pages without any object; abandon; wait");
    talk.later("begin; list by 2");
    talk.now += Duration::from_secs(601);
    talk.says(Input::Page(page(7, &[("a", 1)], Some("a"))), "put a 1; too many seconds; abandon; wait");
}

#[test]
fn a_watch_that_fails_is_resumed_and_only_one_that_expired_is_listed() {
    let mut talk = Talk::watching();
    talk.says(added("b", 8), "put b 8; reached 8");
    talk.says(Input::WatchFailed(later_than(45).into()), "no watch; wait 45");
    talk.later("watch after 8");
    talk.says(Input::WatchFailed(unavailable().into()), "no watch; wait");
    talk.later("watch after 8");
    talk.says(Input::Watching, "");
    talk.says(Input::WatchFailed(WatchError::TooSlow), "no watch; wait");
    talk.later("watch after 8");
    talk.says(Input::Watching, "");
    talk.says(mark(9, false), "well; reached 9");
    talk.now += Duration::from_secs(1);
    talk.says(Input::WatchFailed(WatchError::Expired), "watch expired; begin; list by 2");
    talk.says(Input::Page(page(12, &[], None)), "finish 12; well; watch after 12");
    // A source that has nothing for anybody is not asked without a pause.
    talk.says(Input::WatchFailed(WatchError::Expired), "watch expired; wait");
    talk.later("begin; list by 2");
}

#[test]
fn a_server_may_tell_how_long_to_wait_but_not_for_ever() {
    let mut talk = Talk::watching();
    talk.says(Input::WatchFailed(later_than(86_400).into()), "no watch; wait 300");
}

#[test]
fn a_bookmark_twice_or_late_says_nothing() {
    let mut talk = Talk::watching();
    talk.says(mark(9, false), "reached 9");
    talk.says(mark(9, false), "");
    talk.says(mark(8, false), "");
    talk.says(mark(9, true), "");
    talk.says(Input::WatchEnded, "watch after 9");
}

#[test]
fn a_silent_watch_is_dead() {
    let mut talk = Talk::watching();
    talk.now += Duration::from_secs(149);
    talk.says(Input::Time, "");
    talk.says(mark(8, false), "reached 8");
    talk.now += Duration::from_secs(149);
    talk.says(Input::Time, "");
    talk.later("silent; watch after 8");
    talk.later("no watch; wait"); // it does not even begin
    talk.later("watch after 8");
    // Without bookmarks it may be silent as long as it lasts.
    let mut talk = Talk::with(Capabilities::LEAST);
    talk.says(Input::Time, "begin; list by 2");
    talk.says(Input::Page(page(7, &[], None)), "finish 7; well; watch after 7");
    talk.says(Input::Watching, "");
    talk.now += Duration::from_secs(349);
    talk.says(Input::Time, "");
    talk.later("silent; watch after 7");
}

#[test]
fn watches_that_end_at_once_are_not_begun_at_once() {
    let mut talk = Talk::watching();
    talk.says(Input::WatchEnded, "short; wait");
    talk.later("watch after 7");
    talk.says(Input::Watching, "");
    talk.says(added("b", 8), "well; put b 8; reached 8");
    talk.says(Input::WatchEnded, "watch after 8");
}

#[test]
fn a_list_that_is_behind_is_refused_until_the_server_must_have_been_restored() {
    let mut talk = Talk::watching();
    talk.says(Input::WatchFailed(WatchError::Expired), "watch expired; begin; list by 2");
    let behind = || Input::Page(page(5, &[("a", 3)], None));
    talk.says(behind(), "put a 3; behind; abandon; wait");
    talk.later("begin; list by 2");
    talk.says(behind(), "put a 3; behind; abandon; wait");
    talk.later("begin; list by 2");
    talk.now += Duration::from_secs(300);
    talk.says(behind(), "put a 3; finish 5; well; watch after 5");
}

#[test]
fn a_source_that_has_not_come_so_far_is_waited_for() {
    let future = |seconds| WatchError::FutureRevision {
        newest: Some(version(3)),
        retry_after: Some(Duration::from_secs(seconds)),
    };
    let mut talk = Talk::watching();
    talk.says(Input::WatchFailed(future(40)), "no watch; wait 40");
    talk.later("watch after 7");
    talk.now += Duration::from_secs(300);
    talk.says(Input::WatchFailed(future(40)), "no watch; wait 40");
    talk.later("begin; list by 2");
    talk.says(Input::Page(page(5, &[], None)), "finish 5; well; watch after 5");
}

#[test]
fn a_watch_that_lasts_is_well_where_nothing_happens() {
    let mut talk = Talk::watching();
    talk.says(Input::WatchFailed(unavailable().into()), "no watch; wait");
    talk.later("watch after 7");
    talk.says(Input::Watching, "");
    talk.later("well");
    talk.later("silent; watch after 7");
}

#[test]
fn what_was_told_before_it_went_does_not_come_back() {
    let mut talk = Talk::watching();
    talk.says(added("b", 8), "put b 8; reached 8");
    talk.says(Input::Event(WatchEvent::Deleted(found("b", 9))), "Deleted b 9; reached 9");
    talk.says(added("b", 8), "late");
    talk.says(added("c", 9), "put c 9"); // of one commit
    let unreadable = |is_gone| {
        let (key, version) = (found("b", 8).key, Some(version(8)));
        Input::Event(WatchEvent::Unreadable(Unreadable { key, version, is_gone, reason: String::new() }))
    };
    talk.says(unreadable(false), "late");
    talk.says(unreadable(true), "unreadable b"); // the cache knows whether it is another by now
}

#[test]
fn a_server_that_watches_on_and_has_not_come_so_far_was_restored() {
    let mut talk = Talk::watching();
    talk.says(mark(5, false), "");
    talk.now += Duration::from_secs(100);
    talk.says(mark(7, false), "");
    for _ in 0..3 {
        talk.now += Duration::from_secs(100);
        talk.says(mark(5, false), "");
    }
    talk.now += Duration::from_secs(100);
    talk.says(mark(5, false), "behind; begin; list by 2");
    talk.says(Input::Page(page(5, &[], None)), "finish 5; well; watch after 5");
}

#[test]
fn a_state_that_is_told_for_ever_is_given_up() {
    let mut talk = Talk::with(Capabilities::ALL);
    talk.says(Input::Time, "begin; watch state");
    talk.says(Input::Watching, "");
    for _ in 0..7 {
        talk.says(added("a", 1), "put a 1");
    }
    talk.says(added("a", 1), "too many objects; abandon; wait");
    // Or slowly.
    let mut talk = Talk::with(Capabilities::ALL);
    talk.says(Input::Time, "begin; watch state");
    talk.says(Input::Watching, "");
    talk.now += Duration::from_secs(601);
    talk.says(mark(7, false), "too many seconds; abandon; wait");
    talk.later("begin; list by 2");
}

#[test]
fn what_is_known_to_be_wrong_is_listed_anew() {
    let mut talk = Talk::watching();
    talk.says(Input::Anew, "begin; list by 2");
    // Whoever wants that more often than it takes sees it come to an end nevertheless.
    talk.says(Input::Anew, "");
    talk.says(Input::Anew, "");
    talk.says(Input::Page(page(7, &[("a", 3)], None)), "put a 3; finish 7; well; begin; list by 2");
    talk.says(Input::Page(page(7, &[("a", 3)], None)), "put a 3; finish 7; well; watch after 7");
}

#[test]
fn a_watch_that_breaks_after_each_event_is_asked_for_later_and_later() {
    for breaks in [WatchError::Expired, unavailable().into()] {
        let mut talk = Talk::watching();
        let mut longest = Duration::ZERO;
        for version in 8..20 {
            talk.says_any(mark(version, false));
            talk.says_any(Input::WatchFailed(breaks.clone()));
            longest = longest.max(talk.reflector.due() - talk.now);
            talk.now = talk.reflector.due();
            talk.says_any(Input::Time);
            if talk.reflector.is_renewing() {
                talk.says_any(Input::Page(page(version, &[], None)));
            }
            talk.says_any(Input::Watching);
        }
        assert!(longest >= Duration::from_secs(15), "{breaks}: {longest:?}");
        // One that lasts shows that all is well.
        talk.now += Duration::from_secs(1);
        talk.says_any(mark(30, false));
        talk.says(Input::WatchFailed(WatchError::Expired), "watch expired; begin; list by 2");
    }
}

#[test]
fn a_watch_that_tells_only_what_was_told_and_ends_is_none() {
    let mut talk = Talk::watching();
    talk.says(mark(7, false), "");
    talk.says(Input::WatchEnded, "short; wait");
}

#[test]
fn a_mark_of_long_ago_makes_nothing_well_or_fresh() {
    let mut talk = Talk::watching();
    talk.says(Input::WatchFailed(unavailable().into()), "no watch; wait");
    talk.later("watch after 7");
    talk.says(Input::Watching, "");
    talk.says(mark(5, false), "");
    assert!(!talk.reflector.is_fresh());
    talk.says(mark(7, false), "well");
    assert!(talk.reflector.is_fresh());
}

#[test]
fn who_wants_all_anew_does_not_hurry_a_source_that_refuses() {
    let mut talk = Talk::watching();
    talk.says(Input::WatchFailed(later_than(45).into()), "no watch; wait 45");
    talk.says(Input::Anew, "");
    talk.later("begin; list by 2");
    talk.says(Input::Page(page(8, &[("a", 3)], Some("a"))), "put a 3; list by 2 after a");
    talk.says(Input::ListFailed(later_than(45).into()), "no list; wait 45");
    talk.says(Input::Anew, "abandon");
    talk.later("begin; list by 2");
}

#[test]
fn as_many_as_there_may_be_are_not_too_many() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| (name, 1));
    let mut talk = Talk::with(LISTS);
    talk.says(Input::Time, "begin; list by 2");
    let puts =
        |count: usize| names[..count].iter().map(|(name, _)| format!("put {name} 1; ")).collect::<String>();
    talk.says(Input::Page(page(9, &names, None)), &format!("{}too many objects; abandon; wait", puts(8)));
    talk.later("begin; list by 2");
    talk.says(Input::Page(page(9, &names[..7], None)), &format!("{}finish 9; well; watch after 9", puts(7)));
    let mut talk = Talk::with(Capabilities::ALL);
    talk.says(Input::Time, "begin; watch state");
    talk.says(Input::Watching, "");
    talk.says(mark(5, false), "");
    for (name, _) in &names[..7] {
        talk.says(added(name, 1), &format!("put {name} 1"));
    }
    talk.says(mark(9, true), "finish 9; well");
}

#[test]
fn a_cache_that_is_full_is_compared_with_a_list_that_is_asked_for_rarely() {
    let mut talk = Talk::watching();
    talk.says(added("b", 8), "put b 8; reached 8");
    talk.says(Input::Full, "full; wait 60");
    talk.later("begin; list by 2");
    talk.says(Input::Page(page(9, &[("a", 3)], None)), "put a 3; finish 9; well; watch after 9");
}

#[test]
fn no_limit_is_too_long_for_a_clock() {
    let now = tokio::time::Instant::now().into_std();
    let ever = Duration::MAX;
    let limits = Limits {
        list_time: ever,
        answer_time: ever,
        watch_time: ever,
        silence: ever,
        stale_time: ever,
        ..Limits::default()
    };
    for can in [LISTS, Capabilities::ALL, Capabilities::LEAST] {
        let plan = Plan { filter: Filter::default(), can, limits, seed: 7 };
        let mut talk = Talk { reflector: Reflector::new(plan, now), now };
        let inputs = [
            Input::Time,
            Input::Watching,
            added("a", 1),
            mark(2, true),
            Input::Page(page(2, &[("a", 1)], Some("a"))),
            Input::ListFailed(later_than(u64::MAX).into()),
            Input::Time,
            Input::Page(page(2, &[], None)),
            Input::Watching,
            added("b", 3),
            mark(1, false),
            mark(1, false),
            Input::WatchFailed(WatchError::FutureRevision { newest: None, retry_after: Some(ever) }),
            Input::Time,
            Input::Watching,
            Input::WatchEnded,
        ];
        for input in inputs {
            talk.now += Duration::from_secs(1);
            talk.reflector.step(talk.now, input, &mut Vec::new());
        }
    }
}

#[test]
fn waits_grow_and_differ() {
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
