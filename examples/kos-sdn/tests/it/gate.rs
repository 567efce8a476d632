//! A gate for all effects of a component, its writes and its fabric calls, that can simulate a
//! crash at any of them.

use std::future::pending;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use async_trait::async_trait;
use http::{Method, Request};
use kos::drive::{Fabric, FabricError, FabricRepairs, FabricStatus, InterfaceList};
use kos::plan::{AddressKey, LocalInterface, RemoteInterface};
use machinery::Plane;
use machinery::apiserver::{ApiServer, Identity};
use machinery::controllers::{Disturbance, Progress};
use machinery::kube::kube_client::Client;
use machinery::kube::kube_client::client::Body;
use tokio::sync::SetOnce;
use tower::{ServiceExt as _, service_fn};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Side {
    Before,
    After,
}

/// Counts effects, and blocks all from the crash on.
#[derive(Default)]
pub(crate) struct Gate {
    effects: AtomicUsize,
    crash_at: Option<(usize, Side)>,
    crashed: SetOnce<()>,
}

impl Gate {
    pub(crate) fn crashing(at: Option<(usize, Side)>) -> Arc<Self> {
        Arc::new(Self { crash_at: at, ..Self::default() })
    }

    pub(crate) fn effects(&self) -> usize {
        self.effects.load(SeqCst)
    }

    pub(crate) fn has_crashed(&self) -> bool {
        self.crashed.get().is_some()
    }

    pub(crate) async fn pass<T>(&self, effect: impl Future<Output = T> + Send) -> T {
        if self.has_crashed() {
            return pending().await;
        }
        let nth = self.effects.fetch_add(1, SeqCst) + 1;
        if self.crash_at == Some((nth, Side::Before)) {
            return self.crash().await;
        }
        let done = effect.await;
        if self.crash_at == Some((nth, Side::After)) {
            return self.crash().await;
        }
        done
    }

    async fn crash<T>(&self) -> T {
        let _ = self.crashed.set(());
        pending().await
    }
}

/// A plane on a server; its writes of our kinds pass a gate.
pub(crate) async fn plane(server: &ApiServer, gate: &Arc<Gate>) -> Plane {
    let (service, gate) = (server.service(Identity::admin()), gate.clone());
    let gated = service_fn(move |request: Request<Body>| {
        let (sent, gate) = (service.clone(), gate.clone());
        async move {
            let is_effect =
                request.method() != Method::GET && request.uri().path().contains(kos::model::GROUP);
            let answered = sent.oneshot(request);
            if is_effect { gate.pass(answered).await } else { answered.await }
        }
    });
    machinery::kube_client(Client::new(gated, "n")).start().await.unwrap()
}

/// A fabric behind a gate.
pub(crate) struct Gated<F>(pub(crate) F, pub(crate) Arc<Gate>);

#[async_trait]
impl<F: Fabric> Fabric for Gated<F> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    async fn create_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.1.pass(self.0.create_local(interface)).await
    }

    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.1.pass(self.0.delete_local(interface)).await
    }

    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.1.pass(self.0.create_remote(interface)).await
    }

    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.1.pass(self.0.delete_remote(interface)).await
    }

    async fn list(&self) -> Result<InterfaceList, FabricError> {
        self.0.list().await
    }

    async fn repair(&self, progress: &Progress) -> Result<FabricRepairs, FabricError> {
        self.0.repair(progress).await
    }

    async fn disturbed(&self) -> Disturbance {
        self.0.disturbed().await
    }

    async fn status(&self) -> FabricStatus {
        self.0.status().await
    }

    async fn ping(&self, from: AddressKey, to: Ipv4Addr, sequence: u16) -> Result<(), FabricError> {
        self.0.ping(from, to, sequence).await
    }
}
