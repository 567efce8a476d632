//! Detects locks whose waiters nobody notifies.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use machinery_objects::{Kind, ObjectKey};

/// Whether waiters are notified, and whether the lack was logged.
#[derive(Default)]
pub(super) struct WakeStatus {
    called: AtomicBool,
    warned: AtomicBool,
}

impl WakeStatus {
    /// Records a call of [`NameLocks::wake`](super::NameLocks::wake).
    pub(super) fn call(&self) {
        self.called.store(true, Relaxed);
    }

    pub(super) fn is_called(&self) -> bool {
        self.called.load(Relaxed)
    }

    /// Logs, once, that an owner waits and nothing will notify it. Returns whether it logged.
    pub(super) fn waits(&self, locks: &Kind, name: &ObjectKey) -> bool {
        let warns = !self.is_called() && !self.warned.swap(true, Relaxed);
        if warns {
            tracing::error!(
                %locks, %name,
                "an owner waits for a name, and no controller is notified of its release: pass the locks to \
                 PlaneController::claiming, or call NameLocks::wake"
            );
        }
        warns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery_objects::Scope;

    #[test]
    fn the_lack_of_notifications_is_logged_once_and_never_with_them() {
        let kind = Kind::new("example.com/v1", "Name", "names", Scope::Namespaced).unwrap();
        let name = "n/a".parse().unwrap();
        let status = WakeStatus::default();
        assert_eq!([status.waits(&kind, &name), status.waits(&kind, &name)], [true, false]);
        let status = WakeStatus::default();
        status.call();
        assert!(!status.waits(&kind, &name));
    }
}
