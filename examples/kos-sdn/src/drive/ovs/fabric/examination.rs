//! Comparison of the switch with the desired interfaces, without changes.

use std::collections::{BTreeMap, BTreeSet};

use super::observer::Observer;
use super::suspicion::Suspicion;
use crate::drive::ovs::links::{LinkPlace, NamespaceName};
use crate::drive::{FabricError, InterfaceBook};
use crate::plan::ovs::{Attempts, Scope, SwitchSettings, next_stage, place_of};
use crate::plan::{AddressKey, Interface};

/// The state that an examination compares.
pub(super) struct Examination<'a> {
    pub(super) settings: &'a SwitchSettings,
    pub(super) observer: &'a mut Observer,
    pub(super) book: &'a InterfaceBook,
    pub(super) broken: &'a BTreeMap<AddressKey, FabricError>,
}

impl Examination<'_> {
    /// Returns whether a repair would change anything.
    ///
    /// # Errors
    /// The switch cannot be observed.
    pub(super) async fn is_disturbed(&mut self, suspicion: &Suspicion) -> Result<bool, FabricError> {
        if suspicion.are_links {
            self.observer.expire_links();
        }
        let scope = match suspicion.are_links {
            true => Scope::All,
            false => self.suspected(suspicion),
        };
        self.observer.observe(self.settings, self.book, &scope).await?;
        let plan = next_stage(
            self.settings,
            self.book,
            &self.observer.switch,
            (&Scope::All, &self.known_failures()),
        );
        Ok(plan.stage.is_some())
    }

    /// Returns the interfaces whose links may have changed.
    fn suspected(&self, suspicion: &Suspicion) -> Scope {
        let (mut keys, mut places) = (BTreeSet::<AddressKey>::new(), BTreeSet::<NamespaceName>::new());
        if suspicion.links.is_empty() && suspicion.namespaces.is_empty() {
            return Scope::Some { keys, places };
        }
        for local in self.book.local_interfaces() {
            let is_suspected = suspicion.links.contains(&local.name)
                || matches!(place_of(self.settings, local), Ok(LinkPlace::Workload(name)) if suspicion.namespaces.contains(&name));
            if is_suspected {
                keys.insert(Interface::Local(local.clone()).key());
            }
        }
        // Namespaces that were left behind, and others that are ours no longer.
        places.extend(suspicion.namespaces.iter().filter(|name| self.observer.has_namespace(name)).cloned());
        Scope::Some { keys, places }
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
