//! What you build a control plane from: the one crate to depend on.
//!
//! A [`Plane`] is a control plane: objects, on a server in this process or on any cluster; an informer of each type, which all who read it share;
//! and controllers. [`kinds!`] makes kinds of structs. The parts are here too, under their names, for whoever wants more of one of
//! them.
//!
//! # What it promises
//!
//! 1. **The same program runs on a server of its own and on a cluster**: only how the plane begins is another
//!    (`the_same_controller_runs_on_both_roads`; on Kubernetes itself by `cargo xtask kubernetes`).
//! 2. **One informer for a type**, whoever asks, from the first who does (`all_who_read_a_type_share_an_informer`), with the indexes that were said
//!    before (`the_informer_that_all_share_has_what_was_said_before`). Whoever needs a part of each object keeps no more
//!    (`a_part_of_each_object_is_kept_on_both_roads`).
//! 3. **It ends in order**: controllers, then what they listen to, then the server (`a_plane_ends_in_order`), each within a time; what does not is
//!    named (`what_does_not_end_in_time_is_named`). One that is dropped leaves no task (`a_plane_that_is_dropped_leaves_no_task`).
//! 4. **What it does can be seen**: metrics, whether it is well, and of each object why it ran last, what came of it and when it runs next
//!    (`what_a_plane_does_can_be_seen`); and of leases, locks, informers and events (`leases_locks_recorders_and_informers_are_shown_and_counted`),
//!    beside numbers of one's own (`numbers_of_ones_own_are_on_the_page`).
//! 5. **Names are claimed on both roads**, and who waits for one runs when it is free (`names_are_claimed_on_both_roads`).
//! 6. **A controller runs where one leads**, and what it wrote under the fence of a term that is over is refused by a server that holds fences
//!    (`a_controller_runs_where_one_leads_and_writes_under_the_fence_of_its_term`). Several under one Lease begin and end together, and begin anew
//!    with the next term, on warm caches (`two_planes_take_turns_with_all_their_controllers`,
//!    `who_loses_the_lease_in_a_run_writes_nothing_and_begins_anew_with_the_next_term`).
//!    What is written by [`Objects::fenced`] rests on several fences, if need be, by all ways to write; a server that holds none is sent nothing
//!    (`writes_under_fences_are_refused_when_one_does_not_hold_on_both_roads`, `a_server_without_fences_is_sent_nothing_under_one`).
//! 7. **What is noted of an object is an event** (`what_is_noted_is_an_event`).
//! 8. **Whoever chooses which events make a run hides no deletion and no finalizer**, and what is looked at need not be an object
//!    (`a_predicate_spares_runs_and_hides_no_deletion`, `a_controller_of_requests_runs_for_what_is_no_object`).
//! 9. **One trace, from a client's write over the reconcile to what that writes**, by the ids that a collector gets
//!    (`a_collector_gets_the_tree_that_annotations_say`, with the feature `otel`).
//! 10. **A manifest needs to name no other crate** (`cargo xtask test quickstart`, a crate outside this workspace).
//!
//! # What it does not do
//!
//! What the parts can do it leaves to them. Whoever wants one part alone depends on that part.
//!
//! # Example
//!
//! ```
//! # #[cfg(feature = "embedded")]
//! # mod example {
//! use machinery::{Next, Objects, Run};
//! use std::sync::Arc;
//!
//! machinery::kinds! {
//!     #[kube(group = "example.com", version = "v1", kind = "Host", namespaced, status = "HostStatus")]
//!     pub struct HostSpec {
//!         rack: u32,
//!     }
//!     pub struct HostStatus {
//!         address: String,
//!     }
//! }
//!
//! async fn set_address(hosts: Objects<Host>, host: Arc<Host>, run: Run) -> machinery::Result<Next> {
//!     let address = format!("10.0.{}.1", host.spec.rack);
//!     if host.status.as_ref().is_none_or(|status| status.address != address) {
//!         let host = Host { status: Some(HostStatus { address }), ..(*host).clone() };
//!         run.wrote(&hosts.update_status(&host).await?.token, &hosts);         // the next run sees it
//!     }
//!     Ok(Next::Done)
//! }
//!
//! pub async fn example() -> machinery::Result {
//!     let plane = machinery::embedded().kinds::<(Host,)>().start().await?;       // or machinery::from_args(), on a cluster too
//!     let hosts = plane.objects::<Host>()?;
//!     let (controller, reconcile) = (plane.controller::<Host>("hosts")?, machinery::with(hosts.clone(), set_address));
//!     plane.spawn(async { controller.run(reconcile).await.map(drop) });            // the plane's own: it waits for it, and stops if it fails
//! #   hosts.create(&{ let mut host = Host::new("db-0", HostSpec { rack: 17 }); host.metadata.namespace = Some("default".into()); host }).await?;
//! #   let key = "default/db-0".parse()?;
//! #   while hosts.get(&key).is_none_or(|host| host.status.is_none()) { tokio::task::yield_now().await }
//! #   assert_eq!(hosts.get(&key).unwrap().status.as_ref().unwrap().address, "10.0.17.1");
//!     plane.stop().await;                                                       // or plane.until_signal()
//!     Ok(())
//! }
//! # }
//! # #[cfg(feature = "embedded")]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example::example()).unwrap();
//! ```
//!
//! Guides, in `docs/guides/`: `first-controller.md`, `names-and-leases.md`, `test-under-faults.md`, `from-kube-rs.md`,
//! `from-controller-runtime.md`. The server alone, for a controller of kube-rs that is tested without a cluster: `test-a-controller.md`.
//!
//! # Features
//!
//! `diagnostics` (default): pages of a plane on a socket. `embedded` (default): the API server and the store. `server`: that server on a
//! socket. `kube`: any Kubernetes, by the same ports. `otel`: spans for a collector of OpenTelemetry. `testing`: sources that misbehave (`machinery::informers::testing`), and tokio's clock that
//! stands still. Without both `embedded` and `kube` there is no [`Plane`], and the parts are.

