//! Who leads: how it goes on, and how it ends.

use super::*;

#[test]
fn p14_who_leads_renews_without_reading_and_keeps_when_it_began() {
    let mut talk = Talk::leading();
    talk.at(1.0, Input::Time, "rest until 2");
    talk.at(2.0, Input::Time, "write over 1: me 0, acquired 0, renewed 2");
    talk.at(3.0, Input::Time, "await");
    talk.stored(2, "rest until 5");
    talk.at(5.0, Input::Time, "write over 2: me 0, acquired 0, renewed 5");
    talk.stored(3, "rest until 7");
    assert_eq!(talk.election.counts(), ElectionCounts { terms: 1, written: 3, ..ElectionCounts::default() });
}

#[test]
fn p14_a_renewal_is_seen_whatever_the_clock_says() {
    let mut talk = Talk::leading();
    for (clock, at, expected) in [
        (0.0, 2, "me 0, acquired 0, renewed 2"),
        (0.0, 4, "me 0, acquired 0, renewed 4"),
        (-1e9, 6, "me 0, acquired 0, renewed 6"),
        (9.0, 8, "me 0, acquired 0, renewed 9"),
        (8.0, 10, "me 0, acquired 0, renewed 11"),
    ] {
        talk.stands_at = Some(clock);
        talk.at(f64::from(at), Input::Time, &format!("write over {}: {expected}", at / 2));
        talk.stored(at / 2 + 1, &format!("rest until {}", at + 2));
    }
    // With the next term it is what the clock says.
    talk.at(60.0, Input::Time, "lost late; rest until ever");
    let own = stored(talk.wrote.as_ref().unwrap(), 6);
    talk.says(Input::Stand, "read");
    talk.says(found(own), "write over 6: me 1, acquired 8, renewed 8");
}

#[test]
fn p14_a_lease_whose_answer_was_lost_is_known_again() {
    let mut talk = Talk::new();
    talk.says(Input::Time, "read");
    talk.says(found(of(1, json!({}))), "write over 1: me 1, acquired 0, renewed 0");
    talk.says(lost(), "rest until later");
    // Not stored, or not yet: the same is written again, so that it is known whichever of the two is stored.
    talk.looks_and_finds(of(1, json!({})), "write over 1: me 1, acquired 0, renewed 0");
    talk.says(refused(), "rest until later");
    talk.at(9.0, Input::Time, "read");
    talk.finds_own(2, "write over 2: me 1, acquired 0, renewed 9");
    talk.stored(3, "leads 1; rest until 11");
}

#[test]
fn p14_an_answer_that_comes_too_late_makes_nobody_lead() {
    let mut talk = Talk::new();
    talk.says(Input::Time, "read");
    talk.says(Input::Read(Ok(None)), "create me 0, acquired 0, renewed 0");
    talk.at = 10.0;
    talk.stored(1, "rest until later");
    talk.at(15.0, Input::Time, "read");
    talk.finds_own(1, "write over 1: me 0, acquired 0, renewed 15");
    talk.stored(2, "leads 0; rest until 17");
}

#[test]
fn p17_a_renewal_that_is_not_answered_is_tried_again_until_the_deadline() {
    let mut talk = Talk::leading();
    talk.at(2.0, Input::Time, "write over 1: me 0, acquired 0, renewed 2");
    talk.at(6.9, Input::Time, "await");
    talk.at(7.0, Input::Time, "read");
    talk.at(9.0, no_answer(), "read");
    talk.at(9.9, Input::Time, "await");
    talk.at(10.0, Input::Time, "lost late; rest until ever");
    talk.at(60.0, Input::Time, "rest until ever");
    talk.says(Input::Stand, "read");
    // Nobody took it, and it is one's own. But what was begun under the old epoch must not come under the new term.
    talk.says(found(stored(talk.wrote.as_ref().unwrap(), 1)), "rest until later");
}

