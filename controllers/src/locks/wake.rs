//! Telling who waits.

use std::time::Duration;

use machinery_informers::Informer;
use machinery_informers::deliver::Told;
use machinery_objects::{Object, ObjectKey, ResourceVersion};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{LockKey, NameLocks};
use crate::Controller;

/// As often it is looked for names that came free without a word: of a lock that is made and deleted before one was told, one is told
/// nothing.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The reason that is shown of a run.
const CAUSE: &&str = &"a name is free";

impl<K: LockKey, L: Object> NameLocks<K, L> {
    /// Has a controller run for those who waited for a name when it is free, the longest waiting first; until the token is cancelled or the
    /// [informer](Self::informer) stops.
    ///
    /// `owners` has all that the controller claims names for: who is not there, or no more, waits for nothing. There is one call of this for
    /// these locks, as each who waits is told by one.
    pub async fn wake<O: Object, S>(
        &self,
        controller: &Controller<ObjectKey, S>,
        owners: &Informer<O>,
        stopping: CancellationToken,
    ) {
        let Ok(mut events) = self.0.informer.events() else { return };
        let mut checks = interval(CHECK_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let free = tokio::select! {
                biased;
                () = stopping.cancelled() => return,
                _ = checks.tick() => {
                    if owners.is_synced() {
                        self.0.waiters.retain(|owner| owners.get(owner).is_some());
                    }
                    self.free()
                }
                event = events.next() => match event {
                    None => return,
                    Some(Told::Event(name, event)) if !event.is_present() => vec![name],
                    Some(_) => continue,
                },
            };
            for owner in free.iter().flat_map(|name| self.0.waiters.notify(name)) {
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => return,
                    notified = controller.request(owner, CAUSE) => if notified { self.0.counters.woke() },
                }
            }
        }
    }

    /// The names that are waited for, and that the cache says are nobody's.
    fn free(&self) -> Vec<ObjectKey> {
        let informer = &self.0.informer;
        let version = informer.state().version;
        let waited = self.0.waiters.awaited_names().into_iter();
        let free = waited
            .filter(|(name, seen)| is_free(informer.get(name).is_some(), seen.as_ref(), version.as_ref()));
        free.map(|(name, _)| name).collect()
    }
}

/// Whether a cache says that there is no lock any more that was seen in a version. One that has not come so far does not know.
fn is_free(is_there: bool, seen: Option<&ResourceVersion>, cache: Option<&ResourceVersion>) -> bool {
    let is_behind = seen.is_some_and(|seen| cache.is_none_or(|cache| cache < seen));
    !is_there && !is_behind
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery_objects::Revision;

    #[test]
    fn a_stale_cache_does_not_release_a_name() {
        fn check(is_there: bool, seen: Option<u64>, cache: Option<u64>, expected: bool) {
            let [seen, cache] = [seen, cache].map(|at| at.map(|at| ResourceVersion::from(Revision(at))));
            assert_eq!(is_free(is_there, seen.as_ref(), cache.as_ref()), expected);
        }
        check(true, Some(3), Some(4), false);
        check(false, Some(3), Some(3), true);
        check(false, Some(3), Some(2), false);
        check(false, Some(3), None, false);
        check(false, None, Some(2), true);
    }
}
