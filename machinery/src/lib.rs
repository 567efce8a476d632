//! A control plane in one crate: server or cluster, shared informers and controllers.
//!
//! A [`Plane`] combines the objects of an embedded server or any cluster, one shared informer per
//! type, and controllers. [`kinds!`] derives kinds from structs. The underlying crates are
//! re-exported under their names.
//!
//! The counterparts of controller-runtime: `Manager` ([`Plane`]), `Builder` ([`PlaneController`])
//! with predicates and map functions, `client.Client` ([`Objects`]), the event recorder
//! ([`Plane::recorder`]), and leader election ([`Plane::elector`], [`Plane::lead`]).
//!
//! # Promises
//!
//! Tests are found by the prefix `p01_…` to `p20_…`, in `tests/it/`.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | A program runs unchanged on an embedded server and on a cluster | `p01_…` ¹ |
//! | 2 | A type has one informer, shared by all readers, configurable before its first use | `p02_…` |
//! | 3 | Shutdown is ordered and bounded, reports unfinished tasks, and follows a drop | `p03_…` |
//! | 4 | Metrics, health and the explanation of each object's runs are exposed | `p04_…` |
//! | 5 | Names are claimed on both transports; a release reconciles the waiters | `p05_…` |
//! | 6 | Led controllers start and stop with a term and write under its fence ² | `p06_…` |
//! | 7 | A note about an object becomes an Event | `p07_…` |
//! | 8 | Predicates drop no deletion and no finalizer change; requests need no objects | `p08_…` |
//! | 9 | One trace spans a client's write, the reconcile and its writes, up to a collector | `p09_…` ³ |
//! | 10 | A program needs this crate as its only dependency | `cargo xtask test quickstart` ⁴ |
//! | 11 | A mistake of a new user is an early error or a report, each with its remedy ⁵ | `p11_…` |
//! | 12 | A component is crashed before and after each of its effects, and restarted ⁶ | `p12_…` |
//! | 13 | Invariants are checked at every commit, in order, and at rest ⁶ | `p13_…` |
//! | 14 | Timestamps of a plane on a paused clock agree with it; planes can share a server ⁶ | `p14_…` |
//! | 15 | A wait for a condition on cached objects ends with its first state | `p15_…` |
//! | 16 | A kind may be defined and deleted while its controllers run; none is lost or stuck | `p16_…` |
//! | 17 | The server is configured; one object is watched alone; passwords stay in their object | `p17_…` |
//! | 18 | One source defines a kind for an embedded server and any cluster, mistakes fail at the start | `p18_…` |
//! | 19 | Definitions on a cluster are compared, and updated only compatibly and on request | `p19_…` |
//! | 20 | Controllers write the fields of a status that they own, and keep those of others | `p20_…` |
//! | 50 | Components in other processes have a role, an identity and a kubeconfig each | `p50_…` |
//! | 51 | Page, dashboard and table of metrics derive from their declarations | `p51_…` |
//!
//! - ¹ On Kubernetes itself by `cargo xtask kubernetes`.
//! - ² Controllers of one Lease start and stop together, with warm caches. [`Objects::fenced`]
//!   combines fences for every kind of write; a server without fences receives no such write.
//! - ³ With the feature `otel`.
//! - ⁴ A crate outside of this workspace.
//! - ⁵ Kinds that are not served, fields that are not selectable, objects that cannot be decoded,
//!   locks that their owners cannot own or whose release notifies nobody, a port in use.
//! - ⁶ With the feature `testing`; design: `docs/designs/032-test-kit.md`.
//!
//! # Non-goals
//!
//! Functionality of a single part is in its own crate, which can be used alone.
//!
//! # Example
//!
//! ```
//! # #[cfg(all(feature = "embedded", feature = "logs"))]
//! # mod example {
//! use machinery::{Next, Objects, Run};
//! use std::sync::Arc;
//!
//! machinery::kinds! {
//!     #[kube(
//!         group = "example.com", version = "v1", kind = "Host", namespaced,
//!         status = "HostStatus"
//!     )]
//!     pub struct HostSpec {
//!         rack: u32,
//!     }
//!     pub struct HostStatus {
//!         address: String,
//!     }
//! }
//!
//! async fn set_address(
//!     hosts: Objects<Host>,
//!     host: Arc<Host>,
//!     run: Run,
//! ) -> machinery::Result<Next> {
//!     let address = format!("10.0.{}.1", host.spec.rack);
//!     if host.status.as_ref().is_none_or(|status| status.address != address) {
//!         let host = Host { status: Some(HostStatus { address }), ..(*host).clone() };
//!         let written = hosts.update_status(&host).await?;
//!         run.wrote(&written.token, &hosts);                      // the next run sees it
//!     }
//!     Ok(Next::Done)
//! }
//!
//! pub async fn example() -> machinery::Result {
//!     machinery::logs();                                          // or a subscriber of your own
//!     // or machinery::from_args(), on a cluster too
//!     let plane = machinery::embedded().kinds::<(Host,)>().start().await?;
//!     let hosts = plane.objects::<Host>()?;
//!     let controller = plane.controller::<Host>("hosts")?;
//!     let reconcile = machinery::with(hosts.clone(), set_address);
//!     // the plane waits for the task at shutdown, and stops if it fails
//!     plane.spawn(async { controller.run(reconcile).await.map(drop) });
//! #   let mut host = Host::new("db-0", HostSpec { rack: 17 });
//! #   host.metadata.namespace = Some("default".into());
//! #   hosts.create(&host).await?;
//! #   let key = "default/db-0".parse()?;
//! #   while hosts.get(&key).is_none_or(|host| host.status.is_none()) {
//! #       tokio::task::yield_now().await
//! #   }
//! #   assert_eq!(hosts.get(&key).unwrap().status.as_ref().unwrap().address, "10.0.17.1");
//!     plane.stop().await;                                         // or shutdown_on_signal()
//!     Ok(())
//! }
//! # }
//! # #[cfg(all(feature = "embedded", feature = "logs"))]
//! # tokio::runtime::Builder::new_current_thread()
//! #     .enable_all()
//! #     .build()
//! #     .unwrap()
//! #     .block_on(example::example())
//! #     .unwrap();
//! ```
//!
//! Guides are in `docs/guides/`: `first-controller.md`, `names-and-leases.md`,
//! `a-whole-controller.md`, `crash-points.md`, `test-under-faults.md`, `use-the-parts.md`,
//! `from-kube-rs.md`, `from-controller-runtime.md`; and `test-a-controller.md`, for testing a
//! kube-rs controller against the server alone.
//!
//! # Features
//!
//! - `diagnostics` (default): the diagnostics pages of a plane.
//! - `embedded` (default): the API server and the store.
//! - `logs` (default): [`logs`], logs on standard error.
//! - `server`: that server on a socket.
//! - `report`: plots, a progress bar and text tables for command-line programs.
//! - `kube`: any Kubernetes cluster, by the same ports.
//! - `webhook`: admission as a webhook of another cluster
//!   ([`WebhookServer`](apiserver::WebhookServer)).
//! - `otel`: span export to an OpenTelemetry collector.
//! - `testing`: the test kit (`machinery::testing`), faulty sources
//!   (`machinery::informers::testing`), and tokio's paused clock.
//!
//! Without both `embedded` and `kube` there is no [`Plane`], only the re-exported crates.

