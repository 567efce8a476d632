//! The one way to change a CNF's state: keep it, make the data path so, show it.

use std::sync::Arc;

use http::StatusCode;
use machinery::tokio::sync::MutexGuard;

use super::request::CnfAnswer;
use super::server::CnfServer;
use super::state::CnfState;
use super::store::ConfigStore;
use crate::drive::ApplyScope;

/// A change in progress. The state does not change otherwise as long as it is held.
pub(super) struct PendingChange<'a> {
    cnf: &'a CnfServer,
    store: MutexGuard<'a, ConfigStore>,
    before: Arc<CnfState>,
}

impl CnfServer {
    /// Begins a change, after the changes before it.
    pub(super) async fn begin(&self) -> PendingChange<'_> {
        let store = self.store.lock().await;
        PendingChange { cnf: self, before: self.state.load(), store }
    }
}

impl PendingChange<'_> {
    /// Returns the present state.
    pub(super) fn before(&self) -> &CnfState {
        &self.before
    }

    /// Commits a state with the next revision, or nothing.
    ///
    /// `scope` is the part of the data path that follows at once; `None` for configuration that
    /// waits for the restart of its service.
    pub(super) async fn commit(
        self,
        mut after: CnfState,
        scope: Option<ApplyScope>,
    ) -> Result<Arc<CnfState>, CnfAnswer> {
        after.revision = self.before.revision.saturating_add(1);
        let failed = |error: &dyn std::fmt::Display| {
            tracing::warn!(%error, "a change of the CNF's configuration failed");
            CnfAnswer::message(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
        };
        let staged = self.store.stage(&after).map_err(|error| failed(&error))?;
        if let Some(scope) = scope {
            let applied = self.cnf.apply.apply(scope, &after.config).await;
            applied.map_err(|error| failed(&error))?;
        }
        staged.place().map_err(|error| failed(&error))?;
        let after = Arc::new(after);
        self.cnf.state.swap(after.clone());
        Ok(after)
    }
}
