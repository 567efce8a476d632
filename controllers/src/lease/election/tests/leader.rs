//! Leaders: renewal and loss of a term.

use super::*;

#[test]
fn p14_a_leader_renews_without_reading_and_keeps_its_acquire_time() {
    let mut harness = ElectionHarness::leading();
    harness.at(1.0, Input::Tick, "rest until 2");
    harness.at(2.0, Input::Tick, "write over 1: me 0, acquired 0, renewed 2");
    harness.at(3.0, Input::Tick, "await");
    harness.stored(2, "rest until 5");
    harness.at(5.0, Input::Tick, "write over 2: me 0, acquired 0, renewed 5");
    harness.stored(3, "rest until 7");
    assert_eq!(
        harness.election.counts(),
        ElectionCounts { terms: 1, written: 3, ..ElectionCounts::default() }
    );
}

#[test]
fn p14_renew_time_advances_although_the_wall_clock_does_not() {
    let mut harness = ElectionHarness::leading();
    for (clock, at, expected) in [
        (0.0, 2, "me 0, acquired 0, renewed 2"),
        (0.0, 4, "me 0, acquired 0, renewed 4"),
        (-1e9, 6, "me 0, acquired 0, renewed 6"),
        (9.0, 8, "me 0, acquired 0, renewed 9"),
        (8.0, 10, "me 0, acquired 0, renewed 11"),
    ] {
        harness.fixed_wall_clock = Some(clock);
        harness.at(f64::from(at), Input::Tick, &format!("write over {}: {expected}", at / 2));
        harness.stored(at / 2 + 1, &format!("rest until {}", at + 2));
    }
    // The next term starts with the wall-clock time.
    harness.at(60.0, Input::Tick, "lost late; rest until ever");
    let own = stored(harness.wrote.as_ref().unwrap(), 6);
    harness.step(Input::Rejoin, "read");
    harness.step(found(own), "write over 6: me 1, acquired 8, renewed 8");
}

#[test]
fn p14_an_acquisition_with_a_lost_response_is_recognised() {
    let mut harness = ElectionHarness::new();
    harness.step(Input::Tick, "read");
    harness.step(found(of(1, json!({}))), "write over 1: me 1, acquired 0, renewed 0");
    harness.step(lost(), "rest until later");
    // The first write may be stored or not: the retry writes the same record, so either is
    // recognised.
    harness.reads_when_due(of(1, json!({})), "write over 1: me 1, acquired 0, renewed 0");
    harness.step(refused(), "rest until later");
    harness.at(9.0, Input::Tick, "read");
    harness.finds_own(2, "write over 2: me 1, acquired 0, renewed 9");
    harness.stored(3, "leads 1; rest until 11");
}

#[test]
fn p14_a_late_response_starts_no_term() {
    let mut harness = ElectionHarness::new();
    harness.step(Input::Tick, "read");
    harness.step(Input::Read(Ok(None)), "create me 0, acquired 0, renewed 0");
    harness.at = 10.0;
    harness.stored(1, "rest until later");
    harness.at(15.0, Input::Tick, "read");
    harness.finds_own(1, "write over 1: me 0, acquired 0, renewed 15");
    harness.stored(2, "leads 0; rest until 17");
}

#[test]
fn p17_an_unanswered_renewal_is_retried_until_the_deadline() {
    let mut harness = ElectionHarness::leading();
    harness.at(2.0, Input::Tick, "write over 1: me 0, acquired 0, renewed 2");
    harness.at(6.9, Input::Tick, "await");
    harness.at(7.0, Input::Tick, "read");
    harness.at(9.0, no_answer(), "read");
    harness.at(9.9, Input::Tick, "await");
    harness.at(10.0, Input::Tick, "lost late; rest until ever");
    harness.at(60.0, Input::Tick, "rest until ever");
    harness.step(Input::Rejoin, "read");
    // The Lease is still its own, but writes of the old epoch must not pass under the new term.
    harness.step(found(stored(harness.wrote.as_ref().unwrap(), 1)), "rest until later");
}

