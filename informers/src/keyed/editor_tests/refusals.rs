//! Keys and requests that the source refuses.

use super::*;

#[test]
fn a_refused_key_blocks_no_others() {
    let mut harness = EditorHarness::open_with(&[1]);
    harness.acquire(&[2, 3, 4, 5]);
    harness.expect(StreamInput::Time, "edit - +2,3,4,5");
    harness.expect(StreamInput::NotEdited(wrong().into()), "abandon; trouble");
    harness.later("edit - +2,3");
    harness.expect(StreamInput::NotEdited(wrong().into()), "abandon; trouble");
    harness.later("edit - +2");
    harness.expect(StreamInput::NotEdited(wrong().into()), "abandon; trouble");
    harness.later("edit - +3");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 8), "renewed; reached 8; complete 3; edit - +4,5");
    harness.expect(StreamInput::Edited(EditNumber(2)), "");
    harness.expect(complete(2, 9), "renewed; reached 9; complete 4,5");
    // The key is retried alone, with a growing back-off, and delays no other key.
    let batch = harness.editor.batch;
    for round in 0..9 {
        harness.later("edit - +2");
        harness.acquire(&[10 + round]);
        harness.expect(
            StreamInput::NotEdited(wrong().into()),
            &format!("abandon; trouble; edit - +{}", 10 + round),
        );
        assert_eq!(
            (harness.editor.batch, harness.editor.batch_grows),
            (batch << round, true),
            "removed keys are forgotten"
        );
        harness.expect(StreamInput::Edited(EditNumber(3)), "");
        harness.expect(complete(3, 9), &format!("renewed; complete {}", 10 + round));
    }
    assert!(harness.editor.due().unwrap() >= harness.now + Duration::from_secs(15));
    harness.release(&[2]);
    assert!(harness.editor.refused.is_empty());
    // A released key causes no error and is not retried.
    let (mut effects, mut complete) = (Vec::new(), Vec::new());
    assert_eq!(harness.editor.step::<()>(harness.now, StreamInput::Time, &mut effects, &mut complete), None);
    assert_eq!(effects, [Effect::Recovered]);
    harness.later("silent; open 1,3,4,5,10,11,12,13,14,15,16,17,18 after 9");
}

#[test]
fn a_refused_key_without_interests_is_not_retried() {
    let mut harness = EditorHarness::open_with(&[1]);
    harness.acquire(&[2]);
    harness.expect(StreamInput::Time, "edit - +2");
    harness.release(&[2]);
    harness.expect(StreamInput::NotEdited(wrong().into()), "abandon; trouble");
    assert!(harness.editor.refused.is_empty());
    harness.later("");
    assert_eq!(harness.editor.due(), Some(harness.editor.due), "nothing is to be done");
}

#[test]
fn refused_keys_are_retried_in_turn() {
    let mut harness = EditorHarness::open_with(&[1]);
    harness.editor.batch = 1;
    harness.acquire(&[2, 3, 4]);
    harness.expect(StreamInput::Time, "edit - +2");
    for next in ["edit - +3", "edit - +4", "edit - +2", "edit - +3", "edit - +4", "edit - +2"] {
        harness.expect(StreamInput::NotEdited(wrong().into()), "abandon; trouble");
        harness.later(next);
    }
    // Once one of them is accepted, the others are retried at once.
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 8), "renewed; reached 8; complete 2; edit - +3");
    harness.expect(StreamInput::Failed(WatchError::TooSlow), "abandon; trouble; wait");
    harness.later("open 1,2 after 8");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 8), "edit - +4");
}

#[test]
fn a_stream_opens_without_refused_keys() {
    let mut harness = EditorHarness::new();
    harness.acquire(&[2, 3, 4]);
    harness.expect(StreamInput::Time, "begin; open 2,3,4");
    let refused = |harness: &mut EditorHarness| {
        harness.expect(StreamInput::Failed(wrong().into()), "abandon; trouble; wait")
    };
    refused(&mut harness);
    harness.later("begin; open 2");
    refused(&mut harness);
    harness.later("begin; open 3");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 7), "finish 7; complete 3; edit - +4");
    harness.expect(StreamInput::Edited(EditNumber(1)), "");
    harness.expect(complete(1, 8), "renewed; reached 8; complete 4");
    harness.later("edit - +2");
    harness.expect(StreamInput::NotEdited(wrong().into()), "abandon; trouble");
    // A relisting stream leaves it out, too.
    harness.expect(StreamInput::Failed(WatchError::Expired), "trouble; begin; open 3,4");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 9), "finish 9; complete 3,4");
    harness.later("edit - +2");
}

#[test]
fn a_key_refused_on_resume_is_left_out() {
    let mut harness = EditorHarness::open_with(&[2, 3]);
    let refused =
        |harness: &mut EditorHarness| harness.expect(StreamInput::Failed(wrong().into()), "trouble; wait");
    harness.expect(StreamInput::Failed(WatchError::TooSlow), "trouble; wait");
    harness.later("open 2,3 after 7");
    refused(&mut harness);
    harness.later("open 2 after 7");
    refused(&mut harness);
    harness.later("begin; open 3");
    assert_eq!(harness.editor.stale, [2, 3].into());
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 9), "finish 9; complete 3; edit - +2");
    harness.expect(StreamInput::NotEdited(wrong().into()), "abandon; trouble");
    assert_eq!(harness.editor.shown(), ShownVersion::AsBefore, "the objects under 2 are stale");
    harness.expect(StreamInput::Failed(WatchError::TooSlow), "trouble; wait");
    harness.later("open 3 after 9");
}

#[test]
fn if_all_keys_are_refused_each_is_retried_in_turn() {
    let mut harness = EditorHarness::new();
    harness.acquire(&[2, 3]);
    harness.expect(StreamInput::Time, "begin; open 2,3");
    for next in ["2", "3", "2", "3"] {
        harness.expect(StreamInput::Failed(wrong().into()), "abandon; trouble; wait");
        harness.later(&format!("begin; open {next}"));
    }
    // All keys were accepted, so none of them was at fault.
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 7), "finish 7; complete 3; edit - +2");
    assert!(harness.editor.refused.is_empty());
}

#[test]
fn a_refused_stream_opens_with_fewer_keys() {
    let mut harness = EditorHarness::new();
    harness.acquire(&[1, 2, 3, 4]);
    harness.expect(StreamInput::Time, "begin; open 1,2,3,4");
    harness.expect(StreamInput::Failed(wrong().into()), "abandon; trouble; wait");
    harness.later("begin; open 1,2");
    harness.expect(StreamInput::Opened, "");
    harness.expect(complete(0, 7), "finish 7; complete 1,2; edit - +3,4");
}
