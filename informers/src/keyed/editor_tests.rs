//! A stream of interest: what is asked for, and when.

use std::time::Duration;

use machinery_objects::{ObjectKey, Revision};

use super::*;
use crate::keyed::ends::SHORT;

struct Talk {
    editor: Editor<u32>,
    now: Instant,
    tenures: u64,
}

fn version(number: u64) -> ResourceVersion {
    Revision(number).into()
}

fn complete(edit: u64, at: u64) -> Input<()> {
    Input::Event(WatchEvent::Complete { edit: EditNumber(edit), version: version(at) })
}

fn mark(at: u64) -> Input<()> {
    Input::Event(WatchEvent::Bookmark { version: version(at), initial_state_ends: false })
}

fn added(name: &str, at: u64) -> Input<()> {
    let key = ObjectKey::new(None, name).unwrap();
    Input::Event(WatchEvent::Added(Found { key, version: Some(version(at)), object: () }))
}

fn wrong() -> SourceError {
    SourceError::Invalid { reason: "no".into(), causes: Vec::new() }
}

fn busy(seconds: u64) -> WatchError {
    SourceError::TooManyRequests { retry_after: Some(Duration::from_secs(seconds)) }.into()
}

impl Talk {
    fn new() -> Self {
        let now = tokio::time::Instant::now().into_std();
        Self { editor: Editor::new(Limits::default(), true, 7, now), now, tenures: 0 }
    }

    /// One that asks for so many keys at a time.
    fn of(keys: usize) -> Self {
        let mut talk = Self::new();
        talk.editor.limits.edit_keys = keys;
        talk
    }

    /// One that goes on with these keys, as of version 7.
    fn going(keys: &[u32]) -> Self {
        let mut talk = Self::new();
        talk.wants(keys);
        let of: Vec<_> = keys.iter().map(u32::to_string).collect();
        talk.says(Input::Time, &format!("begin; open {}", of.join(",")));
        talk.says(Input::Opened, "");
        talk.says(complete(0, 7), &format!("finish 7; complete {}", of.join(",")));
        talk
    }

    /// Somebody wants these, and nobody did before.
    fn wants(&mut self, keys: &[u32]) {
        for key in keys {
            self.tenures += 1;
            self.editor.want([(*key, Some(Tenure(self.tenures)))]);
        }
    }

    fn drops(&mut self, keys: &[u32]) {
        self.editor.want(keys.iter().map(|key| (*key, None)));
    }

    #[track_caller]
    fn says(&mut self, input: Input<()>, expected: &str) {
        let (mut effects, mut complete) = (Vec::new(), Vec::new());
        let order = self.editor.step(self.now, input, &mut effects, &mut complete);
        let effects = effects
            .iter()
            .filter(|effect| !matches!(effect, Effect::Well | Effect::BeginSome))
            .map(|effect| match effect {
                Effect::Put(found) => format!("put {}", found.key),
                Effect::Late => "late".into(),
                Effect::Begin => "begin".into(),
                Effect::Finish(version) => format!("finish {version}"),
                Effect::Abandon => "abandon".into(),
                Effect::FinishSome => "renewed".into(),
                Effect::Reached(version) => format!("reached {version}"),
                Effect::Troubled(Trouble::Silent(_)) => "silent".into(),
                Effect::Troubled(Trouble::Short) => "short".into(),
                Effect::Troubled(Trouble::NoEnd) => "no end".into(),
                Effect::Troubled(Trouble::Behind { .. }) => "behind".into(),
                Effect::Troubled(Trouble::Endless { .. }) => "endless".into(),
                Effect::Troubled(_) => "trouble".into(),
                other => format!("{other:?}"),
            });
        let list = |keys: &BTreeSet<u32>| keys.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let those = |keys: &BTreeMap<u32, Tenure>| list(&keys.keys().copied().collect());
        let keys: BTreeSet<u32> = complete.iter().map(|(key, _)| *key).collect();
        let complete = (!keys.is_empty()).then(|| format!("complete {}", list(&keys)));
        let order = order.map(|order| match order {
            Order::Open { keys, after: None } => format!("open {}", those(&keys)),
            Order::Open { keys, after: Some(version) } => format!("open {} after {version}", those(&keys)),
            Order::Edit { remove, add } => format!("edit -{} +{}", list(&remove), those(&add)),
            Order::Wait => "wait".into(),
        });
        let said: Vec<_> = effects.chain(complete).chain(order).collect();
        assert_eq!(said.join("; "), expected);
    }