#[test]
fn p17_a_term_is_counted_from_when_its_renewal_was_sent() {
    let mut talk = Talk::leading();
    talk.at(2.0, Input::Time, "write over 1: me 0, acquired 0, renewed 2");
    talk.at = 6.0;
    talk.stored(2, "rest until 8");
    talk.at(8.0, Input::Time, "write over 2: me 0, acquired 0, renewed 8");
    talk.at(11.9, Input::Time, "await");
    talk.at(12.0, Input::Time, "lost late; rest until ever");
}

#[test]
fn p17_who_was_stopped_past_its_lease_leads_no_more() {
    let mut talk = Talk::leading();
    talk.at(2.0, Input::Time, "write over 1: me 0, acquired 0, renewed 2");
    talk.at = 60.0;
    talk.stored(2, "lost late; rest until ever");
    let mut asleep = Talk::leading();
    asleep.at(60.0, Input::Time, "lost late; rest until ever");
    let own = stored(asleep.wrote.as_ref().unwrap(), 1);
    asleep.says(Input::Stand, "read");
    asleep.says(found(own), "write over 1: me 1, acquired 60, renewed 60");
    asleep.stored(2, "leads 1; rest until 62");
}

#[test]
fn p17_a_renewal_that_was_stored_and_not_answered_is_no_loss() {
    let mut talk = Talk::leading();
    talk.at(2.0, Input::Time, "write over 1: me 0, acquired 0, renewed 2");
    talk.says(lost(), "rest until 4");
    talk.at(4.0, Input::Time, "read");
    talk.finds_own(2, "write over 2: me 0, acquired 0, renewed 4");
    talk.says(lost(), "rest until 6");
    talk.at(6.0, Input::Time, "read");
    talk.says(found(stored(talk.wrote.as_ref().unwrap(), 3)), "write over 3: me 0, acquired 0, renewed 6");
    talk.stored(4, "rest until 8");
}

#[test]
fn p17_what_others_change_beside_is_no_loss_and_stays() {
    let mut talk = Talk::leading();
    let own = stored(talk.wrote.as_ref().unwrap(), 1);
    talk.at(2.0, Input::Time, "write over 1: me 0, acquired 0, renewed 2");
    talk.says(refused(), "read");
    let ended = with(&stored(&own, 2), "/spec/preferredHolder", json!("other"));
    talk.says(found(ended), "write over 2: me 0, acquired 0, renewed 2");
    let written = serde_json::to_value(talk.wrote.as_ref().unwrap()).unwrap();
    assert_eq!(written["spec"]["preferredHolder"], json!("other"));
    // Who writes all the time must not make it ask all the time.
    talk.says(refused(), "rest until 4");
    talk.at(4.0, Input::Time, "read");
}

#[test]
fn p17_what_is_another_holders_is_lost() {
    let own = stored(Talk::leading().wrote.as_ref().unwrap(), 2);
    let going = with(&own, "/metadata/deletionTimestamp", json!("2026-11-22T10:00:00Z"));
    let another = with(&own, "/metadata/uid", json!("v"));
    let counted = with(&own, "/spec/leaseTransitions", json!(1));
    let somebody_of_this_name = with(&own, "/spec/renewTime", json!("1970-01-01T00:00:00.000001Z"));
    for (there, expected) in [
        (Some(others(2, 0)), "lost taken"),
        (Some(another), "lost taken"),
        (Some(counted), "lost taken"),
        (Some(somebody_of_this_name), "lost taken"),
        (Some(going), "lost gone"),
        (None, "lost gone"),
    ] {
        let mut talk = Talk::leading();
        talk.at(2.0, Input::Time, "write over 1: me 0, acquired 0, renewed 2");
        talk.says(refused(), "read");
        let expected = format!("{expected}; rest until ever");
        talk.says(Input::Read(Ok(there.clone().map(Arc::new))), &expected);
        talk.says(Input::Stand, "read");
        let again = if there.is_none() { "create me 0, acquired 2, renewed 2" } else { "rest until later" };
        talk.says(Input::Read(Ok(there.map(Arc::new))), again);
    }
}
