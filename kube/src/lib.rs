//! The ports of Machinery over any Kubernetes API, and an HTTP/2 client that needs few connections.
//!
//! A [`Remote`] accesses the objects of one kind on a server: it is a
//! [`ListWatch`](machinery_objects::ListWatch), a [`Writer`](machinery_objects::Writer), and on a
//! server of Machinery also an [`InterestSource`](machinery_objects::InterestSource). It uses a
//! client of kube, with its configuration and credentials; [`client`] creates one over HTTP/2.
//!
//! # Promises
//!
//! The tests are in `tests/it/` or beside the code; they are listed below the table.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | Keeps the promises of the ports, tested against our server | `ports.rs`, `write.rs` |
//! | 2 | Sends the same events over the wire as the server's in-process handle | below |
//! | 3 | Maps every error to its remedy, also of malformed responses | below |
//! | 4 | An undecodable object hides no others in a list or watch | below |
//! | 5 | A watch that ends inside a line is interrupted, and yields no partial event | below |
//! | 6 | Decodes each object once, and only the fields of its type | below |
//! | 7 | Bounds line length, response length and response time | below |
//! | 8 | Distinguishes an unknown outcome of a write from a request never sent | below |
//! | 9 | Drops no precondition: an unsupported one is an error | below |
//! | 10 | Repeats an edit of an interest with a lost response unchanged | below |
//! | 11 | Three hundred watches need four connections | below |
//! | 12 | An unread watch blocks no other; a dead connection is replaced | below |
//! | 13 | Falls back to HTTP/1.1, and supports proxies | below |
//! | 14 | A write carries the trace of its caller | below |
//!
//! - 1: consistent pages, watches from a list or from the state, selectors, freshness,
//!   preconditions.
//! - 2: over random writes and edits of an interest: `both_transports_send_the_same_events`; and
//!   the same objects as kube-runtime's watcher: `kube_runtimes_watcher_receives_the_same_objects`.
//! - 3: `every_status_maps_to_an_error_by_its_remedy`,
//!   `every_malformed_response_has_its_own_error`, `an_error_of_a_watch_names_its_resumption`;
//!   responses of proxies included.
//! - 4: `an_undecodable_object_hides_no_others`; with code that panics:
//!   `an_object_that_panics_hides_no_others`, `an_event_with_an_object_that_panics_ends_no_watch`;
//!   without a version: `an_object_without_a_version_hides_no_others`,
//!   `an_object_without_a_version_is_reported_by_name`. A body that is not a list is an error:
//!   `a_body_without_items_is_not_an_empty_list`,
//!   `an_item_without_a_name_makes_the_list_malformed`.
//! - 5: at any position: `an_error_of_a_watch_names_its_resumption`.
//! - 6: `an_object_is_decoded_once`, `a_projection_equals_the_fields_of_the_whole_object`.
//!   [`PartialMetadata`] is ten words (`metadata_is_small`). [`WithoutManagedFields`] wraps a type
//!   of another crate: `managed_fields_are_not_decoded`,
//!   `any_json_loses_its_managed_fields_and_nothing_else`,
//!   `a_write_without_managed_fields_keeps_them_on_the_server`.
//! - 7: `an_endless_line_is_refused`, `an_endless_response_is_refused`,
//!   `a_silent_server_times_out`, `arbitrary_responses_never_panic`.
//! - 8: `a_lost_response_is_an_unknown_outcome`,
//!   `a_write_without_a_response_has_an_unknown_outcome`, `an_unreachable_server_received_nothing`.
//! - 9: `a_failed_precondition_writes_nothing`,
//!   `preconditions_are_sent_in_the_fields_that_the_server_compares`,
//!   `guards_and_fences_are_enforced_and_named`. A fence is sent only to a server that enforces it.
//! - 10: `an_edit_with_a_lost_response_is_repeated_unchanged`, `a_refused_edit_frees_its_number`.
//! - 11: `many_watches_need_few_connections`, `the_stream_limit_of_a_server_is_respected`,
//!   `connections_do_not_exceed_their_limit`, `cancelled_watches_release_their_streams`.
//! - 12: `an_unread_watch_blocks_no_other`, `a_dead_connection_is_detected_and_replaced`.
//! - 13: `a_server_without_http2_is_served_over_http1`, `a_proxy_is_used_with_its_credentials`.
//! - 14: in the header `traceparent` (`a_write_carries_its_trace_in_a_header`), and in an
//!   annotation of an object created on a server that is not ours
//!   (`a_created_object_carries_its_trace`).
//!
//! # Non-goals
//!
//! - It does not retry. Informers and queues do: errors tell whether a retry may help.
//! - It keeps no state: no cache, no discovery, no schema. The features of a server are configured
//!   by [`ServerProfile`].
//! - On the wire only interests distinguish objects that left a selector from deleted ones. Plain
//!   Kubernetes reports neither the failed precondition of a write nor the version of a deletion.
//! - It does not verify the order of lists and of versions: caches do.
//! - It adds no trace annotation to an existing object: that could turn a no-op into a write. An
//!   apply creates objects without one.
//! - A status patch can have a UID precondition only as JSON Patch: servers ignore the UID
//!   otherwise.
//! - The initial keys of an interest must fit one request, 3 MiB; edits can add more.
//! - The first response of a connection waits for the server's SETTINGS with its stream limit: one
//!   round trip.
//! - Certificates from an exec plugin are used until the client is replaced, as in kube's own
//!   client; tokens are renewed.
//!
//! # Example
//!
//! Of these objects only the rack and the partial metadata are kept; other fields are not decoded.
//!
//! ```
//! use futures::StreamExt;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use machinery_apiserver::{ApiServer, Identity};
//! use machinery_kube::kube_client::Client;
//! use machinery_kube::{PartialMetadata, Remote, ServerProfile, WithoutManagedFields};
//! use machinery_objects::{
//!     Filter, Freshness, Kind, Labels, ListRequest, ListWatch, Object, ObjectKey,
//!     ResourceVersion, Scope, WatchEvent, WatchFrom, WatchRequest,
//! };
//! use machinery_store::{Memory, Options};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Config {
//!     metadata: PartialMetadata,
//!     #[serde(default)]
//!     data: Data,
//! }
//!
//! #[derive(Default, Deserialize)]
//! struct Data {
//!     rack: Option<String>,
//! }
//!
//! impl Object for Config {
//!     fn key(&self) -> ObjectKey { self.metadata.key.clone() }
//!     fn version(&self) -> Option<ResourceVersion> { self.metadata.version.clone() }
//!     fn labels(&self) -> Labels { self.metadata.labels.clone() }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Without a socket. For a cluster:
//! // machinery_kube::client(Config::infer().await?, Connections::default())?
//! let server = ApiServer::builder(Memory::new(Options::default())).start().await?;
//! let client = Client::new(server.service(Identity::admin()), "default");
//!
//! let kind = Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced)?;
//! let configs = Remote::<Config>::new(client.clone(), kind.clone(), ServerProfile::kubernetes());
//! let page = configs.list(ListRequest::default()).await?;
//! let from = WatchFrom::After(page.version);
//! let request = WatchRequest { filter: Filter::default(), from, bookmarks: true, timeout: None };
//! let mut events = configs.watch(request).await?;
//!
//! # use machinery_objects::Writer;
//! # let mut config = ConfigMap::default();
//! # config.metadata.name = Some("db-0".into());
//! # config.metadata.namespace = Some("default".into());
//! # config.data = Some([("rack".into(), "17".into())].into());
//! # let profile = ServerProfile::kubernetes();
//! # let maps = Remote::<ConfigMap>::new(client.clone(), kind.clone(), profile);
//! # maps.create(&config, None).await?;
//! // A client creates an object.
//! let Some(Ok(WatchEvent::Added(config))) = events.next().await else { panic!("no event") };
//! assert_eq!(config.metadata.key.as_str(), "default/db-0");
//! assert_eq!(config.data.rack.as_deref(), Some("17"));
//!
//! // The whole type of k8s-openapi, without the managed fields.
//! type Map = WithoutManagedFields<ConfigMap>;
//! let maps = Remote::<Map>::new(client, kind, ServerProfile::kubernetes());
//! let config = maps.get(&"default/db-0".parse()?, Freshness::Newest).await?.expect("it is there");
//! assert_eq!(config.data.as_ref().unwrap()["rack"], "17");
//! assert_eq!(config.metadata.managed_fields, None);
//! # server.stop().await;
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! `k8s`: kube's types as objects ([`Object`](machinery_objects::Object) for every
//! `kube_core::Resource`). Not on by default.

mod call;
mod connect;
mod interest;
mod managed_fields;
mod meta;
mod read;
mod refusal;
mod remote;
mod request;
mod server_profile;
#[cfg(test)]
mod testing;
mod text;
mod write;

/// The client library on which this crate is built, in the same version.
pub use kube_client;

pub use connect::{ConnectError, Connections, client};
pub use managed_fields::{WithoutManagedFields, metadata_without_managed_fields};
pub use meta::{KeyMetadata, PartialMetadata};
pub use remote::Remote;
pub use server_profile::{InterestIds, ServerProfile};
