//! When a stream is opened, with which keys, and what its end costs.

use super::*;

#[test]
fn without_a_key_nothing_is_asked() {
    let mut talk = Talk::new();
    talk.says(Input::Time, "");
    assert_eq!(talk.editor.due(), None);
    talk.wants(&[17]);
    talk.says(Input::Time, "begin; open 17");
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
    assert_eq!(talk.editor.shown(), Shown::AsBefore, "what is held under 4 is as of 10");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 12), "renewed; reached 12; complete 4");
    assert!(talk.editor.stale.is_empty());
    assert_eq!(talk.editor.shown(), Shown::UpTo(&version(12)));
    // All of them are old when it has expired.
    talk.says(Input::Failed(WatchError::Expired), "trouble; begin; open 2,3");
    assert_eq!(talk.editor.stale, [2, 3, 4].into());
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
fn what_a_server_told_before_it_was_restored_is_doubted() {
    let future = || WatchError::FutureRevision { newest: None, retry_after: None };
    let mut talk = Talk::of(2);
    talk.wants(&[1, 2, 3, 4]);
    talk.says(Input::Time, "begin; open 1,2");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 7), "finish 7; complete 1,2; edit - +3,4");
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 9), "renewed; reached 9; complete 3,4");
    // One that is only behind is believed when it is not any more.
    talk.says(Input::Failed(future()), "trouble; wait");
    assert_eq!(talk.editor.shown(), Shown::Doubtful);
    talk.says(Input::Time, "");
    talk.later("open 1,2 after 9");
    talk.says(Input::Failed(SourceError::TimedOut.into()), "trouble; wait");
    assert_eq!(talk.editor.shown(), Shown::Doubtful, "that says nothing of it");
    talk.later("open 1,2 after 9");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 9), "edit - +3,4");
    assert_eq!(talk.editor.shown(), Shown::AsBefore);
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 9), "renewed; complete 3,4");
    assert_eq!(talk.editor.shown(), Shown::UpTo(&version(9)));
    // One that was restored is not before all has come anew.
    talk.says(Input::Failed(WatchError::Expired), "trouble; begin; open 1,2");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 5), "abandon; behind; wait");
    assert_eq!(talk.editor.shown(), Shown::Doubtful);
    assert!(talk.editor.take_outdated().is_empty());
    talk.now += talk.editor.limits.stale_time;
    talk.says(Input::Time, "begin; open 1,2");
    talk.says(Input::Opened, "");
    talk.says(complete(0, 5), "finish 5; complete 1,2; edit - +3,4");
    assert_eq!(talk.editor.take_outdated().iter().map(|(key, _)| *key).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(talk.editor.shown(), Shown::Doubtful);
    talk.says(Input::Edited(EditNumber(1)), "");
    talk.says(complete(1, 6), "renewed; reached 6; complete 3,4");
    assert_eq!(talk.editor.shown(), Shown::UpTo(&version(6)));
    talk.says(Input::Ended, "open 1,2 after 6");
    assert_eq!(talk.editor.shown(), Shown::AsBefore, "this is another end, of a time that is");
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
    // Nor one that was silent when it was opened again.
    let mut talk = Talk::going(&[17]);
    talk.editor.limits.silence = talk.editor.limits.answer_time / 2;
    talk.says(Input::Failed(future()), "trouble; wait");
    talk.later("open 17 after 7");
    talk.says(Input::Opened, "");
    talk.later("silent; open 17 after 7");
    talk.now += talk.editor.limits.stale_time;
    talk.says(Input::Failed(future()), "trouble; wait");
    talk.later("open 17 after 7");
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
