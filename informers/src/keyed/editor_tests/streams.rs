//! Opening, resuming and breaking of interest streams.

use super::*;

#[test]
fn without_keys_no_stream_is_opened() {
    let mut harness = EditorHarness::new();
    harness.expect(StreamInput::Time, "");
    assert_eq!(harness.editor.due(), None);
    harness.acquire(&[17]);
    harness.expect(StreamInput::Time, "begin; open 17");
}

#[test]
fn a_broken_stream_resumes_after_its_last_version() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.expect(added("a", 9), "put a; reached 9");
    harness.acquire(&[18]);
    harness.expect(StreamInput::Failed(WatchError::TooSlow), "trouble; wait");
    harness.later("open 17 after 9");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 11), "reached 11; edit - +18");
}

#[test]
fn a_stream_that_ends_normally_reopens_at_once() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.now += MIN_STREAM_TIME;
    harness.expect(StreamInput::Ended, "open 17 after 7");
    // A stream that ends at once counts as failed, unless it sent an event.
    for _ in 0..2 {
        harness.expect(StreamInput::Opened, "");
        harness.expect(complete(0, 7), "");
        harness.expect(StreamInput::Ended, "short; wait");
        harness.later("open 17 after 7");
    }
    harness.expect(StreamInput::Opened, "");
    harness.expect(added("a", 8), "put a; reached 8");
    harness.expect(StreamInput::Ended, "open 17 after 8");
    assert_eq!(harness.editor.backoff.failures(), 0);
    // A stream that ends before its first keys are complete has failed.
    let mut harness = EditorHarness::new();
    harness.acquire(&[17]);
    harness.expect(StreamInput::Time, "begin; open 17");
    harness.expect(StreamInput::Opened, "");
    harness.now += MIN_STREAM_TIME;
    harness.expect(StreamInput::Ended, "abandon; trouble; wait");
}

#[test]
fn a_break_during_an_edit_relists_only_the_edited_keys() {
    let mut harness = EditorHarness::open_with(&[17, 19]);
    harness.acquire(&[18]);
    harness.release(&[19]);
    harness.expect(StreamInput::Time, "edit -19 +18");
    harness.expect(added("b", 3), "put b");
    harness.expect(added("a", 9), "put a");
    harness.expect(StreamInput::Failed(WatchError::TooSlow), "abandon; reached 9; trouble; wait");
    harness.later("open 17 after 9");
    harness.expect(StreamInput::Opened, "");
    // An edit that broke a stream is retried with a back-off.
    harness.expect(complete(0, 11), "reached 11");
    harness.later("edit - +18");
    harness.expect(added("b", 3), "put b");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 12), "renewed; reached 12; complete 18");
    // Also if the stream ended normally.
    harness.acquire(&[20]);
    harness.expect(StreamInput::Time, "edit - +20");
    harness.expect(StreamInput::Ended, "abandon; open 17,18 after 12");
}

#[test]
fn an_expired_stream_relists() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.now += MIN_STREAM_TIME;
    harness.acquire(&[18]);
    harness.expect(StreamInput::Failed(WatchError::Expired), "trouble; begin; open 17,18");
    harness.expect(StreamInput::Opened, "");
    harness.expect(StreamInput::Ended, "abandon; trouble; wait");
    harness.later("begin; open 17,18");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 20), "finish 20; complete 17,18");
    // A second expiry without an event in between backs off.
    harness.expect(StreamInput::Failed(WatchError::Expired), "trouble; wait");
    harness.later("begin; open 17,18");
}

#[test]
fn known_keys_beyond_the_resume_request_are_added_again() {
    let mut harness = EditorHarness::of(2);
    harness.acquire(&[1, 2, 3]);
    harness.expect(StreamInput::Time, "begin; open 1,2");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 7), "finish 7; complete 1,2; edit - +3");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 8), "renewed; reached 8; complete 3");
    harness.release(&[1]);
    harness.acquire(&[4]);
    harness.expect(StreamInput::Ended, "open 2,3 after 8");
    harness.acquire(&[5]);
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 9), "reached 9; edit - +4,5");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 10), "renewed; reached 10; complete 4,5");
    assert!(harness.editor.stale.is_empty());
    harness.expect(StreamInput::Ended, "open 2,3 after 10");
    assert_eq!(harness.editor.stale, [4, 5].into());
    harness.release(&[5]);
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 11), "reached 11; edit - +4");
    assert_eq!(harness.editor.shown(), ShownVersion::AsBefore, "the objects under 4 are at version 10");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 12), "renewed; reached 12; complete 4");
    assert!(harness.editor.stale.is_empty());
    assert_eq!(harness.editor.shown(), ShownVersion::UpTo(&version(12)));
    // After an expiry all keys are stale.
    harness.expect(StreamInput::Failed(WatchError::Expired), "trouble; begin; open 2,3");
    assert_eq!(harness.editor.stale, [2, 3, 4].into());
}

#[test]
fn a_silent_stream_is_reopened() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.now += Duration::from_secs(149);
    harness.expect(mark(8), "reached 8");
    harness.now += Duration::from_secs(149);
    harness.expect(StreamInput::Time, "");
    harness.later("silent; open 17 after 8");
    harness.later("trouble; wait"); // the stream cannot even be opened
}

#[test]
fn the_stream_outlives_its_last_key() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.release(&[17]);
    harness.expect(StreamInput::Time, "edit -17 +");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 8), "renewed; reached 8");
    harness.expect(StreamInput::Ended, "wait"); // no request is sent
    assert_eq!(harness.editor.due(), None);
    harness.acquire(&[18]);
    harness.expect(StreamInput::Time, "begin; open 18");
}

