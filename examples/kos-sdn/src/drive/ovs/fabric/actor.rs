//! The actor that owns the observation of the switch.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use machinery::tokio::sync::mpsc;
use machinery::tokio::time::{Instant, sleep};

use super::backoff::FailureBackoff;
use super::convergence::{Convergence, converge};
use super::examination::Examination;
use super::neighbours::TunnelEnds;
use super::observer::Observer;
use super::request::{FoundInterface, Request, Respond};
use super::shared::Shared;
use super::suspicion::{Suspicion, Suspicions};
use super::{FabricLimits, SwitchConnections};
use crate::drive::ovs::links::{LinkPlace, NamespaceName};
use crate::drive::{BrokenInterface, FabricError, InterfaceBook, InterfaceList};
use crate::plan::ovs::{Attempts, Scope, SwitchSettings, next_stage, place_of, rebuilt_interfaces};
use crate::plan::{AddressKey, Interface, local_cookie, remote_cookie};

/// Executes requests in batches, one run at a time.
pub(super) struct Actor {
    settings: Arc<SwitchSettings>,
    limits: FabricLimits,
    connections: SwitchConnections,
    shared: Arc<Shared>,
    observer: Observer,
    backoff: FailureBackoff,
    ends: TunnelEnds,
    suspicions: Suspicions,
    /// The desired interfaces.
    book: InterfaceBook,
    is_loaded: bool,
    /// Interfaces that could not be completed.
    broken: BTreeMap<AddressKey, FabricError>,
}

/// Waits for a series of changes to end.
async fn settled(suspicions: &Suspicions, time: std::time::Duration) {
    suspicions.wait().await;
    sleep(time).await;
}

/// The requests of one run.
#[derive(Default)]
struct Batch {
    keys: BTreeSet<AddressKey>,
    places: BTreeSet<NamespaceName>,
    creations: Vec<(Interface, Respond<()>)>,
    deletions: Vec<(Interface, Respond<()>)>,
    reconciliations: Vec<Respond<crate::drive::FabricRepairs>>,
}

impl Actor {
    pub(super) fn new(
        (settings, limits): (Arc<SwitchSettings>, FabricLimits),
        connections: SwitchConnections,
        shared: Arc<Shared>,
        suspicions: Suspicions,
    ) -> Self {
        Self {
            observer: Observer::new(connections.clone(), suspicions.clone()),
            backoff: FailureBackoff::new(limits.backoff),
            ends: TunnelEnds::default(),
            book: InterfaceBook::new(limits.interfaces),
            is_loaded: false,
            broken: BTreeMap::new(),
            settings,
            limits,
            connections,
            shared,
            suspicions,
        }
    }

    /// Returns the nodes that tunnels lead to.
    pub(super) const fn tunnel_ends(&self) -> &TunnelEnds {
        &self.ends
    }

