//! Resignation and release.

use super::*;

#[test]
fn p18_a_resigning_leader_releases_the_lease() {
    let mut harness = ElectionHarness::leading();
    harness.at(1.0, Input::Resign, "write over 1: nobody 0, acquired 1, renewed 1");
    harness.stored(2, "end");
    // A pending renewal is awaited first.
    let mut harness = ElectionHarness::leading();
    harness.at(2.0, Input::Tick, "write over 1: me 0, acquired 0, renewed 2");
    harness.at(3.0, Input::Resign, "await");
    harness.stored(2, "write over 2: nobody 0, acquired 3, renewed 3");
    harness.step(refused(), "read");
    let beside =
        stored(harness.wrote.as_ref().unwrap(), 3).with(&harness.election.observed().unwrap().record);
    harness.step(found(beside), "write over 3: nobody 0, acquired 3, renewed 3");
    harness.stored(4, "end");
}

#[test]
fn p18_a_failed_release_does_not_prevent_the_end() {
    let mut harness = ElectionHarness::leading();
    harness.at(1.0, Input::Resign, "write over 1: nobody 0, acquired 1, renewed 1");
    harness.at(6.0, Input::Tick, "read");
    harness.step(no_answer(), "rest until 8");
    harness.at(8.0, Input::Tick, "read");
    harness.at(10.0, Input::Tick, "lost late; end");
    let mut harness = ElectionHarness::leading();
    harness.at(1.0, Input::Resign, "write over 1: nobody 0, acquired 1, renewed 1");
    harness.step(refused(), "read");
    harness.step(found(others(2, 0)), "lost taken; end");
}

#[test]
fn p18_a_candidate_that_resigns_holds_nothing() {
    let mut harness = ElectionHarness::new();
    harness.step(Input::Tick, "read");
    harness.step(Input::Resign, "end");
    let mut harness = ElectionHarness::new();
    harness.step(Input::Tick, "read");
    harness.step(Input::Read(Ok(None)), "create me 0, acquired 0, renewed 0");
    harness.step(Input::Resign, "await");
    harness.stored(1, "write over 1: nobody 0, acquired 0, renewed 0");
    harness.stored(2, "end");
    let mut harness = ElectionHarness::new();
    harness.step(Input::Tick, "read");
    harness.step(Input::Read(Ok(None)), "create me 0, acquired 0, renewed 0");
    harness.step(Input::Resign, "await");
    harness.step(refused(), "end");
}