extern crate self as machinery;

#[cfg(any(feature = "embedded", feature = "kube"))]
#[cfg_attr(not(feature = "diagnostics"), allow(dead_code, reason = "only the pages read the diagnostics"))]
mod diagnostics;
mod kind;
#[cfg(feature = "logs")]
mod logs;
#[cfg(feature = "otel")]
pub mod otel;
#[cfg(any(feature = "embedded", feature = "kube"))]
mod plane;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "embedded")]
pub use machinery_apiserver as apiserver;
pub use machinery_controllers as controllers;
pub use machinery_informers as informers;
#[cfg(feature = "kube")]
pub use machinery_kube as kube;
pub use machinery_metrics as metrics;
#[doc(inline)]
pub use machinery_metrics::metrics;
pub use machinery_objects as objects;
#[cfg(feature = "report")]
pub use machinery_report as report;
#[cfg(feature = "embedded")]
pub use machinery_store as store;
pub use machinery_sync as sync;
pub use machinery_workqueue as workqueue;

/// Dependencies of user code, in compatible versions.
pub use {k8s_openapi, kube_core, prometheus_client, schemars, serde, serde_json, tokio, tokio_util};

#[cfg(all(feature = "diagnostics", any(feature = "embedded", feature = "kube")))]
pub use diagnostics::{DiagnosticsError, PORTS};
#[cfg(any(feature = "embedded", feature = "kube"))]
pub use diagnostics::{ExplainError, explain};
pub use kind::{
    ConditionState, Conditions, DefinitionDifference, KindDefinition, SectionWrite, SectionWrites,
    differences,
};
#[cfg(feature = "logs")]
pub use logs::logs;
pub use machinery_controllers::{Next, OwnWrites, Reconcile, ReconcileBatch, Run, Settings, changed, with};
#[cfg(any(feature = "embedded", feature = "kube"))]
pub use plane::*;

#[doc(hidden)]
pub mod derive {
    pub use kube_derive::CustomResource;
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
}

/// Returns the descriptions of the metrics of every [`Plane`]: informers, controllers, queues,
/// elections, name locks and recorders.
#[must_use]
pub fn metric_descriptions() -> Vec<metrics::Description> {
    let controllers = machinery_controllers::Metrics::descriptions();
    controllers.chain(machinery_informers::Metrics::descriptions()).collect()
}

/// The error of user code.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The result of user code.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// Includes the guides, so that their code is compiled and run.
#[cfg(all(doctest, feature = "diagnostics", feature = "embedded", feature = "kube", feature = "logs"))]
#[doc = include_str!("../../docs/guides/first-controller.md")]
struct FirstController;
#[cfg(all(doctest, feature = "diagnostics", feature = "embedded", feature = "logs"))]
#[doc = include_str!("../../docs/guides/a-whole-controller.md")]
struct AWholeController;
#[cfg(all(doctest, feature = "embedded", feature = "kube"))]
#[doc = include_str!("../../docs/guides/names-and-leases.md")]
struct NamesAndLeases;
#[cfg(all(doctest, feature = "embedded", feature = "kube"))]
#[doc = include_str!("../../docs/guides/from-kube-rs.md")]
struct FromKubeRs;
#[cfg(all(doctest, feature = "embedded", feature = "kube"))]
#[doc = include_str!("../../docs/guides/from-controller-runtime.md")]
struct FromControllerRuntime;
#[cfg(all(doctest, feature = "embedded", feature = "testing"))]
#[doc = include_str!("../../docs/guides/crash-points.md")]
struct CrashPointsGuide;
#[cfg(all(doctest, feature = "embedded", feature = "testing"))]
#[doc = include_str!("../../docs/guides/test-under-faults.md")]
struct TestUnderFaults;
#[cfg(all(doctest, feature = "embedded", feature = "kube"))]
#[doc = include_str!("../../docs/guides/use-the-parts.md")]
struct UseTheParts;
#[cfg(all(doctest, feature = "embedded", feature = "kube", feature = "logs"))]
#[doc = include_str!("../../README.md")]
struct Readme;
