//! Who does not lead: what it waits for.

use super::*;

#[test]
fn p15_a_strangers_lease_is_waited_for_from_its_first_sight_whatever_its_times_say() {
    let mut talk = Talk::new();
    talk.at(100.0, Input::Time, "read");
    talk.at(101.0, found(others(1, 0)), "rest until later");
    for at in [105.5, 110.0, 115.0] {
        talk.at(at, Input::Time, "read");
        talk.says(found(others(1, 0)), "rest until later");
    }
    // It was renewed: from now on it counts anew. What else is written into it counts for nothing.
    talk.at(120.0, Input::Time, "read");
    talk.says(found(others(2, 1)), "rest until later");
    talk.at(134.9, Input::Time, "read");
    talk.says(found(with(&others(3, 1), "/metadata/labels", json!({"a": "b"}))), "rest until later");
    talk.at(140.0, Input::Time, "read");
    talk.says(found(others(3, 1)), "write over 3: me 7, acquired 140, renewed 140");
    talk.stored(4, "leads 7; rest until 142");
}

#[test]
fn p15_what_is_free_is_taken_at_once() {
    for free in [
        json!({}),
        json!(null),
        json!({"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0}),
    ] {
        let mut talk = Talk::new();
        talk.says(Input::Time, "read");
        talk.says(found(of(5, free)), "write over 5: me 1, acquired 0, renewed 0");
        talk.stored(6, "leads 1; rest until 2");
    }
}

#[test]
fn p15_who_is_overtaken_waits_like_the_others() {
    let mut talk = Talk::new();
    talk.says(Input::Time, "read");
    talk.says(Input::Read(Ok(None)), "create me 0, acquired 0, renewed 0");
    talk.says(Input::Wrote(Err(WriteError::AlreadyExists { uid: None })), "rest until later");
    talk.looks_and_finds(of(3, json!({})), "write over 3: me 1, acquired 2, renewed 2");
    talk.says(refused(), "rest until later");
    talk.looks_and_finds(others(4, 0), "rest until later");
}

#[test]
fn p15_the_own_name_proves_nothing() {
    let mut talk = Talk::new();
    talk.says(Input::Time, "read");
    talk.says(found(held("me", 1, 0)), "rest until later");
    talk.at(14.9, Input::Time, "read");
    talk.says(found(held("me", 1, 0)), "rest until later");
    talk.at(20.0, Input::Time, "read");
    talk.says(found(held("me", 1, 0)), "write over 1: me 7, acquired 20, renewed 20");
}

#[test]
fn p15_they_do_not_all_look_at_once() {
    let looks = |seed| {
        let begin = tokio::time::Instant::now().into_std();
        let config = ElectionConfig { seed, ..ElectionConfig::new("n/x".parse().unwrap(), "me", 0) };
        let (mut election, mut at, mut waits) =
            (Election::new(config, ElectionCounts::default(), begin), begin, vec![]);
        for _ in 0..50 {
            election.step(Now { at, wall: Timestamp::UNIX_EPOCH }, Input::Time);
            election.step(Now { at, wall: Timestamp::UNIX_EPOCH }, no_answer());
            let due = election.due().unwrap();
            waits.push((due - at).as_secs_f64());
            at = due;
        }
        waits
    };
    let waits = looks(7);
    assert!(waits.iter().all(|wait| (2.0..4.4).contains(wait)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait > 4.0) && waits.iter().any(|wait| *wait < 2.4), "{waits:?}");
    assert_ne!(waits, looks(8));
    assert_eq!(waits, looks(7));
}