    fn step(&mut self, input: Input<()>) -> Option<Order<u32>> {
        self.editor.step(self.now, input, &mut Vec::new(), &mut Vec::new())
    }

    #[track_caller]
    fn later(&mut self, expected: &str) {
        self.now = self.editor.due().expect("something is due");
        self.says(Input::Time, expected);
    }
}

#[test]
fn without_a_key_nothing_is_asked() {
    let mut talk = Talk::new();
    talk.says(Input::Time, "");
    assert_eq!(talk.editor.due(), None);
    talk.wants(&[17]);
    talk.says(Input::Time, "begin; open 17");
}

#[test]
fn one_edit_is_under_way_and_the_next_gathers_what_is_wanted_meanwhile() {
    let mut talk = Talk::going(&[17]);
    talk.wants(&[18]);
    talk.says(Input::Time, "edit - +18");
    talk.wants(&[19, 20]);
    talk.drops(&[17, 20]);
    talk.says(Input::Time, "");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(added("a", 5), "put a");
    talk.says(complete(1, 9), "renewed; reached 9; complete 18; edit -17 +19");
    // The echo may be here before the answer is.
    talk.says(complete(2, 10), "");
    talk.says(Input::Edited(EditNumber(2)), "renewed; reached 10; complete 19");
    talk.says(mark(12), "reached 12");
    talk.says(added("a", 11), "late");
}

#[test]
fn a_key_that_comes_back_is_added_only_when_its_removal_was_echoed() {
    let mut talk = Talk::going(&[17, 18]);
    talk.drops(&[17]);
    talk.says(Input::Time, "edit -17 +");
    assert!(!talk.editor.asked.contains_key(&17));
    talk.wants(&[17]);
    talk.says(Input::Time, "");
    assert!(!talk.editor.asked.contains_key(&17), "what still comes under it is of the tenure before");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 8), "renewed; reached 8; edit - +17");
    // One that is held by others at once is removed first, too.
    talk.says(Input::Edited(EditNumber(2)), "");
    talk.says(complete(1, 8), ""); // what was echoed before is no echo of this one
    talk.says(complete(2, 9), "renewed; reached 9; complete 17");
    talk.wants(&[18]);
    talk.says(Input::Time, "edit -18 +");
    talk.says(Input::Edited(EditNumber(3)), "");
    talk.says(complete(3, 10), "renewed; reached 10; edit - +18");
}

#[test]
fn a_stream_that_breaks_goes_on_where_it_was() {
    let mut talk = Talk::going(&[17]);
    talk.says(added("a", 9), "put a; reached 9");
    talk.wants(&[18]);
    talk.says(Input::Failed(WatchError::TooSlow), "trouble; wait");
    talk.later("open 17 after 9");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 11), "reached 11; edit - +18");
}

#[test]
fn a_stream_whose_time_is_over_is_opened_again_at_once() {
    let mut talk = Talk::going(&[17]);
    talk.now += SHORT;
    talk.says(Input::Ended, "open 17 after 7");
    // One that ends as soon as it has begun is none, unless it told something.
    for _ in 0..2 {
        talk.says(Input::Opened, "");
        talk.says(complete(0, 7), "");
        talk.says(Input::Ended, "short; wait");
        talk.later("open 17 after 7");
    }
    talk.says(Input::Opened, "");
    talk.says(added("a", 8), "put a; reached 8");
    talk.says(Input::Ended, "open 17 after 8");
    assert_eq!(talk.editor.backoff.failures(), 0);
    // Without the state of its first keys it has failed.
    let mut talk = Talk::new();
    talk.wants(&[17]);
    talk.says(Input::Time, "begin; open 17");
    talk.says(Input::Opened, "");
    talk.now += SHORT;
    talk.says(Input::Ended, "abandon; trouble; wait");
}

