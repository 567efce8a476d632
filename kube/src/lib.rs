//! The ports of Machinery over any Kubernetes API, and a client that needs few connections.
//!
//! A [`Remote`] is the objects of one kind on a server, as a type: a [`ListWatch`](machinery_objects::ListWatch) and a
//! [`Writer`](machinery_objects::Writer), and where the server is Machinery's also an
//! [`InterestSource`](machinery_objects::InterestSource). It stands on a client of kube, which knows how a cluster is
//! reached and who asks; [`client`] makes one over HTTP/2.
//!
//! # What it promises
//!
//! Each promise names its tests, in `tests/it/` or beside the code.
//!
//! 1. **It keeps what the ports promise**, seen against a server of ours: pages of one moment, watches from there or from the state,
//!    selectors, freshness, conditions of writes (`ports.rs`, `write.rs`).
//! 2. **Over the wire one is told what the server's own handle tells**, event by event, over random writes and edits of an interest
//!    (`both_roads_tell_the_same`), and what kube-runtime's watcher tells (`a_watcher_of_kube_sees_the_same`).
//! 3. **Errors are by what the caller can do** (`every_refusal_is_what_the_caller_can_do`), also where a server, or somebody on the way to
//!    it, answers wrongly (`what_a_server_says_wrongly_has_a_name`, `a_watch_that_goes_wrong_says_how_to_go_on`).
//! 4. **An object that cannot be read hides no others** (`one_that_cannot_be_read_hides_no_others`), nor does one whose own code panics
//!    (`an_object_that_panics_hides_no_others`, `an_event_of_an_object_that_panics_ends_no_watch`), or one without a version
//!    (`one_without_a_version_hides_no_others`, `one_without_a_version_is_known_by_its_name`); and what is no list is not a list of
//!    nothing (`what_is_no_list_is_not_a_list_of_nothing`, `one_without_a_name_is_no_answer_as_a_list_without_it_would_end_it`).
//! 5. **Half an event is none**: a watch that ends in the middle of a line has broken off, wherever it is cut
//!    (`a_watch_that_goes_wrong_says_how_to_go_on`).
//! 6. **An object is made once**, of what its type asks for and nothing else (`an_object_is_made_once`,
//!    `what_is_kept_is_what_the_whole_object_says`). [`Meta`] is metadata in ten words (`metadata_is_small`). [`Slim`] is a type that others
//!    wrote, of whose managed fields nothing is made (`nothing_of_them_is_made`, `of_any_json_that_entry_is_missing_and_no_other`,
//!    `what_is_written_slim_keeps_its_managed_fields_on_the_server`).
//! 7. **What a server sends is bounded**: a line, an answer, the time (`a_line_without_end_is_refused`,
//!    `an_answer_without_end_is_refused`, `who_does_not_answer_is_not_waited_for`). Whatever it is, it is no panic
//!    (`whatever_comes_is_no_panic`).
//! 8. **A write of which the outcome is open is said to be one** (`a_lost_answer_is_an_unknown_outcome`,
//!    `a_write_that_was_sent_and_not_answered_is_in_doubt`); one that did not get away is not
//!    (`who_cannot_be_reached_was_asked_nothing`).
//! 9. **No condition is dropped**: what the server would not hold is `Unsupported`, and a fence is sent only to who holds it
//!    (`a_condition_that_does_not_hold_writes_nothing`, `conditions_are_sent_where_a_server_compares_them`,
//!    `guards_and_fences_are_held_and_named`).
//! 10. **An edit of an interest whose answer was lost is repeated as it was**, and one that is refused costs no number
//!     (`an_edit_whose_answer_was_lost_is_repeated_as_it_was`, `an_edit_that_is_refused_gives_its_number_back`).
//! 11. **Three hundred watches need four connections** (`many_watches_need_few_connections`): as many requests on each as its server takes
//!     (`a_server_that_takes_few_requests_on_a_connection_is_obeyed`), and as many connections as are allowed
//!     (`there_are_no_more_connections_than_allowed`), also where watches come and go, and who asks goes away before there is an answer
//!     (`watches_that_come_and_go_leave_no_place_taken`).
//! 12. **A watch that is not read holds up no other** of its connection (`a_watch_that_is_not_read_holds_up_no_other`), and a connection that is
//!     dead is found within the time that is set for it, and replaced (`a_connection_that_is_dead_is_found_and_replaced`).
//! 13. **Who speaks no HTTP/2 is spoken to all the same** (`who_speaks_no_http2_is_spoken_to_all_the_same`), also through a proxy
//!     (`a_proxy_is_asked_for_a_way`).
//! 14. **A write says the trace of its caller** in the header `traceparent` (`a_write_says_its_trace`). What it makes on a server that is
//!     not ours has it as an annotation, too (`what_is_made_says_its_trace`).
//!
//! # What it does not do
//!
//! - It asks once. When to ask again is for informers and queues: errors say whether it may help.
//! - It keeps nothing: no cache, no discovery, no schema. Whether a server has watches from the state is told to it
//!   ([`Server`]).
//! - On the wire only interests tell what has left apart from what is gone. Plain Kubernetes does not say which condition of a write did
//!   not hold, nor at which version an object went.
//! - It does not hold the order of lists, and the versions of servers, against what they promise: whoever has a cache does.
//! - It puts no annotation of a trace into what is there already: that could make a write of what is none. An apply makes without one.
//! - Patches of the status cannot be bound to a UID but in JSON Patch: servers do not look at it.
//! - The keys with which an interest is opened must fit into one request, 3 MiB; others are added by edits.
//! - The first answer of a connection waits until the server has said how many requests it takes: one round trip.
//! - Certificates that an exec plugin gives are used until the client is made anew, as in kube's own client; tokens are renewed.
//!
//! # Example
//!
//! Of these objects the rack is kept, and what everybody wants to know; the rest is never made.
//!
//! ```
//! use futures::StreamExt;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use machinery_apiserver::{ApiServer, Identity};
//! use machinery_kube::kube_client::Client;
//! use machinery_kube::{Meta, Remote, Server, Slim};
//! use machinery_objects::{
//!     Filter, Freshness, Kind, Labels, ListRequest, ListWatch, Object, ObjectKey, ResourceVersion, Scope, WatchEvent,
//!     WatchFrom, WatchRequest,
//! };
//! use machinery_store::{Memory, Options};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Config {
//!     metadata: Meta,
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
//! // Without a socket. To a cluster: machinery_kube::client(Config::infer().await?, Connections::default())?
//! let server = ApiServer::builder(Memory::new(Options::default())).start().await?;
//! let client = Client::new(server.service(Identity::admin()), "default");
//!
//! let kind = Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced)?;
//! let configs = Remote::<Config>::new(client.clone(), kind.clone(), Server::kubernetes());
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
//! # Remote::<ConfigMap>::new(client.clone(), kind.clone(), Server::kubernetes()).create(&config, None).await?;
//! // Somebody makes one.
//! let Some(Ok(WatchEvent::Added(config))) = events.next().await else { panic!("it is told") };
//! assert_eq!(config.metadata.key.as_str(), "default/db-0");
//! assert_eq!(config.data.rack.as_deref(), Some("17"));
//!
//! // The same in a type that others wrote, all of it but the managed fields.
//! let slim = Remote::<Slim<ConfigMap>>::new(client, kind, Server::kubernetes());
//! let config = slim.get(&"default/db-0".parse()?, Freshness::Newest).await?.expect("it is there");
//! assert_eq!(config.data.as_ref().and_then(|data| data.get("rack")).map(String::as_str), Some("17"));
//! assert_eq!(config.metadata.managed_fields, None);
//! # server.stop().await;
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! `k8s`: kube's types as objects ([`Object`](machinery_objects::Object) for every `kube_core::Resource`). Not on by default.

mod call;
mod connect;
mod interest;
mod meta;
mod read;
mod refusal;
mod remote;
mod request;
mod server;
mod slim;
#[cfg(test)]
mod testing;
mod text;
mod write;

/// The client that it stands on, in the version that it stands on.
pub use kube_client;

pub use connect::{ConnectError, Connections, client};
pub use meta::{Identity, Meta};
pub use remote::Remote;
pub use server::{Ids, Server};
pub use slim::{Slim, slim_metadata};
