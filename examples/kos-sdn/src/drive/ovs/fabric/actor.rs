//! The actor that owns the observation of the switch.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use machinery::tokio::sync::mpsc;
use machinery::tokio::time::{Instant, sleep_until};

use super::backoff::{FailureBackoff, RetryTimer};
use super::batch::Batch;
use super::examination::Examination;
use super::neighbours::TunnelEnds;
use super::observer::Observer;
use super::request::Request;
use super::shared::Shared;
use super::suspicion::{Suspicion, Suspicions};
use super::{FabricLimits, SwitchConnections};
use crate::drive::{FabricError, InterfaceBook};
use crate::plan::ovs::{Attempts, Scope, SwitchSettings, next_stage, rebuilt_interfaces};
use crate::plan::{AddressKey, Interface};

/// Executes requests in batches, one run at a time.
pub(super) struct Actor {
    pub(super) settings: Arc<SwitchSettings>,
    pub(super) limits: FabricLimits,
    pub(super) connections: SwitchConnections,
    pub(super) shared: Arc<Shared>,
    pub(super) observer: Observer,
    pub(super) backoff: FailureBackoff,
    pub(super) retry: RetryTimer,
    pub(super) ends: TunnelEnds,
    pub(super) suspicions: Suspicions,
    /// The desired interfaces.
    pub(super) book: InterfaceBook,
    pub(super) is_loaded: bool,
    /// Interfaces that could not be completed.
    pub(super) broken: BTreeMap<AddressKey, FabricError>,
}

/// Waits for a time; forever for none.
async fn due(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
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
            retry: RetryTimer::new(limits.backoff),
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
        let (mut settle, mut examine_at) = (self.limits.settle.0, None);
        loop {
            if pending.is_empty() {
                machinery::tokio::select! {
                    biased;
                    () = self.retry.due() => {
                        self.shared.disturbance.raise();
                        continue;
                    }
                    () = suspicions.wait(), if examine_at.is_none() => {
                        let wait = if suspicions.are_urgent() { Duration::ZERO } else { settle };
                        examine_at = Some(Instant::now() + wait);
                        continue;
                    }
                    // A deadline, so that frequent requests do not put it off.
                    () = due(examine_at) => {
                        examine_at = None;
                        let began = Instant::now();
                        self.examine(&suspicions.take()).await;
                        settle = (began.elapsed() * 10).clamp(self.limits.settle.0, self.limits.settle.1);
                        continue;
                    }
                    request = requests.recv() => match request {
                        Some(request) => pending.push_back(request),
                        None => return,
                    },
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

    /// Rebuilds the desired interfaces from the switch, once.
    async fn load(&mut self) -> Result<(), FabricError> {
        if self.is_loaded {
            return Ok(());
        }
        self.observer.observe(&self.settings, &self.book, &Scope::All, true).await?;
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
