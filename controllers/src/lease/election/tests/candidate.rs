//! Candidates: waiting for a Lease and acquiring it.

use super::*;

#[test]
fn p15_a_held_lease_expires_relative_to_its_first_observation() {
    let mut harness = ElectionHarness::new();
    harness.at(100.0, Input::Tick, "read");
    harness.at(101.0, found(others(1, 0)), "rest until later");
    for at in [105.5, 110.0, 115.0] {
        harness.at(at, Input::Tick, "read");
        harness.step(found(others(1, 0)), "rest until later");
    }
    // A renewal restarts the wait. Changes of other fields do not.
    harness.at(120.0, Input::Tick, "read");
    harness.step(found(others(2, 1)), "rest until later");
    harness.at(134.9, Input::Tick, "read");
    harness.step(found(with(&others(3, 1), "/metadata/labels", json!({"a": "b"}))), "rest until later");
    harness.at(140.0, Input::Tick, "read");
    harness.step(found(others(3, 1)), "write over 3: me 7, acquired 140, renewed 140");
    harness.stored(4, "leads 7; rest until 142");
}

#[test]
fn p15_a_free_lease_is_acquired_at_once() {
    for free in [
        json!({}),
        json!(null),
        json!({"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0}),
    ] {
        let mut harness = ElectionHarness::new();
        harness.step(Input::Tick, "read");
        harness.step(found(of(5, free)), "write over 5: me 1, acquired 0, renewed 0");
        harness.stored(6, "leads 1; rest until 2");
    }
}

#[test]
fn p15_a_candidate_that_lost_the_race_keeps_waiting() {
    let mut harness = ElectionHarness::new();
    harness.step(Input::Tick, "read");
    harness.step(Input::Read(Ok(None)), "create me 0, acquired 0, renewed 0");
    harness.step(Input::Wrote(Err(WriteError::AlreadyExists { uid: None })), "rest until later");
    harness.reads_when_due(of(3, json!({})), "write over 3: me 1, acquired 2, renewed 2");
    harness.step(refused(), "rest until later");
    harness.reads_when_due(others(4, 0), "rest until later");
}

#[test]
fn p15_a_lease_under_the_own_identity_is_not_assumed_held() {
    let mut harness = ElectionHarness::new();
    harness.step(Input::Tick, "read");
    harness.step(found(held("me", 1, 0)), "rest until later");
    harness.at(14.9, Input::Tick, "read");
    harness.step(found(held("me", 1, 0)), "rest until later");
    harness.at(20.0, Input::Tick, "read");
    harness.step(found(held("me", 1, 0)), "write over 1: me 7, acquired 20, renewed 20");
}

#[test]
fn p15_polling_of_candidates_is_jittered() {
    let poll_delays = |seed| {
        let begin = tokio::time::Instant::now().into_std();
        let config = ElectionConfig { seed, ..ElectionConfig::new("n/x".parse().unwrap(), "me", 0) };
        let (mut election, mut at, mut waits) =
            (Election::new(config, ElectionCounts::default(), begin), begin, vec![]);
        for _ in 0..50 {
            election.step(ElectionTime { at, wall: Timestamp::UNIX_EPOCH }, Input::Tick);
            election.step(ElectionTime { at, wall: Timestamp::UNIX_EPOCH }, no_answer());
            let due = election.due().unwrap();
            waits.push((due - at).as_secs_f64());
            at = due;
        }
        waits
    };
    let waits = poll_delays(7);
    assert!(waits.iter().all(|wait| (2.0..4.4).contains(wait)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait > 4.0) && waits.iter().any(|wait| *wait < 2.4), "{waits:?}");
    assert_ne!(waits, poll_delays(8));
    assert_eq!(waits, poll_delays(7));
}
