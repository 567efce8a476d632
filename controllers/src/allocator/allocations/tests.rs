use super::*;

fn owner(name: &str) -> LockOwner {
    LockOwner {
        key: format!("n/{name}").parse().unwrap(),
        uid: machinery_objects::Uid::new(&format!("uid-{name}")).unwrap(),
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn pool(first: u16, last: u16) -> Pool<u16> {
    Pool::range("n/s".parse().unwrap(), first..=last).unwrap()
}

fn space() -> ScopedSpace<u16> {
    ScopedSpace::of(&pool(1, 1), Some("n"))
}

fn member(number: u16) -> ScopedMember<u16> {
    space().member(number.into()).unwrap()
}

fn names(owners: Vec<LockOwner>) -> Vec<String> {
    owners.into_iter().map(|owner| owner.key.name().to_owned()).collect()
}

struct State(Allocations<u16>);

impl State {
    /// The only member is locked.
    fn full() -> Self {
        let mut state = Self(Allocations::new(8, 0));
        assert_eq!(state.reserve("early"), Reservation::Unready);
        state.0.rebuild([member(1)], Vec::new(), Instant::now());
        state
    }

    fn reserve(&mut self, name: &str) -> Reservation<u16> {
        self.reserve_of(name, &pool(1, 1))
    }

    fn reserve_of(&mut self, name: &str, pool: &Pool<u16>) -> Reservation<u16> {
        self.0.reserve(&space(), pool, &owner(name), WaitingSince::New(at(1)), Instant::now())
    }

    #[track_caller]
    fn waits(&mut self, names: &[&str]) {
        for name in names {
            let reserved = self.reserve(name);
            assert!(matches!(reserved, Reservation::Full(Some(_))), "{name}: {reserved:?}");
        }
    }

    fn gone(&mut self) -> Vec<String> {
        self.0.lock_gone(&member(1), Instant::now());
        self.notified()
    }

    fn ended(&mut self, name: &str, is_locked: bool) -> Vec<String> {
        self.0.claim_ended(&member(1), &owner(name), is_locked, Instant::now());
        self.notified()
    }

    fn sweep(&mut self, is_locked: bool, gone: Option<&str>) -> Vec<String> {
        let exists = |one: &LockOwner| gone.is_none_or(|gone| *one != owner(gone));
        self.0.sweep(|_, _| is_locked, exists, Instant::now());
        self.notified()
    }

    fn notified(&mut self) -> Vec<String> {
        names(self.0.take_notified())
    }
}

#[tokio::test]
async fn a_lock_without_events_is_released_by_a_sweep() {
    let mut state = State::full();
    state.waits(&["a"]);
    assert!(state.0.has_unconfirmed());
    assert_eq!(state.sweep(true, None), [""; 0], "the lock still exists");
    assert_eq!(state.sweep(false, None), ["a"]);
    assert_eq!(state.reserve("a"), Reservation::Free(member(1)));
}

#[tokio::test]
async fn confirmed_locks_are_not_swept() {
    let mut state = State::full();
    state.0.lock_seen(&member(1));
    assert!(!state.0.has_unconfirmed());
    state.waits(&["a"]);
    assert_eq!(state.sweep(false, None), [""; 0]);
    assert_eq!(state.gone(), ["a"]);
}

/// A waiter that was created, queued and deleted between two deliveries has no event.
#[tokio::test]
async fn a_deleted_waiter_is_swept() {
    let mut state = State::full();
    state.0.lock_seen(&member(1));
    state.waits(&["ghost", "a"]);
    assert_eq!(state.gone(), ["ghost"]);
    assert_eq!(state.sweep(true, Some("ghost")), ["a"]);
    assert_eq!(state.0.waiting(), 1);
}

#[tokio::test]
async fn a_failed_claim_has_priority_over_waiters() {
    let mut state = State::full();
    state.0.lock_seen(&member(1));
    state.waits(&["a", "b"]);
    assert_eq!(state.gone(), ["a"]);
    assert_eq!(state.reserve("a"), Reservation::Free(member(1)));
    // Another lock was created and deleted meanwhile; the claimant keeps its priority.
    state.0.lock_seen(&member(1));
    assert_eq!(state.gone(), [""; 0]);
    assert_eq!(state.ended("a", false), [""; 0]);
    state.waits(&["b"]);
    assert_eq!(state.reserve("a"), Reservation::Free(member(1)), "reserved for a");
    state.0.queues.serve(&owner("a"));
    assert_eq!(state.ended("a", true), [""; 0]);
    assert_eq!(state.sweep(false, None), ["b"], "the created lock was deleted");
}

#[tokio::test]
async fn a_rebuild_notifies_the_first_waiters_in_their_order() {
    let mut allocations = Allocations::new(8, 0);
    let former = |second, name| FormerWaiter {
        since: at(second),
        owner: owner(name),
        pool: pool(1, 2),
        space: space(),
    };
    let former = vec![former(3, "c"), former(1, "a"), former(2, "b")];
    allocations.rebuild([member(2)], former, Instant::now());
    let mut state = State(allocations);
    assert_eq!(state.notified(), ["a"]);
    for name in ["new", "b"] {
        assert!(matches!(state.reserve_of(name, &pool(1, 2)), Reservation::Full(Some(_))));
    }
    assert_eq!(state.reserve_of("a", &pool(1, 2)), Reservation::Free(member(1)));
}

#[tokio::test]
async fn a_member_outside_the_pool_notifies_nobody() {
    let mut state = State::full();
    state.waits(&["a"]);
    state.0.lock_seen(&member(7));
    state.0.lock_gone(&member(7), Instant::now());
    assert_eq!(state.notified(), [""; 0]);
    assert_eq!(state.gone(), ["a"]);
}

#[tokio::test]
async fn a_grown_pool_notifies_its_waiters() {
    let mut state = State::full();
    state.waits(&["a", "b", "c"]);
    assert!(matches!(state.reserve_of("new", &pool(1, 3)), Reservation::Full(_)), "a newcomer comes last");
    assert_eq!(state.notified(), ["a", "b"]);
    state.0.notify_surplus(Instant::now());
    assert_eq!(state.notified(), [""; 0]);
}

#[tokio::test]
async fn a_waiter_that_moves_to_another_pool_passes_its_member_on() {
    let mut state = State::full();
    state.waits(&["a", "b"]);
    assert_eq!(state.gone(), ["a"]);
    let other = Pool::range("n/other".parse().unwrap(), 5..=5).unwrap();
    assert_eq!(state.reserve_of("a", &other), Reservation::Free(member(5)));
    assert_eq!(state.notified(), ["b"]);
}

/// Locks in two namespaces are different locks.
#[tokio::test]
async fn namespaces_have_their_own_members() {
    let mut state = State::full();
    let elsewhere = ScopedSpace::of(&pool(1, 1), Some("elsewhere"));
    let free = elsewhere.member(1).unwrap();
    let now = Instant::now();
    let reserved = state.0.reserve(&elsewhere, &pool(1, 1), &owner("a"), WaitingSince::New(at(1)), now);
    assert_eq!(reserved, Reservation::Free(free));
}

/// A reservation visits gaps, not members: the pool has 2^96 of them.
#[tokio::test]
async fn the_cost_does_not_depend_on_the_size_of_the_range() {
    use std::net::Ipv6Addr;
    let first: Ipv6Addr = "2001:db8::".parse().unwrap();
    let last = Ipv6Addr::from_bits(first.to_bits() | u128::MAX >> 32);
    let pool = Pool::range("n/s".parse().unwrap(), first..=last).unwrap();
    let space = ScopedSpace::of(&pool, None);
    let mut allocations = Allocations::new(8, 0);
    allocations.rebuild([], Vec::new(), Instant::now());
    for number in 0..1000 {
        let owner = owner(&number.to_string());
        let now = Instant::now();
        let reserved = allocations.reserve(&space, &pool, &owner, WaitingSince::New(at(1)), now);
        let Reservation::Free(member) = reserved else { panic!("{reserved:?}") };
        assert!(pool.contains(&member.member));
        allocations.lock_seen(&member);
        allocations.claim_ended(&member, &owner, true, now);
        allocations.queues.serve(&owner);
    }
    assert!(allocations.marks.is_empty() && allocations.waiting() == 0);
}