#[test]
fn one_that_breaks_in_an_edit_costs_the_keys_of_the_edit() {
    let mut talk = Talk::going(&[17, 19]);
    talk.wants(&[18]);
    talk.drops(&[19]);
    talk.says(Input::Time, "edit -19 +18");
    talk.says(added("b", 3), "put b");
    talk.says(added("a", 9), "put a");
    talk.says(Input::Failed(WatchError::TooSlow), "abandon; reached 9; trouble; wait");
    talk.later("open 17 after 9");
    talk.says(Input::Opened, "");
    // An edit that broke a stream is not made again and again.
    talk.says(complete(0, 11), "reached 11");
    talk.later("edit - +18");
    talk.says(added("b", 3), "put b");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 12), "renewed; reached 12; complete 18");
    // Also where its time was over.
    talk.wants(&[20]);
    talk.says(Input::Time, "edit - +20");
    talk.says(Input::Ended, "abandon; open 17,18 after 12");
}

#[test]
fn how_often_an_edit_that_breaks_streams_is_made() {
    let mut talk = Talk::going(&[17]);
    talk.wants(&[18]);
    let (start, mut edits, mut at) = (talk.now, 0, 7);
    let mut order = talk.step(Input::Time);
    while talk.now < start + Duration::from_secs(600) {
        order = match order {
            Some(Order::Open { .. }) => {
                assert_eq!(talk.step(Input::Opened), None);
                // Of what was known there is always something new, so the stream itself is none that fails at once.
                at += 1;
                talk.step(added("a", at));
                talk.step(complete(0, at))
            }
            Some(Order::Edit { .. }) => {
                edits += 1;
                talk.step(Input::Failed(WatchError::TooSlow))
            }
            Some(Order::Wait) | None => {
                talk.now = talk.editor.due().unwrap();
                talk.step(Input::Time)
            }
        };
    }
    assert!((20..60).contains(&edits), "{edits}");
}

#[test]
fn of_keys_that_come_and_go_while_the_source_is_away_nothing_is_left() {
    let mut talk = Talk::going(&[17]);
    talk.wants(&[18]);
    talk.says(Input::Time, "edit - +18");
    talk.drops(&[18]);
    assert_eq!(talk.editor.dirty, [18].into(), "it is asked for, and is to be taken back");
    talk.says(Input::Failed(WatchError::TooSlow), "abandon; trouble; wait");
    for key in 100..1_100 {
        talk.wants(&[key]);
        talk.drops(&[key]);
    }
    talk.drops(&[17]);
    assert!(talk.editor.dirty.len() <= 2, "{}", talk.editor.dirty.len());
    talk.wants(&[19]);
    talk.later("begin; open 19");
    assert!(talk.editor.dirty.is_empty());
}

#[test]
fn one_that_has_expired_begins_anew() {
    let mut talk = Talk::going(&[17]);
    talk.now += SHORT;
    talk.wants(&[18]);
    talk.says(Input::Failed(WatchError::Expired), "trouble; begin; open 17,18");
    talk.says(Input::Opened, "");
    talk.says(Input::Ended, "abandon; trouble; wait");
    talk.later("begin; open 17,18");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 20), "finish 20; complete 17,18");
    // Again, and nothing has come: not without a pause.
    talk.says(Input::Failed(WatchError::Expired), "trouble; wait");
    talk.later("begin; open 17,18");
}

#[test]
fn more_keys_than_go_into_a_request_are_added_by_edits() {
    let mut talk = Talk::of(2);
    talk.wants(&[1, 2, 3, 4, 5]);
    talk.says(Input::Time, "begin; open 1,2");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 7), "finish 7; complete 1,2; edit - +3,4");
    // What is removed comes first, or the source would have more keys than are wanted.
    talk.drops(&[1]);
    talk.wants(&[6]);
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 8), "renewed; reached 8; complete 3,4; edit -1 +5");
    talk.says(Input::Edited(EditNumber(2)), "");
    talk.says(complete(2, 9), "renewed; reached 9; complete 5; edit - +6");
    talk.says(Input::Edited(EditNumber(3)), "");
    talk.says(complete(3, 10), "renewed; reached 10; complete 6");
    assert_eq!(talk.editor.due(), Some(talk.now + talk.editor.limits.silence));
}

