//! Which edits are made, and when.

use super::*;

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
fn what_is_due_is_never_past_for_long() {
    let mut talk = Talk::going(&[17]);
    talk.wants(&[18]);
    talk.says(Input::Time, "edit - +18");
    talk.says(Input::NotEdited(busy(1)), "abandon; trouble");
    talk.says(Input::Failed(busy(300)), "trouble; wait");
    let wait = talk.editor.due().unwrap() - talk.now;
    assert_eq!(wait, Duration::from_secs(300), "the edit waits for the stream");
}
