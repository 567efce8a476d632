//! The controllers that ended although the server runs, for health checks.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery_sync::Mutex;

use crate::server::Shared;

/// A server-side controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Controller {
    Definitions,
    Events,
    GarbageCollector,
    Interests,
    Namespaces,
    Quotas,
    Roles,
    Webhooks,
}

/// The controllers that ended.
pub(crate) struct EndedControllers(Mutex<BTreeSet<Controller>>);

impl EndedControllers {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }
}

/// Returns the controllers that ended: by a panic, or because the server stops.
pub(crate) fn ended(shared: &Shared) -> Vec<Controller> {
    shared.ended.0.lock().iter().copied().collect()
}

/// Records the end of a controller when dropped, also by a panic.
pub(super) struct RunningController {
    shared: Arc<Shared>,
    controller: Controller,
}

impl RunningController {
    pub(super) fn new(shared: &Arc<Shared>, controller: Controller) -> Self {
        Self { shared: shared.clone(), controller }
    }
}

impl Drop for RunningController {
    fn drop(&mut self) {
        self.shared.ended.0.lock().insert(self.controller);
    }
}
