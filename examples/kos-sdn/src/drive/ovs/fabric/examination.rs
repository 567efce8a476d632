//! Comparison of the switch with the desired interfaces, without changes.

use std::collections::{BTreeMap, BTreeSet};

use super::observer::Observer;
use super::suspicion::Suspicion;
use crate::drive::{FabricError, InterfaceBook};
use crate::plan::ovs::{Attempts, Scope, SwitchSettings, next_stage};
use crate::plan::{AddressKey, Interface};

/// The state that an examination compares.
pub(super) struct FabricExamination<'a> {
    pub(super) settings: &'a SwitchSettings,
    pub(super) observer: &'a mut Observer,
    pub(super) book: &'a InterfaceBook,
    pub(super) broken: &'a BTreeMap<AddressKey, FabricError>,
}

impl FabricExamination<'_> {
    /// Returns whether a repair would change anything.
    ///
    /// # Errors
    /// The switch cannot be observed.
    pub(super) async fn is_disturbed(&mut self, suspicion: &Suspicion) -> Result<bool, FabricError> {
        self.observer.observe_suspected(self.settings, self.book, suspicion).await?;
        let plan = next_stage(
            self.settings,
            self.book,
            &self.observer.switch,
            (&Scope::All, &self.known_failures()),
        );
        Ok(plan.stage.is_some())
    }

    /// Interfaces that failed are retried by the next repair; they do not cause one.
    fn known_failures(&self) -> Attempts {
        let is_final = |error: &FabricError| {
            !matches!(error, FabricError::Foreign { .. } | FabricError::Unavailable { .. })
        };
        let failed = self.broken.iter().filter(|(_, error)| is_final(error));
        let failed: BTreeSet<_> = failed.map(|(key, _)| *key).collect();
        let is_remote = |key: &AddressKey| matches!(self.book.get(key), Some(Interface::Remote(_)));
        let tunnel = failed.iter().any(is_remote).then(|| self.settings.tunnel_port());
        Attempts { names: tunnel.into_iter().collect(), failed, ..Attempts::default() }
    }
}
