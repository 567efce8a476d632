//! Malformed Leases and unexpected responses.

use super::*;

#[test]
fn p19_malformed_fields_are_treated_as_held_by_another() {
    // With an invalid duration the candidate assumes its own.
    for malformed in [json!(null), json!(0), json!(-3), json!("15"), json!(1e300), json!(u64::MAX)] {
        let mut harness = ElectionHarness::new();
        harness.step(Input::Tick, "read");
        let lease = with(&others(1, 0), "/spec/leaseDurationSeconds", malformed);
        harness.step(found(lease.clone()), "rest until later");
        harness.at(14.9, Input::Tick, "read");
        harness.step(found(lease.clone()), "rest until later");
        harness.at(20.0, Input::Tick, "read");
        harness.step(found(lease), "write over 1: me 7, acquired 20, renewed 20");
    }
    // An identity of another type counts as held.
    let mut harness = ElectionHarness::new();
    harness.step(Input::Tick, "read");
    harness.step(found(with(&others(1, 0), "/spec/holderIdentity", json!([7]))), "rest until later");
}

#[test]
fn p19_a_lease_with_uncountable_transitions_is_not_acquired_and_reported() {
    for malformed in [json!(-1), json!("6"), json!(i32::MAX), json!(u64::MAX), json!(1.5)] {
        let mut harness = ElectionHarness::new();
        harness.step(Input::Tick, "read");
        let lease = of(1, json!({"leaseTransitions": malformed}));
        harness.step(found(lease), "rest until later");
        assert_eq!(harness.election.problem(), Some(&ElectionProblem::Uncountable));
        // After a deletion the count starts again.
        harness.at(10.0, Input::Tick, "read");
        harness.step(Input::Read(Ok(None)), "create me 0, acquired 10, renewed 10");
        harness.stored(3, "leads 0; rest until 12");
        assert_eq!(harness.election.problem(), None);
    }
}

#[test]
fn p19_a_lease_without_uid_or_version_or_being_deleted_is_not_acquired() {
    let free = of(1, json!({}));
    let deleting = with(&free, "/metadata/deletionTimestamp", json!("2026-11-22T10:00:00Z"));
    for malformed in [
        with(&free, "/metadata/uid", json!("")),
        with(&free, "/metadata/resourceVersion", json!(1)),
        deleting,
    ] {
        let mut harness = ElectionHarness::new();
        harness.step(Input::Tick, "read");
        harness.step(found(malformed), "rest until later");
    }
}

#[test]
fn p19_a_response_with_another_record_starts_no_term() {
    for malformed in
        [others(1, 0), of(1, json!({})), with(&others(1, 0), "/spec/holderIdentity", json!("me"))]
    {
        let mut harness = ElectionHarness::new();
        harness.step(Input::Tick, "read");
        harness.step(Input::Read(Ok(None)), "create me 0, acquired 0, renewed 0");
        harness.step(Input::Wrote(Ok(malformed)), "rest until later");
        assert_eq!(harness.election.problem(), Some(&ElectionProblem::Altered));
    }
    let mut harness = ElectionHarness::leading();
    harness.at(2.0, Input::Tick, "write over 1: me 0, acquired 0, renewed 2");
    let another = with(&stored(harness.wrote.as_ref().unwrap(), 2), "/metadata/uid", json!("v"));
    harness.step(Input::Wrote(Ok(another.clone())), "rest until 4");
    harness.at(4.0, Input::Tick, "read");
    harness.step(found(another), "lost taken; rest until ever");
    // Unrequested responses are ignored.
    let mut harness = ElectionHarness::leading();
    harness.at(1.0, found(others(9, 0)), "rest until 2");
    harness.step(Input::Wrote(Ok(others(9, 0))), "rest until 2");
    harness.step(Input::Rejoin, "rest until 2");
}
