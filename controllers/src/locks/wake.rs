//! Hand-over of released names to waiters.

use std::future::Future;
use std::time::Duration;

use machinery_informers::Informer;
use machinery_informers::deliver::Delivery;
use machinery_objects::{Object, ObjectKey, ResourceVersion};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{LockKey, NameLocks};
use crate::Controller;

/// Interval of checks for names released without an event: a lock created and deleted between two
/// deliveries makes none.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The cause of such a run.
const CAUSE: &&str = &"a name is free";

impl<K: LockKey, L: Object> NameLocks<K, L> {
    /// Requests a run of the controller for each waiter of a released name, in order, until the
    /// token is cancelled or the [informer](Self::informer) stops.
    ///
    /// `owners` contains all objects that the controller claims for; waiters without an object are
    /// removed. Call it once per set of locks, as a waiter is notified by one call only.
    pub fn wake<O: Object, S>(
        &self,
        controller: &Controller<ObjectKey, S>,
        owners: &Informer<O>,
        stopping: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<K, L, O, S> {
        // At the call: a claim before the first poll of the future is not a claim without it.
        self.0.wakes.call();
        let (locks, controller, owners) = (self.clone(), controller.clone(), owners.clone());
        async move { locks.notify_waiters(&controller, &owners, stopping).await }
    }

    async fn notify_waiters<O: Object, S>(
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
                    // An unsynced cache lacks owners, whose waiters would all be removed.
                    if owners.is_synced() {
                        self.0.waiters.retain(|owner| owners.get(owner).is_some());
                    }
                    self.free()
                }
                event = events.next() => match event {
                    None => return,
                    Some(Delivery::Event(name, event)) if !event.is_present() => vec![name],
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

    /// Returns the awaited names that are free according to the cache.
    fn free(&self) -> Vec<ObjectKey> {
        let informer = &self.0.informer;
        // Read before the look-ups, which then see this version or a later one.
        let version = informer.state().version;
        let waited = self.0.waiters.awaited_names().into_iter();
        let free = waited
            .filter(|(name, seen)| is_free(informer.get(name).is_some(), seen.as_ref(), version.as_ref()));
        free.map(|(name, _)| name).collect()
    }
}

/// Returns whether a lock that was seen at a version is deleted in the cache. `false` if the cache
/// has not reached that version.
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