extern crate self as machinery;

#[cfg(any(feature = "embedded", feature = "kube"))]
#[cfg_attr(not(feature = "diagnostics"), allow(dead_code, reason = "nobody looks at what could be shown"))]
mod diagnostics;
mod kind;
#[cfg(feature = "otel")]
pub mod otel;
#[cfg(any(feature = "embedded", feature = "kube"))]
mod plane;

#[cfg(feature = "embedded")]
pub use machinery_apiserver as apiserver;
pub use machinery_controllers as controllers;
pub use machinery_informers as informers;
#[cfg(feature = "kube")]
pub use machinery_kube as kube;
pub use machinery_objects as objects;
#[cfg(feature = "embedded")]
pub use machinery_store as store;
pub use machinery_sync as sync;
pub use machinery_workqueue as workqueue;

/// What users' own code needs beside it, in the versions that are meant.
pub use {k8s_openapi, kube_core, prometheus_client, schemars, serde, serde_json, tokio, tokio_util};

#[cfg(all(feature = "diagnostics", any(feature = "embedded", feature = "kube")))]
pub use diagnostics::DiagnosticsError;
#[cfg(any(feature = "embedded", feature = "kube"))]
pub use diagnostics::{ExplainError, explain};
pub use machinery_controllers::{Next, Reconcile, Run, Settings, changed, with};
#[cfg(any(feature = "embedded", feature = "kube"))]
pub use plane::*;

#[doc(hidden)]
pub mod derive {
    pub use kube_derive::CustomResource;
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
}

/// Whatever went wrong.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// What a program returns.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// The guides, so that their code is compiled and run.
#[cfg(all(doctest, feature = "diagnostics", feature = "embedded", feature = "kube"))]
#[doc = include_str!("../../docs/guides/first-controller.md")]
struct FirstController;
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
#[doc = include_str!("../../docs/guides/test-under-faults.md")]
struct TestUnderFaults;
#[cfg(all(doctest, feature = "embedded", feature = "kube"))]
#[doc = include_str!("../../docs/guides/use-the-parts.md")]
struct UseTheParts;
#[cfg(all(doctest, feature = "embedded", feature = "kube"))]
#[doc = include_str!("../../README.md")]
struct Readme;
