//! Keys, and requests, that the source refuses.

use super::*;

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
    assert_eq!(talk.editor.shown(), Shown::AsBefore, "what is held under 2 is old");
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
