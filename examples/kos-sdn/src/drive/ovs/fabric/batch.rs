//! The requests of one run: admission, execution and responses.

use std::collections::BTreeSet;

use super::actor::Actor;
use super::convergence::{Convergence, converge};
use super::datapath_cache::purge_after;
use super::request::Respond;
use crate::drive::ovs::links::NamespaceName;
use crate::drive::{FabricError, FabricRepairs};
use crate::plan::ovs::Scope;
use crate::plan::{AddressKey, Interface};

/// The requests of one run.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) keys: BTreeSet<AddressKey>,
    pub(super) places: BTreeSet<NamespaceName>,
    pub(super) creations: Vec<(Interface, Respond<()>)>,
    pub(super) deletions: Vec<(Interface, Respond<()>)>,
    pub(super) reconciliations: Vec<Respond<FabricRepairs>>,
}

impl Actor {
    /// Adds an interface to the desired ones. A broken one is repaired instead.
    pub(super) fn admit(&mut self, batch: &mut Batch, interface: Interface, respond: Respond<()>) {
        let key = interface.key();
        let is_broken = self.broken.contains_key(&key) && self.book.get(&key) == Some(&interface);
        if !is_broken && let Err(error) = self.book.add(interface.clone()) {
            return drop(respond.send(Err(error)));
        }
        batch.keys.insert(key);
        batch.creations.push((interface, respond));
    }

    /// Removes an interface from the desired ones. Another one of its address stays.
    pub(super) fn dismiss(&mut self, batch: &mut Batch, interface: Interface, respond: Respond<()>) {
        let key = interface.key();
        self.book.remove(&interface);
        if self.book.get(&key).is_some() {
            return drop(respond.send(Ok(())));
        }
        self.broken.remove(&key);
        batch.keys.insert(key);
        batch.places.extend(self.namespace_of(&interface));
        batch.deletions.push((interface, respond));
    }

    /// Converges the switch, and responds.
    pub(super) async fn complete(&mut self, batch: Batch) {
        let Batch { keys, places, creations, deletions, reconciliations } = batch;
        let scope = if reconciliations.is_empty() { Scope::Some { keys, places } } else { Scope::All };
        let result = self.converge(&scope).await;
        let error_of = |interface: &Interface| match &result {
            Ok(done) => done.broken.get(&interface.key()).cloned(),
            Err(error) => Some(error.clone()),
        };
        let mut abandoned = BTreeSet::new();
        let mut places = BTreeSet::new();
        for (interface, respond) in creations {
            let error = error_of(&interface);
            if error.is_some() {
                // The caller does not have it: it is removed, and may be created again.
                self.book.remove(&interface);
                self.broken.remove(&interface.key());
                abandoned.insert(interface.key());
                places.extend(self.namespace_of(&interface));
            }
            let _ = respond.send(error.map_or(Ok(()), Err));
        }
        for (interface, respond) in deletions {
            let namespace = self.namespace_of(&interface);
            let error = error_of(&interface).or_else(|| {
                let done = result.as_ref().ok()?;
                done.namespaces.get(&namespace?).cloned()
            });
            let _ = respond.send(error.map_or(Ok(()), Err));
        }
        for respond in reconciliations {
            let _ = respond.send(result.as_ref().map(|done| done.repairs).map_err(Clone::clone));
        }
        if !abandoned.is_empty() && result.is_ok() {
            let scope = Scope::Some { keys: abandoned, places };
            if let Err(error) = self.converge(&scope).await {
                tracing::warn!(%error, "a failed interface cannot be removed; the next repair removes it");
                self.shared.disturbance.raise();
            }
        } else if !abandoned.is_empty() {
            self.shared.disturbance.raise();
        }
    }

    /// Converges a scope, and records the result.
    async fn converge(&mut self, scope: &Scope) -> Result<Convergence, FabricError> {
        if scope.is_all() {
            let suspicion = self.suspicions.take();
            self.observer.observe_suspected(&self.settings, &self.book, &suspicion).await?;
        }
        let result = converge(
            (&self.settings, &self.limits),
            &self.connections,
            &mut self.observer,
            (&self.book, scope),
        )
        .await;
        self.backoff.record(result.as_ref().map(drop));
        match &result {
            Ok(done) => {
                self.broken.retain(|key, _| !scope.covers(key));
                self.broken.extend(done.broken.iter().map(|(key, error)| (*key, error.clone())));
                if scope.is_all() {
                    purge_after(&done.repairs, &*self.connections.control).await;
                    self.shared.disturbance.clear();
                    self.retry.record(!self.broken.is_empty());
                }
            }
            // Anything may be half done.
            Err(_) => self.observer.forget(),
        }
        result
    }
}