#[test]
fn a_restored_server_is_accepted_after_the_stale_time() {
    let future = || WatchError::FutureRevision { newest: None, retry_after: None };
    let mut harness = EditorHarness::open_with(&[17]);
    harness.expect(StreamInput::Failed(future()), "trouble; wait");
    harness.later("open 17 after 7");
    harness.now += Duration::from_secs(300);
    harness.expect(StreamInput::Failed(future()), "trouble; wait");
    harness.later("begin; open 17");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 5), "finish 5; complete 17");
    // A server that is behind only briefly was not restored.
    harness.expect(mark(20), "reached 20");
    harness.now += MIN_STREAM_TIME;
    harness.expect(StreamInput::Failed(WatchError::Expired), "trouble; begin; open 17");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 15), "abandon; behind; wait");
    harness.later("begin; open 17");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 21), "finish 21; complete 17");
}

#[test]
fn state_from_before_a_restore_is_doubtful() {
    let future = || WatchError::FutureRevision { newest: None, retry_after: None };
    let mut harness = EditorHarness::of(2);
    harness.acquire(&[1, 2, 3, 4]);
    harness.expect(StreamInput::Time, "begin; open 1,2");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 7), "finish 7; complete 1,2; edit - +3,4");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 9), "renewed; reached 9; complete 3,4");
    // A server that was only behind is trusted once it has caught up.
    harness.expect(StreamInput::Failed(future()), "trouble; wait");
    assert_eq!(harness.editor.shown(), ShownVersion::Doubtful);
    harness.expect(StreamInput::Time, "");
    harness.later("open 1,2 after 9");
    harness.expect(StreamInput::Failed(SourceError::TimedOut.into()), "trouble; wait");
    assert_eq!(harness.editor.shown(), ShownVersion::Doubtful, "that says nothing of it");
    harness.later("open 1,2 after 9");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 9), "edit - +3,4");
    assert_eq!(harness.editor.shown(), ShownVersion::AsBefore);
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 9), "renewed; complete 3,4");
    assert_eq!(harness.editor.shown(), ShownVersion::UpTo(&version(9)));
    // A restored server is trusted once all keys are relisted.
    harness.expect(StreamInput::Failed(WatchError::Expired), "trouble; begin; open 1,2");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 5), "abandon; behind; wait");
    assert_eq!(harness.editor.shown(), ShownVersion::Doubtful);
    assert!(harness.editor.take_outdated().is_empty());
    harness.now += harness.editor.limits.stale_time;
    harness.expect(StreamInput::Time, "begin; open 1,2");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 5), "finish 5; complete 1,2; edit - +3,4");
    assert_eq!(harness.editor.take_outdated().iter().map(|(key, _)| *key).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(harness.editor.shown(), ShownVersion::Doubtful);
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 6), "renewed; reached 6; complete 3,4");
    assert_eq!(harness.editor.shown(), ShownVersion::UpTo(&version(6)));
    harness.expect(StreamInput::Ended, "open 1,2 after 6");
    assert_eq!(harness.editor.shown(), ShownVersion::AsBefore, "this is another end, of a time that is");
}

#[test]
fn an_unavailable_server_is_not_mistaken_for_a_restored_one() {
    let mut harness = EditorHarness::open_with(&[17]);
    let future = || WatchError::FutureRevision { newest: None, retry_after: None };
    harness.expect(StreamInput::Failed(future()), "trouble; wait");
    harness.later("open 17 after 7");
    harness.now += harness.editor.limits.stale_time;
    harness.expect(StreamInput::Failed(SourceError::TimedOut.into()), "trouble; wait");
    harness.later("open 17 after 7");
    harness.expect(StreamInput::Failed(future()), "trouble; wait");
    harness.later("open 17 after 7");
    // Nor is a server whose state failed to arrive.
    harness.expect(StreamInput::Failed(WatchError::Expired), "trouble; wait");
    harness.later("begin; open 17");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 5), "abandon; behind; wait");
    harness.now += harness.editor.limits.stale_time;
    harness.expect(StreamInput::Time, "begin; open 17");
    harness.expect(StreamInput::Opened, "");
    harness.later("abandon; no end; wait");
    harness.later("begin; open 17");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 5), "abandon; behind; wait");
    // Nor one that was silent when the stream was reopened.
    let mut harness = EditorHarness::open_with(&[17]);
    harness.editor.limits.silence = harness.editor.limits.answer_time / 2;
    harness.expect(StreamInput::Failed(future()), "trouble; wait");
    harness.later("open 17 after 7");
    harness.expect(StreamInput::Opened, "");
    harness.later("silent; open 17 after 7");
    harness.now += harness.editor.limits.stale_time;
    harness.expect(StreamInput::Failed(future()), "trouble; wait");
    harness.later("open 17 after 7");
}

#[test]
fn a_resumed_stream_is_ordered() {
    let mut harness = EditorHarness::open_with(&[17]);
    harness.expect(added("a", 9), "put a; reached 9");
    harness.expect(StreamInput::Ended, "open 17 after 9");
    harness.expect(StreamInput::Opened, "");
    harness.expect(added("b", 11), "put b; reached 11");
    harness.expect(StreamInput::Ended, "open 17 after 11");
    harness.expect(StreamInput::Opened, "");
    harness.expect(added("b", 10), "late");
    let key = ObjectKey::new(None, "b").unwrap();
    let end = WatchEvent::Deleted(SourceObject { key, version: Some(version(10)), object: () });
    let (mut effects, mut complete) = (Vec::new(), Vec::new());
    harness.editor.step(harness.now, StreamInput::Event(end), &mut effects, &mut complete);
    assert!(matches!(effects[..], [Effect::Remove(..)]), "a deletion may have the version of the last state");
}
