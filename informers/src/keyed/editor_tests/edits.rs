//! Edits of an interest stream: content, order and back-off.

use super::*;

#[test]
fn one_edit_is_in_flight_and_the_next_gathers_later_changes() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.acquire(&[18]);
    harness.expect(StreamInput::Time, "edit - +18");
    harness.acquire(&[19, 20]);
    harness.release(&[17, 20]);
    harness.expect(StreamInput::Time, "");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(added("a", 5), "put a");
    harness.expect(complete(1, 9), "renewed; reached 9; complete 18; edit -17 +19");
    // The echo may arrive before the response.
    harness.expect(complete(2, 10), "");
    harness.expect(StreamInput::Edited(EditNumber(2)), "renewed; reached 10; complete 19");
    harness.expect(mark(12), "reached 12");
    harness.expect(added("a", 11), "late");
}

#[test]
fn a_key_acquired_again_is_added_after_its_removal_is_echoed() {
    let mut harness = EditorHarness::open_with(&[17, 18]);
    harness.release(&[17]);
    harness.expect(StreamInput::Time, "edit -17 +");
    assert!(!harness.editor.requested.contains_key(&17));
    harness.acquire(&[17]);
    harness.expect(StreamInput::Time, "");
    assert!(!harness.editor.requested.contains_key(&17), "events still in flight are of the previous tenure");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 8), "renewed; reached 8; edit - +17");
    // A key with a new tenure is removed first, too.
    harness.expect(StreamInput::Edited(EditNumber(2)), "");
    harness.expect(complete(1, 8), ""); // the echo of an earlier edit
    harness.expect(complete(2, 9), "renewed; reached 9; complete 17");
    harness.acquire(&[18]);
    harness.expect(StreamInput::Time, "edit -18 +");
    harness.expect(StreamInput::Edited(EditNumber(3)), "");
    harness.expect(complete(3, 10), "renewed; reached 10; edit - +18");
}

#[test]
fn edits_that_break_the_stream_back_off() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.acquire(&[18]);
    let (start, mut edits, mut at) = (harness.now, 0, 7);
    let mut command = harness.step(StreamInput::Time);
    while harness.now < start + Duration::from_secs(600) {
        command = match command {
            Some(StreamCommand::Open { .. }) => {
                assert_eq!(harness.step(StreamInput::Opened), None);
                // Known keys always have a new event, so the stream itself does not count as
                // failed.
                at += 1;
                harness.step(added("a", at));
                harness.step(complete(0, at))
            }
            Some(StreamCommand::Edit { .. }) => {
                edits += 1;
                harness.step(StreamInput::Failed(WatchError::TooSlow))
            }
            Some(StreamCommand::Wait) | None => {
                harness.now = harness.editor.due().unwrap();
                harness.step(StreamInput::Time)
            }
        };
    }
    assert!((20..60).contains(&edits), "{edits}");
}

#[test]
fn keys_acquired_and_released_during_an_outage_leave_nothing() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.acquire(&[18]);
    harness.expect(StreamInput::Time, "edit - +18");
    harness.release(&[18]);
    assert_eq!(harness.editor.dirty, [18].into(), "it is requested, and has to be removed");
    harness.expect(StreamInput::Failed(WatchError::TooSlow), "abandon; trouble; wait");
    for key in 100..1_100 {
        harness.acquire(&[key]);
        harness.release(&[key]);
    }
    harness.release(&[17]);
    assert!(harness.editor.dirty.len() <= 2, "{}", harness.editor.dirty.len());
    harness.acquire(&[19]);
    harness.later("begin; open 19");
    assert!(harness.editor.dirty.is_empty());
}

#[test]
fn keys_beyond_the_request_limit_are_added_by_edits() {
    let mut harness = EditorHarness::of(2);
    harness.acquire(&[1, 2, 3, 4, 5]);
    harness.expect(StreamInput::Time, "begin; open 1,2");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 7), "finish 7; complete 1,2; edit - +3,4");
    // Removals come first, or the source would have more keys than desired.
    harness.release(&[1]);
    harness.acquire(&[6]);
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 8), "renewed; reached 8; complete 3,4; edit -1 +5");
    harness.expect(StreamInput::Edited(EditNumber(2)), "");
    harness.expect(complete(2, 9), "renewed; reached 9; complete 5; edit - +6");
    harness.expect(StreamInput::Edited(EditNumber(3)), "");
    harness.expect(complete(3, 10), "renewed; reached 10; complete 6");
    assert_eq!(harness.editor.due(), Some(harness.now + harness.editor.limits.silence));
}