    /// Runs until all senders of requests are gone. Dropping the future leaves the current run half
    /// done; the next load completes it.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let suspicions = self.suspicions.clone();
        let mut pending = VecDeque::new();
        let mut settle = self.limits.settle;
        loop {
            if pending.is_empty() {
                machinery::tokio::select! {
                    biased;
                    request = requests.recv() => match request {
                        Some(request) => pending.push_back(request),
                        None => return,
                    },
                    () = settled(&suspicions, settle) => {
                        let began = Instant::now();
                        self.examine(&suspicions.take()).await;
                        // Examinations take a tenth of the time at most.
                        settle = self.limits.settle.max(began.elapsed() * 10);
                        continue;
                    }
                }
            }
            while pending.len() < self.limits.requests
                && let Ok(request) = requests.try_recv()
            {
                pending.push_back(request);
            }
            self.execute(&mut pending).await;
        }
    }

    /// Executes the requests that do not depend on each other, and leaves the rest.
    async fn execute(&mut self, pending: &mut VecDeque<Request>) {
        if let Err(error) = self.load().await {
            return pending.drain(..).for_each(|request| request.fail(error.clone()));
        }
        if let Err(error) = self.backoff.check() {
            // Reads need no switch.
            let (lists, others): (Vec<_>, Vec<_>) = pending
                .drain(..)
                .partition(|one| matches!(one, Request::List(_) | Request::Find(..) | Request::Owners(..)));
            others.into_iter().for_each(|request| request.fail(error.clone()));
            pending.extend(lists);
        }
        let mut batch = Batch::default();
        let mut later = VecDeque::new();
        for request in pending.drain(..) {
            // A second request for an address depends on the result of the first.
            let depends = request.key().is_some_and(|key| batch.keys.contains(&key));
            match request {
                request if depends || !later.is_empty() => later.push_back(request),
                Request::List(respond) => drop(respond.send(Ok(self.list()))),
                Request::Find(key, respond) => drop(respond.send(Ok(self.find(&key)))),
                Request::Owners(cookies, respond) => drop(respond.send(Ok(self.owners(&cookies)))),
                Request::Reconcile(respond) => batch.reconciliations.push(respond),
                Request::Create(interface, respond) => self.admit(&mut batch, interface, respond),
                Request::Delete(interface, respond) => self.dismiss(&mut batch, interface, respond),
            }
        }
        *pending = later;
        if !(batch.keys.is_empty() && batch.reconciliations.is_empty()) {
            self.complete(batch).await;
            self.publish();
        }
    }

    /// Adds an interface to the desired ones. A broken one is repaired instead.
    fn admit(&mut self, batch: &mut Batch, interface: Interface, respond: Respond<()>) {
        let key = interface.key();
        let is_broken = self.broken.contains_key(&key) && self.book.get(&key) == Some(&interface);
        if !is_broken && let Err(error) = self.book.add(interface.clone()) {
            return drop(respond.send(Err(error)));
        }
        batch.keys.insert(key);
        batch.creations.push((interface, respond));
    }

    /// Removes an interface from the desired ones. Another one of its address stays.
    fn dismiss(&mut self, batch: &mut Batch, interface: Interface, respond: Respond<()>) {
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
    async fn complete(&mut self, batch: Batch) {
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
                    self.shared.disturbance.clear();
                }
            }
            // Anything may be half done.
            Err(_) => self.observer.forget(),
        }
        result
    }

    /// Rebuilds the desired interfaces from the switch, once.
    async fn load(&mut self) -> Result<(), FabricError> {
        if self.is_loaded {
            return Ok(());
        }
        self.observer.observe(&self.settings, &self.book, &Scope::All).await?;
        let (settings, observed) = (&self.settings, &self.observer.switch);
        let nothing = InterfaceBook::new(0);
        let attempts = Attempts { is_exhausted: true, ..Attempts::default() };
        let plan = next_stage(settings, &nothing, observed, (&Scope::All, &attempts));
        if let Some(fault) = plan.fault {
            return Err(fault);
        }
        self.book = rebuilt_interfaces(settings, observed, self.limits.interfaces);
        let plan = next_stage(settings, &self.book, observed, (&Scope::All, &attempts));
        self.broken = plan.broken;
        if plan.stage.is_some() {
            self.shared.disturbance.raise();
        }
        self.is_loaded = true;
        self.publish();
        Ok(())
    }

    /// Compares the switch with the desired interfaces, without changes.
    async fn examine(&mut self, suspicion: &Suspicion) {
        if !self.is_loaded {
            return;
        }
        let mut examination = Examination {
            settings: &self.settings,
            observer: &mut self.observer,
            book: &self.book,
            broken: &self.broken,
        };
        match examination.is_disturbed(suspicion).await {
            Ok(true) => self.shared.disturbance.raise(),
            Ok(false) => {}
            // Another change follows when the connection is back.
            Err(error) => {
                tracing::debug!(%error, "the switch cannot be examined");
                self.observer.forget();
            }
        }
        self.publish();
    }

    fn list(&self) -> InterfaceList {
        let mut list = self.book.listed();
        list.locals.retain(|local| !self.broken.contains_key(&Interface::Local(local.clone()).key()));
        list.remotes.retain(|remote| !self.broken.contains_key(&Interface::Remote(remote.clone()).key()));
        list.broken = self.broken();
        list
    }

    fn find(&self, key: &AddressKey) -> FoundInterface {
        let interface = self.book.get(key).cloned();
        let number = |name: &str| self.observer.switch.ports.as_ref()?.get(name).copied();
        let port = match &interface {
            Some(Interface::Local(local)) => number(&local.name),
            _ => None,
        };
        FoundInterface { interface, port, tunnel: number(&self.settings.tunnel_port()) }
    }

    fn owners(&self, cookies: &BTreeSet<u64>) -> BTreeMap<u64, Interface> {
        let owner = |interface: &Interface| match interface {
            Interface::Local(local) => local_cookie(local.mac),
            Interface::Remote(remote) => remote_cookie(remote.mac),
        };
        let owned = self.book.iter().map(|(_, interface)| (owner(interface), interface));
        owned
            .filter(|(cookie, _)| cookies.contains(cookie))
            .map(|(cookie, interface)| (cookie, interface.clone()))
            .collect()
    }

    fn broken(&self) -> Vec<BrokenInterface> {
        let interface = |(key, error): (&AddressKey, &FabricError)| {
            Some(BrokenInterface { interface: self.book.get(key)?.clone(), error: error.clone() })
        };
        self.broken.iter().filter_map(interface).collect()
    }

    fn namespace_of(&self, interface: &Interface) -> Option<NamespaceName> {
        let Interface::Local(local) = interface else { return None };
        match place_of(&self.settings, local) {
            Ok(LinkPlace::Workload(name)) => Some(name),
            _ => None,
        }
    }

    fn publish(&self) {
        let hosts = self.book.iter().filter_map(|(_, interface)| match interface {
            Interface::Remote(remote) => Some(remote.host),
            Interface::Local(_) => None,
        });
        let ports = self.observer.switch.ports.as_ref();
        let tunnel = ports.and_then(|ports| ports.get(&self.settings.tunnel_port()).copied());
        self.ends.set(hosts.collect(), tunnel);
        let mut view = self.shared.view.lock();
        view.broken = self.broken();
        let ports = ports.map_or(0, |ports| ports.len());
        // Without the tunnel port and the local port.
        (view.ports, view.flows) = (ports.saturating_sub(2), self.observer.switch.flows.len());
    }
}
