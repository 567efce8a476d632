//! Property: a run follows if and only if a delivered change holds a version that is not known to
//! be the run's, over every order of own events, foreign writes, responses and failures.

use machinery_informers::InformerId;
use machinery_informers::deliver::Steps;
use machinery_objects::{ObjectKey, Revision, Uid, WriteOutcome, WriteToken};
use proptest::prelude::*;

use super::{ChangedTo, ObjectChange, OwnWrite, WriteWindows};

const PARTS: InformerId = InformerId::of_address(1);

#[derive(Clone, Copy, Debug)]
enum ServerAction {
    /// The run writes; the response arrives now, later, or never.
    Own(ResponseFate),
    /// Somebody else writes.
    Foreign,
    /// The run's write finds the object as it is, at the version of an earlier writer.
    NoOp,
    /// The source delivers all changes so far as one event.
    Deliver,
    /// A list finds all changes so far.
    List,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ResponseFate {
    Received,
    Lost,
}

fn action() -> impl Strategy<Value = ServerAction> {
    prop_oneof![
        3 => Just(ServerAction::Own(ResponseFate::Received)),
        1 => Just(ServerAction::Own(ResponseFate::Lost)),
        2 => Just(ServerAction::Foreign),
        1 => Just(ServerAction::NoOp),
        4 => Just(ServerAction::Deliver),
        1 => Just(ServerAction::List),
    ]
}

fn key() -> ObjectKey {
    "n/a".parse().expect("a key")
}

fn write(revision: u64, wrote: impl Fn(Revision) -> WriteOutcome) -> OwnWrite {
    let token = WriteToken { key: key(), uid: Uid::new("1"), wrote: wrote(Revision(revision)) };
    OwnWrite { informer: PARTS, token }
}

fn stored(revision: u64) -> OwnWrite {
    write(revision, |revision| WriteOutcome::Stored(revision.into()))
}

fn change(before: u64, after: u64, steps: Steps) -> ObjectChange {
    let before = (before > 0).then(|| Revision(before).into());
    ObjectChange {
        informer: PARTS,
        key: key(),
        before,
        after: ChangedTo::Stored(Revision(after).into()),
        steps,
    }
}

proptest! {
    #[test]
    fn p35_a_run_follows_exactly_the_changes_of_others(actions in prop::collection::vec(action(), 0..24)) {
        let windows = WriteWindows::new(7);
        windows.open(&"a");
        // Version of the object, version that the source has delivered, and the known own versions.
        let (mut now, mut delivered, mut own) = (1, 1, Vec::new());
        let (mut writes, mut expected, mut passed) = (Vec::new(), Vec::new(), Vec::new());
        for action in actions.into_iter().chain([ServerAction::Deliver]) {
            match action {
                ServerAction::Own(response) => {
                    now += 1;
                    if response == ResponseFate::Received {
                        own.push(now);
                        writes.push(stored(now));
                    }
                }
                ServerAction::Foreign => now += 1,
                ServerAction::NoOp => writes.push(write(now, |at| WriteOutcome::Observed(at.into()))),
                ServerAction::Deliver | ServerAction::List if now == delivered => {}
                ServerAction::Deliver | ServerAction::List => {
                    let is_listed = matches!(action, ServerAction::List);
                    let changes = u32::try_from(now - delivered).expect("a few changes");
                    let steps = Steps { changes, unbroken: !is_listed };
                    // The window does not know the responses yet: `own` is filled until it closes.
                    expected.push((delivered + 1..=now, is_listed, now));
                    if let Err(request) = windows.park(&"a", change(delivered, now, steps), now) {
                        passed.push(request);
                    }
                    delivered = now;
                }
            }
        }
        let requested: Vec<u64> = expected
            .into_iter()
            .filter(|(versions, is_listed, _)| *is_listed || versions.clone().any(|version| !own.contains(&version)))
            .map(|(.., request)| request)
            .collect();
        let closed = windows.close(&"a", &writes);
        passed.extend(closed.into_iter().filter(|parked| !parked.is_own).map(|parked| parked.request));
        prop_assert_eq!(passed, requested);
    }
}

#[test]
fn p35_a_change_that_is_not_parked_requests_a_run() {
    let windows = WriteWindows::new(7);
    let offer = |number: u64| windows.park(&"a", change(number, number + 1, Steps::ONE), number);
    assert_eq!(offer(1), Err(1), "no window is open");
    windows.open(&"a");
    let full = (2..).find(|number| offer(*number).is_err()).expect("windows are bounded");
    assert_eq!(full, 34);
    let closed = windows.close(&"a", &[stored(3)]);
    assert_eq!(closed.iter().filter(|parked| parked.is_own).count(), 1);
    assert_eq!(closed.len(), 32);
    assert_eq!(offer(1), Err(1), "the window is closed");
}

#[test]
fn p35_only_writes_of_the_same_object_and_informer_count() {
    let made = change(1, 2, Steps::ONE);
    assert!(made.is_made_by(&[stored(2)]));
    let elsewhere = OwnWrite { informer: InformerId::of_address(2), ..stored(2) };
    let mut other = stored(2);
    other.token.key = "n/b".parse().expect("a key");
    assert!(!made.is_made_by(&[elsewhere, other, stored(3)]));
}

#[test]
fn p35_a_deletion_is_own_by_the_uid_of_the_object() {
    let uid = |text: &str| Uid::new(text).expect("a UID");
    let gone = |text: &str| ObjectChange { after: ChangedTo::Deleted(uid(text)), ..change(1, 2, Steps::ONE) };
    let removed = write(2, |_| WriteOutcome::Removed(None));
    assert!(gone("1").is_made_by(std::slice::from_ref(&removed)));
    assert!(!gone("2").is_made_by(&[removed]));
    assert!(!gone("1").is_made_by(&[stored(2)]), "the mark is not the removal");
}

#[test]
fn windows_keep_no_memory_after_a_burst() {
    let windows = WriteWindows::<u32, ()>::new(7);
    (0..10_000).for_each(|key| windows.open(&key));
    (0..10_000).for_each(|key| drop(windows.close(&key, &[])));
    assert!(windows.capacity() < 1000, "{}", windows.capacity());
}
