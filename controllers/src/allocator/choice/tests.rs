use super::super::Pool;
use super::*;
use machinery_objects::Revision;

fn pool(first: u16, last: u16) -> Pool<u16> {
    Pool::range("n/s".parse().unwrap(), first..=last).unwrap()
}

fn lock(uid: &str, member: u16, revision: u64) -> OwnedLock<u16> {
    let version = Some(ResourceVersion::from(Revision(revision)));
    OwnedLock { member, uid: Uid::new(uid).unwrap(), version }
}

#[track_caller]
fn check(
    locks: &[OwnedLock<u16>],
    request: &AllocationRequest<'_, u16>,
    keep: Option<&str>,
    release: &[&str],
) {
    let choice = choose(locks, request);
    let uid = |at: usize| locks[at].uid.as_str();
    let released: Vec<_> = choice.release.iter().map(|at| uid(*at)).collect();
    assert_eq!((choice.keep.map(uid), released.as_slice()), (keep, release));
}

#[test]
fn the_oldest_lock_is_kept_and_spare_ones_are_released_once_it_is_recorded() {
    let locks = [lock("c", 4, 3), lock("b", 2, 1), lock("a", 3, 1), lock("d", 5, 4)];
    let pool = pool(1, 9);
    let request = || AllocationRequest::of(&pool);
    check(&[], &request(), None, &[]);
    check(&locks, &request(), Some("a"), &[]);
    check(&locks, &request().recorded(Some(3)), Some("a"), &["c", "b", "d"]);
    check(&locks, &request().recorded(Some(4)), Some("c"), &["b", "a", "d"]);
    check(&locks, &request().recorded(Some(4)).in_use(|member| *member == 5), Some("c"), &["b", "a"]);
}

/// The recorded lock was lost and created again: until the owner records the new one, another
/// controller may be about to record a spare one.
#[test]
fn a_record_of_another_lock_releases_nothing() {
    let locks = [lock("a", 3, 1), lock("b", 4, 2)];
    let pool = pool(1, 9);
    let recorded = |uid| AllocationRequest::of(&pool).recorded_under(Some(4), Some(Uid::new(uid).unwrap()));
    check(&locks, &recorded("former"), Some("a"), &[]);
    check(&locks, &recorded("b"), Some("b"), &["a"]);
}

#[test]
fn a_lock_outside_the_pool_is_released_after_its_last_use() {
    let (old, new) = (lock("old", 2, 1), lock("new", 12, 2));
    let pool = pool(11, 19);
    let request = || AllocationRequest::of(&pool);
    check(std::slice::from_ref(&old), &request().recorded(Some(2)), None, &[]);
    check(std::slice::from_ref(&old), &request(), None, &["old"]);
    let both = [old, new];
    check(&both, &request().recorded(Some(2)), Some("new"), &[]);
    check(&both, &request().recorded(Some(12)).in_use(|member| *member == 2), Some("new"), &[]);
    check(&both, &request().recorded(Some(12)), Some("new"), &["old"]);
}