#[test]
fn a_key_that_the_source_refuses_holds_up_no_others() {
    let mut talk = Talk::going(&[1]);
    talk.wants(&[2, 3, 4, 5]);
    talk.says(Input::Time, "edit - +2,3,4,5");
    talk.says(Input::NotEdited(wrong().into()), "abandon; trouble");
    talk.later("edit - +2,3");
    talk.says(Input::NotEdited(wrong().into()), "abandon; trouble");
    talk.later("edit - +2");
    talk.says(Input::NotEdited(wrong().into()), "abandon; trouble");
    talk.later("edit - +3");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 8), "renewed; reached 8; complete 3; edit - +4,5");
    talk.says(Input::Edited(EditNumber(2)), "");
    talk.says(complete(2, 9), "renewed; reached 9; complete 4,5");
    // It is tried again and again, alone and later and later, and others need not wait for that.
    let part = talk.editor.part;
    for round in 0..9 {
        talk.later("edit - +2");
        talk.wants(&[10 + round]);
        talk.says(Input::NotEdited(wrong().into()), &format!("abandon; trouble; edit - +{}", 10 + round));
        assert_eq!((talk.editor.part, talk.editor.grows), (part << round, true), "it is forgotten what goes");
        talk.says(Input::Edited(EditNumber(3)), "");
        talk.says(complete(3, 9), &format!("renewed; complete {}", 10 + round));
    }
    assert!(talk.editor.due().unwrap() >= talk.now + Duration::from_secs(15));
    talk.drops(&[2]);
    assert!(talk.editor.refused.is_empty());
    // What nobody wants any more is no trouble, and is not tried.
    let (mut effects, mut complete) = (Vec::new(), Vec::new());
    assert_eq!(talk.editor.step::<()>(talk.now, Input::Time, &mut effects, &mut complete), None);
    assert_eq!(effects, [Effect::Well]);
    talk.later("silent; open 1,3,4,5,10,11,12,13,14,15,16,17,18 after 9");
}

#[test]
fn a_key_that_is_refused_when_nobody_wants_it_any_more_is_not_tried_again() {
    let mut talk = Talk::going(&[1]);
    talk.wants(&[2]);
    talk.says(Input::Time, "edit - +2");
    talk.drops(&[2]);
    talk.says(Input::NotEdited(wrong().into()), "abandon; trouble");
    assert!(talk.editor.refused.is_empty());
    talk.later("");
    assert_eq!(talk.editor.due(), Some(talk.editor.due), "nothing is to be done");
}

#[test]
fn keys_that_the_source_refuses_are_tried_in_turn() {
    let mut talk = Talk::going(&[1]);
    talk.editor.part = 1;
    talk.wants(&[2, 3, 4]);
    talk.says(Input::Time, "edit - +2");
    for next in ["edit - +3", "edit - +4", "edit - +2", "edit - +3", "edit - +4", "edit - +2"] {
        talk.says(Input::NotEdited(wrong().into()), "abandon; trouble");
        talk.later(next);
    }
    // If one of them is taken, so may be the others.
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 8), "renewed; reached 8; complete 2; edit - +3");
    talk.says(Input::Failed(WatchError::TooSlow), "abandon; trouble; wait");
    talk.later("open 1,2 after 8");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 8), "edit - +4");
}

#[test]
fn a_stream_is_opened_without_a_key_that_is_refused() {
    let mut talk = Talk::new();
    talk.wants(&[2, 3, 4]);
    talk.says(Input::Time, "begin; open 2,3,4");
    let refused = |talk: &mut Talk| talk.says(Input::Failed(wrong().into()), "abandon; trouble; wait");
    refused(&mut talk);
    talk.later("begin; open 2");
    refused(&mut talk);
    talk.later("begin; open 3");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 7), "finish 7; complete 3; edit - +4");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 8), "renewed; reached 8; complete 4");
    talk.later("edit - +2");
    talk.says(Input::NotEdited(wrong().into()), "abandon; trouble");
    // It is left out as well when the stream begins anew.
    talk.says(Input::Failed(WatchError::Expired), "trouble; begin; open 3,4");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 9), "finish 9; complete 3,4");
    talk.later("edit - +2");
}

