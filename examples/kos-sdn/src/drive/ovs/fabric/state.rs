//! The interfaces of the fabric, and its view of the switch.

use std::collections::{BTreeMap, BTreeSet};

use machinery::controllers::{ItemChange, Progress};

use super::convergence::{Convergence, converge};
use super::datapath_cache::purge_after;
use super::handle::Inner;
use super::observer::Observer;
use crate::drive::ovs::links::{LinkPlace, NamespaceName};
use crate::drive::{
    BrokenInterface, FabricError, FabricRepairs, InterfaceBatch, InterfaceBook, InterfaceList,
};
use crate::plan::ovs::{Attempts, Scope, SwitchSettings, next_stage, place_of, rebuilt_interfaces};
use crate::plan::{AddressKey, Interface};

/// The interfaces that the switch should have, and the last observation. One call at a time uses
/// it.
pub(super) struct FabricState {
    pub(super) observer: Observer,
    /// The interfaces listed at start, and those applied since.
    pub(super) book: InterfaceBook,
    is_loaded: bool,
    /// Interfaces that could not be completed.
    broken: BTreeMap<AddressKey, FabricError>,
    /// Whether a call was dropped half-way.
    is_torn: bool,
}

impl FabricState {
    pub(super) const fn new(observer: Observer, limit: usize) -> Self {
        let book = InterfaceBook::new(limit);
        Self { observer, book, is_loaded: false, broken: BTreeMap::new(), is_torn: false }
    }

    /// Lists the interfaces that the switch has.
    pub(super) async fn list(&mut self, of: &Inner) -> Result<InterfaceList, FabricError> {
        self.observer.observe(&of.settings, &self.book, &Scope::All, true).await?;
        let (settings, observed) = (&of.settings, &self.observer.switch);
        let attempts = Attempts { is_exhausted: true, ..Attempts::default() };
        let book = rebuilt_interfaces(settings, observed, of.limits.interfaces);
        let plan = next_stage(settings, &book, observed, (&Scope::All, &attempts));
        if let Some(fault) = plan.fault {
            return Err(fault);
        }
        if !self.is_loaded {
            (self.book, self.broken, self.is_loaded) = (book.clone(), plan.broken.clone(), true);
            if plan.stage.is_some() {
                of.suspicions.suspect_switch();
            }
        }
        Ok(listed(&book, &plan.broken))
    }

    async fn load(&mut self, of: &Inner) -> Result<(), FabricError> {
        if std::mem::take(&mut self.is_torn) {
            self.observer.forget();
        }
        if self.is_loaded { Ok(()) } else { self.list(of).await.map(drop) }
    }

    /// Applies changes of interfaces in one run.
    pub(super) async fn apply(&mut self, of: &Inner, batch: &InterfaceBatch) -> Result<(), FabricError> {
        self.load(of).await?;
        let (mut keys, mut places) = (BTreeSet::new(), BTreeSet::new());
        for ItemChange { key, from, to } in batch.changes() {
            self.book.set(*key, to.clone());
            keys.insert(*key);
            places.extend(from.as_ref().and_then(|from| namespace_of(&of.settings, from)));
        }
        let scope = Scope::Some { keys, places };
        let done = match self.converge(of, (&scope, Attempts::default()), batch.progress()).await {
            Ok(done) => done,
            Err(error) => {
                // Until the actuator tries again, a repair creates nothing new.
                let new = batch.changes().iter().filter(|change| change.from.is_none());
                new.for_each(|change| self.book.set(change.key, None));
                return Err(error);
            }
        };
        for ItemChange { key, from, to } in batch.changes() {
            let namespace = from.as_ref().filter(|_| to.is_none());
            let namespace = namespace.and_then(|from| namespace_of(&of.settings, from));
            let error = done.broken.get(key).or_else(|| done.namespaces.get(&namespace?)).cloned();
            batch.report(key, error.map_or(Ok(()), Err));
        }
        Ok(())
    }

    /// Compares everything, and repairs it. Interfaces that failed for good reason are retried by
    /// batches of their own.
    pub(super) async fn repair(
        &mut self,
        of: &Inner,
        progress: &Progress,
    ) -> Result<FabricRepairs, FabricError> {
        self.load(of).await?;
        let suspicion = of.suspicions.take();
        self.observer.observe_suspected(&of.settings, &self.book, &suspicion).await?;
        let attempts = self.known_failures(&of.settings);
        let known: Vec<_> =
            attempts.failed.iter().filter_map(|key| Some((*key, self.broken.get(key)?.clone()))).collect();
        let done = self.converge(of, (&Scope::All, attempts), progress).await?;
        self.broken.extend(known);
        purge_after(&done.repairs, &*of.connections.control).await;
        Ok(done.repairs)
    }

    async fn converge(
        &mut self,
        of: &Inner,
        (scope, attempts): (&Scope, Attempts),
        progress: &Progress,
    ) -> Result<Convergence, FabricError> {
        self.is_torn = true;
        let result = converge(
            (&of.settings, &of.limits),
            (&of.connections, progress),
            &mut self.observer,
            (&self.book, scope, attempts),
        )
        .await;
        // After a failure anything may be half done.
        self.is_torn = result.is_err();
        let done = result?;
        self.broken.retain(|key, _| !scope.covers(key));
        self.broken.extend(done.broken.iter().map(|(key, error)| (*key, error.clone())));
        Ok(done)
    }

    /// Interfaces whose failure another repair would meet again.
    fn known_failures(&self, settings: &SwitchSettings) -> Attempts {
        let is_final = |error: &FabricError| {
            !matches!(error, FabricError::Foreign { .. } | FabricError::Unavailable { .. })
        };
        let failed = self.broken.iter().filter(|(_, error)| is_final(error));
        let failed: BTreeSet<_> = failed.map(|(key, _)| *key).collect();
        let is_remote = |key: &AddressKey| matches!(self.book.get(key), Some(Interface::Remote(_)));
        let tunnel = failed.iter().any(is_remote).then(|| settings.tunnel_port());
        Attempts { names: tunnel.into_iter().collect(), failed, ..Attempts::default() }
    }

    /// Returns the broken interfaces.
    pub(super) fn broken(&self) -> Vec<BrokenInterface> {
        broken(&self.book, &self.broken)
    }
}

fn listed(book: &InterfaceBook, errors: &BTreeMap<AddressKey, FabricError>) -> InterfaceList {
    let mut list = book.listed();
    list.locals.retain(|local| !errors.contains_key(&Interface::Local(local.clone()).key()));
    list.remotes.retain(|remote| !errors.contains_key(&Interface::Remote(remote.clone()).key()));
    list.broken = broken(book, errors);
    list
}

fn broken(book: &InterfaceBook, errors: &BTreeMap<AddressKey, FabricError>) -> Vec<BrokenInterface> {
    let interface = |(key, error): (&AddressKey, &FabricError)| {
        Some(BrokenInterface { interface: book.get(key)?.clone(), error: error.clone() })
    };
    errors.iter().filter_map(interface).collect()
}

/// Returns the namespace of an interface's workload.
fn namespace_of(settings: &SwitchSettings, interface: &Interface) -> Option<NamespaceName> {
    let Interface::Local(local) = interface else { return None };
    match place_of(settings, local) {
        Ok(LinkPlace::Workload(name)) => Some(name),
        _ => None,
    }
}