#[test]
fn a_throttled_edit_is_retried_and_other_failures_reopen_the_stream() {
    let mut harness = EditorHarness::open_with(&[16, 17]);
    harness.acquire(&[18]);
    harness.release(&[17]);
    harness.expect(StreamInput::Time, "edit -17 +18");
    harness.expect(StreamInput::NotEdited(busy(40)), "abandon; trouble");
    harness.acquire(&[19]);
    harness.expect(StreamInput::Time, "");
    harness.expect(mark(9), "reached 9");
    harness.later("edit -17 +18,19");
    let busy = SourceError::TooManyRequests { retry_after: None };
    harness.expect(StreamInput::NotEdited(busy.into()), "abandon; trouble");
    harness.later("edit -17 +18,19");
    harness.expect(StreamInput::NotEdited(SourceError::TimedOut.into()), "abandon; trouble; wait");
    harness.later("open 16 after 9");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 9), "");
    // Released keys cause no error.
    harness.release(&[18, 19]);
    harness.now = harness.editor.due().unwrap();
    let (mut effects, mut complete) = (Vec::new(), Vec::new());
    assert_eq!(harness.editor.step::<()>(harness.now, StreamInput::Time, &mut effects, &mut complete), None);
    assert_eq!(effects, [Effect::Recovered]);
}

#[test]
fn the_state_of_new_keys_does_not_advance_the_version() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.acquire(&[18]);
    harness.expect(StreamInput::Time, "edit - +18");
    harness.expect(added("b", 30), "put b");
    harness.expect(mark(12), "reached 12");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 31), "renewed; reached 31; complete 18");
}

#[test]
fn an_edit_or_opening_that_never_completes_times_out() {
    // An edit without an echo.
    let mut harness = EditorHarness::open_with(&[17]);
    harness.acquire(&[18]);
    harness.expect(StreamInput::Time, "edit - +18");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.now += Duration::from_secs(59);
    harness.expect(mark(9), "reached 9");
    harness.later("abandon; no end; wait");
    harness.later("open 17 after 9");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 9), "");
    harness.later("edit - +18");
    // An opening that never completes, after its version expired.
    harness.expect(StreamInput::Failed(WatchError::Expired), "abandon; trouble; wait");
    harness.later("begin; open 17,18");
    harness.expect(StreamInput::Opened, "");
    for at in 0..20 {
        harness.now += Duration::from_secs(30);
        harness.expect(added("a", 10 + at), "put a");
    }
    harness.later("abandon; no end; wait");
    // A resumed stream that does not complete is opened with the state.
    harness.later("begin; open 17,18");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 40), "finish 40; complete 17,18");
    harness.expect(StreamInput::Failed(WatchError::TooSlow), "trouble; wait");
    harness.later("open 17,18 after 40");
    harness.expect(StreamInput::Opened, "");
    harness.later("no end; wait");
    harness.later("begin; open 17,18");
}

#[test]
fn an_edit_that_times_out_is_halved() {
    for broken in [None, Some(WatchError::TooSlow)] {
        let mut harness = EditorHarness::open_with(&[1]);
        harness.acquire(&[2, 3, 4, 5]);
        harness.expect(StreamInput::Time, "edit - +2,3,4,5");
        harness.expect(StreamInput::Edited(EditNumber(1)), "");
        match broken {
            None => harness.later("abandon; no end; wait"),
            Some(error) => harness.expect(StreamInput::Failed(error), "abandon; trouble; wait"),
        }
        harness.later("open 1 after 7");
        harness.expect(StreamInput::Opened, "");
        harness.expect(complete(0, 7), "");
        harness.later("edit - +2,3");
        // Other failures are no reason to reduce the batch.
        harness.expect(StreamInput::Failed(SourceError::TimedOut.into()), "abandon; trouble; wait");
        harness.later("open 1 after 7");
        harness.expect(StreamInput::Opened, "");
        harness.expect(complete(0, 7), "");
        harness.later("edit - +2,3");
        harness.expect(StreamInput::Edited(EditNumber(1)), "");
        harness.expect(complete(1, 8), "renewed; reached 8; complete 2,3; edit - +4,5");
        assert_eq!(harness.editor.batch, 4, "it may have been another cause");
    }
}

#[test]
fn a_waiting_stream_postpones_its_edits() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.acquire(&[18]);
    harness.expect(StreamInput::Time, "edit - +18");
    harness.expect(StreamInput::NotEdited(busy(1)), "abandon; trouble");
    harness.expect(StreamInput::Failed(busy(300)), "trouble; wait");
    let wait = harness.editor.due().unwrap() - harness.now;
    assert_eq!(wait, Duration::from_secs(300), "the edit waits for the stream");
}