#[test]
fn p17_the_deadline_counts_from_sending_the_renewal() {
    let mut harness = ElectionHarness::leading();
    harness.at(2.0, Input::Tick, "write over 1: me 0, acquired 0, renewed 2");
    harness.at = 6.0;
    harness.stored(2, "rest until 8");
    harness.at(8.0, Input::Tick, "write over 2: me 0, acquired 0, renewed 8");
    harness.at(11.9, Input::Tick, "await");
    harness.at(12.0, Input::Tick, "lost late; rest until ever");
}

#[test]
fn p17_a_leader_suspended_past_its_lease_loses_the_term() {
    let mut harness = ElectionHarness::leading();
    harness.at(2.0, Input::Tick, "write over 1: me 0, acquired 0, renewed 2");
    harness.at = 60.0;
    harness.stored(2, "lost late; rest until ever");
    let mut asleep = ElectionHarness::leading();
    asleep.at(60.0, Input::Tick, "lost late; rest until ever");
    let own = stored(asleep.wrote.as_ref().unwrap(), 1);
    asleep.step(Input::Rejoin, "read");
    asleep.step(found(own), "write over 1: me 1, acquired 60, renewed 60");
    asleep.stored(2, "leads 1; rest until 62");
}

#[test]
fn p17_a_stored_renewal_with_a_lost_response_keeps_the_term() {
    let mut harness = ElectionHarness::leading();
    harness.at(2.0, Input::Tick, "write over 1: me 0, acquired 0, renewed 2");
    harness.step(lost(), "rest until 4");
    harness.at(4.0, Input::Tick, "read");
    harness.finds_own(2, "write over 2: me 0, acquired 0, renewed 4");
    harness.step(lost(), "rest until 6");
    harness.at(6.0, Input::Tick, "read");
    harness
        .step(found(stored(harness.wrote.as_ref().unwrap(), 3)), "write over 3: me 0, acquired 0, renewed 6");
    harness.stored(4, "rest until 8");
}

#[test]
fn p17_foreign_changes_to_other_fields_keep_the_term_and_are_preserved() {
    let mut harness = ElectionHarness::leading();
    let own = stored(harness.wrote.as_ref().unwrap(), 1);
    harness.at(2.0, Input::Tick, "write over 1: me 0, acquired 0, renewed 2");
    harness.step(refused(), "read");
    let ended = with(&stored(&own, 2), "/spec/preferredHolder", json!("other"));
    harness.step(found(ended), "write over 2: me 0, acquired 0, renewed 2");
    let written = serde_json::to_value(harness.wrote.as_ref().unwrap()).unwrap();
    assert_eq!(written["spec"]["preferredHolder"], json!("other"));
    // A client that writes continuously must not cause continuous requests.
    harness.step(refused(), "rest until 4");
    harness.at(4.0, Input::Tick, "read");
}

#[test]
fn p17_a_lease_taken_or_deleted_by_others_ends_the_term() {
    let own = stored(ElectionHarness::leading().wrote.as_ref().unwrap(), 2);
    let deleting = with(&own, "/metadata/deletionTimestamp", json!("2026-11-22T10:00:00Z"));
    let another = with(&own, "/metadata/uid", json!("v"));
    let counted = with(&own, "/spec/leaseTransitions", json!(1));
    let somebody_of_this_name = with(&own, "/spec/renewTime", json!("1970-01-01T00:00:00.000001Z"));
    for (there, expected) in [
        (Some(others(2, 0)), "lost taken"),
        (Some(another), "lost taken"),
        (Some(counted), "lost taken"),
        (Some(somebody_of_this_name), "lost taken"),
        (Some(deleting), "lost gone"),
        (None, "lost gone"),
    ] {
        let mut harness = ElectionHarness::leading();
        harness.at(2.0, Input::Tick, "write over 1: me 0, acquired 0, renewed 2");
        harness.step(refused(), "read");
        let expected = format!("{expected}; rest until ever");
        harness.step(Input::Read(Ok(there.clone().map(Arc::new))), &expected);
        harness.step(Input::Rejoin, "read");
        let again = if there.is_none() { "create me 0, acquired 2, renewed 2" } else { "rest until later" };
        harness.step(Input::Read(Ok(there.map(Arc::new))), again);
    }
}