#[test]
fn a_key_that_is_refused_when_a_stream_resumes_is_left_out_of_it() {
    let mut talk = Talk::going(&[2, 3]);
    let refused = |talk: &mut Talk| talk.says(Input::Failed(wrong().into()), "trouble; wait");
    talk.says(Input::Failed(WatchError::TooSlow), "trouble; wait");
    talk.later("open 2,3 after 7");
    refused(&mut talk);
    talk.later("open 2 after 7");
    refused(&mut talk);
    talk.later("begin; open 3");
    assert_eq!(talk.editor.stale, [2, 3].into());
    talk.says(Input::Opened, "");
    talk.says(complete(0, 9), "finish 9; complete 3; edit - +2");
    talk.says(Input::NotEdited(wrong().into()), "abandon; trouble");
    assert_eq!(talk.editor.shown(), None, "what is held under 2 is old");
    talk.says(Input::Failed(WatchError::TooSlow), "trouble; wait");
    talk.later("open 3 after 9");
}

#[test]
fn where_all_keys_are_refused_each_is_tried_in_turn() {
    let mut talk = Talk::new();
    talk.wants(&[2, 3]);
    talk.says(Input::Time, "begin; open 2,3");
    for next in ["2", "3", "2", "3"] {
        talk.says(Input::Failed(wrong().into()), "abandon; trouble; wait");
        talk.later(&format!("begin; open {next}"));
    }
    // Whatever was wrong, it was not the keys.
    talk.says(Input::Opened, "");
    talk.says(complete(0, 7), "finish 7; complete 3; edit - +2");
    assert!(talk.editor.refused.is_empty());
}

#[test]
fn a_stream_is_opened_with_fewer_keys_if_it_is_refused() {
    let mut talk = Talk::new();
    talk.wants(&[1, 2, 3, 4]);
    talk.says(Input::Time, "begin; open 1,2,3,4");
    talk.says(Input::Failed(wrong().into()), "abandon; trouble; wait");
    talk.later("begin; open 1,2");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 7), "finish 7; complete 1,2; edit - +3,4");
}

#[test]
fn what_is_known_and_does_not_go_into_the_request_that_resumes_is_added_anew() {
    let mut talk = Talk::of(2);
    talk.wants(&[1, 2, 3]);
    talk.says(Input::Time, "begin; open 1,2");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 7), "finish 7; complete 1,2; edit - +3");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 8), "renewed; reached 8; complete 3");
    talk.drops(&[1]);
    talk.wants(&[4]);
    talk.says(Input::Ended, "open 2,3 after 8");
    talk.wants(&[5]);
    talk.says(Input::Opened, "");
    talk.says(complete(0, 9), "reached 9; edit - +4,5");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 10), "renewed; reached 10; complete 4,5");
    assert!(talk.editor.stale.is_empty());
    talk.says(Input::Ended, "open 2,3 after 10");
    assert_eq!(talk.editor.stale, [4, 5].into());
    talk.drops(&[5]);
    talk.says(Input::Opened, "");
    talk.says(complete(0, 11), "reached 11; edit - +4");
    assert_eq!(talk.editor.shown(), None, "what is held under 4 is as of 10");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 12), "renewed; reached 12; complete 4");
    assert!(talk.editor.stale.is_empty());
    assert_eq!(talk.editor.shown(), Some(&version(12)));
    // All of them are old when it has expired.
    talk.says(Input::Failed(WatchError::Expired), "trouble; begin; open 2,3");
    assert_eq!(talk.editor.stale, [2, 3, 4].into());
}

