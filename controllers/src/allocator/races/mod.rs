//! Controllers that allocate the same members for the same owners, in every interleaving of their
//! steps and with crashes: the choice among locks, without the hints, which decide nothing.
//!
//! Each race is also run with the mistake that it is about, and the mistake must be found.
//! `cargo xtask races` explores larger ones.

mod process;
mod system;

use machinery_sync::explore::{assert_fails, assert_holds, assert_random_walks};

use self::process::Mistake;
use self::system::{AllocatorRace, ClientAction};

const ATTACH_A: ClientAction = ClientAction::Attach("a");
const ATTACH_B: ClientAction = ClientAction::Attach("b");
const DETACH_A: ClientAction = ClientAction::Detach("a");

/// Races that only an optimized build explores in a second.
const IS_DEEP: bool = !cfg!(debug_assertions);

#[test]
fn one_of_two_owners_gets_the_member() {
    assert_holds(AllocatorRace::new(1, 1, [ATTACH_A, ATTACH_B]).crashing(1), 100);
    assert_holds(AllocatorRace::new(2, 1, [ATTACH_A, ATTACH_B]), 500);
}

#[test]
fn two_processes_agree_on_one_of_two_members() {
    for has_fences in [true, false] {
        let mut race = AllocatorRace::new(2, 2, [ATTACH_A]).crashing(1);
        race.has_fences = has_fences;
        assert_holds(race, 300);
    }
}

#[test]
fn a_waiter_gets_the_released_member() {
    assert_holds(AllocatorRace::new(1, 1, [ATTACH_A, ATTACH_B, DETACH_A]).crashing(1), 500);
}

#[test]
fn a_recreated_owner_inherits_nothing() {
    assert_holds(AllocatorRace::new(1, 1, [ATTACH_A, DETACH_A, ATTACH_A]).crashing(1), 300);
}

/// A pool whose members change while the owner has one of them. Of one process: two without a
/// Lease, of which one sees the former pool, would undo each other.
#[test]
fn an_owner_moves_with_its_pool() {
    let moves = [ATTACH_A, ClientAction::Move(2), ClientAction::Move(1)];
    assert_holds(AllocatorRace::new(1, 2, moves).crashing(1), 200);
}

#[test]
fn two_processes_allocate_exclusively() {
    let races = [
        AllocatorRace::new(2, 1, [ATTACH_A, ATTACH_B, DETACH_A]).crashing(1),
        AllocatorRace::new(2, 2, [ATTACH_A, DETACH_A, ATTACH_A, ATTACH_B]).crashing(2),
        AllocatorRace::new(2, 2, [ATTACH_A, ATTACH_B, DETACH_A]).crashing(2),
    ];
    for mut race in races {
        assert_random_walks(&race, if IS_DEEP { 100_000 } else { 2000 }, 0);
        race.has_fences = false;
        assert_random_walks(&race, if IS_DEEP { 100_000 } else { 2000 }, 1);
    }
}

/// Exhaustive where the walks above sample.
#[test]
fn deep_races_hold_in_every_interleaving() {
    if IS_DEEP {
        let explored = assert_holds(AllocatorRace::new(2, 1, [ATTACH_A, ATTACH_B]).crashing(1), 10_000);
        println!("two owners of one member, two processes, a crash: {explored:?}");
        let explored = assert_holds(AllocatorRace::new(2, 1, [ATTACH_A, DETACH_A]).crashing(1), 1000);
        println!("an owner that is deleted, two processes, a crash: {explored:?}");
    }
}

#[test]
fn a_record_before_its_lock_is_detected() {
    let mut wrong = AllocatorRace::new(2, 1, [ATTACH_A, ATTACH_B]);
    (wrong.mistake, wrong.has_fences) = (Some(Mistake::RecordsFirst), false);
    assert_fails(wrong, "without its lock");
}

#[test]
fn a_release_by_name_is_detected() {
    let mut wrong = AllocatorRace::new(
        2,
        2,
        [ATTACH_A, ClientAction::Move(2), ClientAction::Detach("a"), ATTACH_A, ClientAction::Move(1)],
    );
    (wrong.mistake, wrong.has_fences) = (Some(Mistake::ReleasesByName), false);
    assert_fails(wrong, "without its lock");
}

#[test]
fn an_early_release_of_spare_locks_is_detected() {
    let mut wrong = AllocatorRace::new(2, 2, [ATTACH_A]);
    (wrong.mistake, wrong.has_fences) = (Some(Mistake::ReleasesSpareLocksEarly), false);
    assert_fails(wrong, "without its lock");
}