#[test]
fn an_edit_for_which_there_is_no_room_is_made_later_and_any_other_failure_opens_again() {
    let mut talk = Talk::going(&[16, 17]);
    talk.wants(&[18]);
    talk.drops(&[17]);
    talk.says(Input::Time, "edit -17 +18");
    talk.says(Input::NotEdited(busy(40)), "abandon; trouble");
    talk.wants(&[19]);
    talk.says(Input::Time, "");
    talk.says(mark(9), "reached 9");
    talk.later("edit -17 +18,19");
    let busy = SourceError::TooManyRequests { retry_after: None };
    talk.says(Input::NotEdited(busy.into()), "abandon; trouble");
    talk.later("edit -17 +18,19");
    talk.says(Input::NotEdited(SourceError::TimedOut.into()), "abandon; trouble; wait");
    talk.later("open 16 after 9");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 9), "");
    // What nobody wants any more is no trouble.
    talk.drops(&[18, 19]);
    talk.now = talk.editor.due().unwrap();
    let (mut effects, mut complete) = (Vec::new(), Vec::new());
    assert_eq!(talk.editor.step::<()>(talk.now, Input::Time, &mut effects, &mut complete), None);
    assert_eq!(effects, [Effect::Well]);
}

#[test]
fn a_silent_stream_is_dead() {
    let mut talk = Talk::going(&[17]);
    talk.now += Duration::from_secs(149);
    talk.says(mark(8), "reached 8");
    talk.now += Duration::from_secs(149);
    talk.says(Input::Time, "");
    talk.later("silent; open 17 after 8");
    talk.later("trouble; wait"); // it does not even open
}

#[test]
fn how_far_it_is_is_not_said_by_the_state_of_new_keys() {
    let mut talk = Talk::going(&[17]);
    talk.wants(&[18]);
    talk.says(Input::Time, "edit - +18");
    talk.says(added("b", 30), "put b");
    talk.says(mark(12), "reached 12");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 31), "renewed; reached 31; complete 18");
}

#[test]
fn when_the_last_key_goes_the_stream_stays_for_the_next() {
    let mut talk = Talk::going(&[17]);
    talk.drops(&[17]);
    talk.says(Input::Time, "edit -17 +");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 8), "renewed; reached 8");
    talk.says(Input::Ended, "wait"); // nothing is asked for
    assert_eq!(talk.editor.due(), None);
    talk.wants(&[18]);
    talk.says(Input::Time, "begin; open 18");
}

#[test]
fn what_is_never_complete_is_given_up_whatever_else_is_told() {
    // An edit without an echo.
    let mut talk = Talk::going(&[17]);
    talk.wants(&[18]);
    talk.says(Input::Time, "edit - +18");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.now += Duration::from_secs(59);
    talk.says(mark(9), "reached 9");
    talk.later("abandon; no end; wait");
    talk.later("open 17 after 9");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 9), "");
    talk.later("edit - +18");
    // A beginning without an end, after what came before it is no longer kept.
    talk.says(Input::Failed(WatchError::Expired), "abandon; trouble; wait");
    talk.later("begin; open 17,18");
    talk.says(Input::Opened, "");
    for at in 0..20 {
        talk.now += Duration::from_secs(30);
        talk.says(added("a", 10 + at), "put a");
    }
    talk.later("abandon; no end; wait");
    // One that resumes, and does not come to its beginning, is asked for the state.
    talk.later("begin; open 17,18");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 40), "finish 40; complete 17,18");
    talk.says(Input::Failed(WatchError::TooSlow), "trouble; wait");
    talk.later("open 17,18 after 40");
    talk.says(Input::Opened, "");
    talk.later("no end; wait");
    talk.later("begin; open 17,18");
}

#[test]
fn an_edit_that_cannot_be_told_in_time_is_made_with_half_as_many_keys() {
    for broken in [None, Some(WatchError::TooSlow)] {
        let mut talk = Talk::going(&[1]);
        talk.wants(&[2, 3, 4, 5]);
        talk.says(Input::Time, "edit - +2,3,4,5");
        talk.says(Input::Edited(EditNumber(1)), "");
        match broken {
            None => talk.later("abandon; no end; wait"),
            Some(error) => talk.says(Input::Failed(error), "abandon; trouble; wait"),
        }
        talk.later("open 1 after 7");
        talk.says(Input::Opened, "");
        talk.says(complete(0, 7), "");
        talk.later("edit - +2,3");
        // Any other failure is none of how many there are.
        talk.says(Input::Failed(SourceError::TimedOut.into()), "abandon; trouble; wait");
        talk.later("open 1 after 7");
        talk.says(Input::Opened, "");
        talk.says(complete(0, 7), "");
        talk.later("edit - +2,3");
        talk.says(Input::Edited(EditNumber(1)), "");
        talk.says(complete(1, 8), "renewed; reached 8; complete 2,3; edit - +4,5");
        assert_eq!(talk.editor.part, 4, "it may have been another cause");
    }
}

#[test]
fn a_server_that_was_restored_is_believed_in_time() {
    let future = || WatchError::FutureRevision { newest: None, retry_after: None };
    let mut talk = Talk::going(&[17]);
    talk.says(Input::Failed(future()), "trouble; wait");
    talk.later("open 17 after 7");
    talk.now += Duration::from_secs(300);
    talk.says(Input::Failed(future()), "trouble; wait");
    talk.later("begin; open 17");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 5), "finish 5; complete 17");
    // One that only shows less for a while is not.
    talk.says(mark(20), "reached 20");
    talk.now += SHORT;
    talk.says(Input::Failed(WatchError::Expired), "trouble; begin; open 17");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 15), "abandon; behind; wait");
    talk.later("begin; open 17");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 21), "finish 21; complete 17");
}

#[test]
fn a_server_that_was_away_meanwhile_is_not_taken_for_one_that_was_restored() {
    let mut talk = Talk::going(&[17]);
    let future = || WatchError::FutureRevision { newest: None, retry_after: None };
    talk.says(Input::Failed(future()), "trouble; wait");
    talk.later("open 17 after 7");
    talk.now += talk.editor.limits.stale_time;
    talk.says(Input::Failed(SourceError::TimedOut.into()), "trouble; wait");
    talk.later("open 17 after 7");
    talk.says(Input::Failed(future()), "trouble; wait");
    talk.later("open 17 after 7");
    // Nor is one whose state did not come.
    talk.says(Input::Failed(WatchError::Expired), "trouble; wait");
    talk.later("begin; open 17");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 5), "abandon; behind; wait");
    talk.now += talk.editor.limits.stale_time;
    talk.says(Input::Time, "begin; open 17");
    talk.says(Input::Opened, "");
    talk.later("abandon; no end; wait");
    talk.later("begin; open 17");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 5), "abandon; behind; wait");
}

#[test]
fn what_is_due_is_never_past_for_long() {
    let mut talk = Talk::going(&[17]);
    talk.wants(&[18]);
    talk.says(Input::Time, "edit - +18");
    talk.says(Input::NotEdited(busy(1)), "abandon; trouble");
    talk.says(Input::Failed(busy(300)), "trouble; wait");
    let wait = talk.editor.due().unwrap() - talk.now;
    assert_eq!(wait, Duration::from_secs(300), "the edit waits for the stream");
}

#[test]
fn what_a_resumed_stream_tells_is_in_order() {
    let mut talk = Talk::going(&[17]);
    talk.says(added("a", 9), "put a; reached 9");
    talk.says(Input::Ended, "open 17 after 9");
    talk.says(Input::Opened, "");
    talk.says(added("b", 11), "put b; reached 11");
    talk.says(Input::Ended, "open 17 after 11");
    talk.says(Input::Opened, "");
    talk.says(added("b", 10), "late");
    let key = ObjectKey::new(None, "b").unwrap();
    let end = WatchEvent::Deleted(Found { key, version: Some(version(10)), object: () });
    let (mut effects, mut complete) = (Vec::new(), Vec::new());
    talk.editor.step(talk.now, Input::Event(end), &mut effects, &mut complete);
    assert!(matches!(effects[..], [Effect::Remove(..)]), "an end may have the version of what was last");
}
