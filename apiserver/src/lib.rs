//! The Kubernetes wire protocol over a store: a real API server in a library.
//!
//! kubectl, kube-rs, client-go and whoever else speaks to Kubernetes can speak to it, over a socket or without one. It
//! stands on any [`Backend`](machinery_store::Backend): in memory for a test, on a disk for a control plane.
//!
//! # What it promises
//!
//! Each promise names the tests that hold it: in `tests/it/`, or beside the code. Over all of them stands the judge: what
//! the genuine Kubernetes API machinery answered to some nine hundred requests is kept in `tests/differential/`, and ours
//! must answer the same (`ours_answers_what_the_genuine_one_answers`). Where it differs on purpose, the case says why.
//!
//! 1. **An object is created, read, changed and deleted** as clients expect: generations, revisions, conflicts, finalizers,
//!    status apart (`an_object_is_created_read_changed_and_deleted`, `status_is_apart`, `a_finalizer_holds_an_object`).
//! 2. **Lists are of one moment**, also over pages (`lists_are_paged_and_selected`). They are handed out as the bytes that
//!    are stored (`an_object_comes_back_with_its_revision`).
//! 3. **What leaves a selection is deleted** to who watches it, and what enters is added. An event costs what it is delivered to: it
//!    is looked up in an index of watches, and each is told exactly what the evaluation of every selector would tell it, wherever it
//!    begins and however slowly it reads (`each_watch_is_told_what_the_naive_way_tells_it`).
//! 4. **A kind comes with its definition**, can be used by who has the answer, and goes with it
//!    (`a_kind_comes_with_its_definition_and_goes_with_it`).
//! 5. **A namespace takes what is in it along**, and nothing can be created in one that goes: that is a condition of the same
//!    transaction (`a_namespace_goes_with_all_that_is_in_it`).
//! 6. **What is owned goes after its owner** (`what_is_owned_goes_after_its_owner`); before it, or is let go, where a delete says so: see 28.
//! 7. **What is wrong is refused** with the codes, reasons and causes that clients read (`what_is_wrong_is_refused`), and changes
//!    nothing (`what_is_malformed_is_refused_and_changes_nothing`: some four thousand requests); what is taken can be read, changed and deleted by everybody, however deep it is
//!    (`what_is_taken_can_be_read_changed_and_deleted_however_deep_it_is`); who is not known learns nothing (`strangers`).
//!    Nothing that a request or a connection does is without a limit: [`Limits`] (the tests of `listen`). How many objects a namespace may have
//!    is said in a ResourceQuota: see 38. Without one there is no limit but the store's.
//! 8. **Protobuf bodies of built-in kinds** are read as client-go writes them, byte for byte: `tests/bodies/` was written by
//!    client-go (the tests of `protobuf`).
//! 9. **RBAC agrees with a naive reading of the rules** on a hundred thousand random pairs of
//!    a policy and a request in each run (`the_rules_agree_with_the_naive_reading`), and on requests as they come
//!    (`who_asks_may_what_a_naive_reading_of_its_role_says`).
//! 10. **Certificates and tokens are replaced while it runs**; a file that is not good is named, and what was read before it goes on
//!     (`tokens_are_replaced_and_bad_ones_are_not`, `certificates_are_replaced_and_connections_stay`).
//! 11. **What it counts has a bound**: no client makes a series by what it asks (`nobody_makes_a_series_by_asking`).
//! 12. **A kill loses nothing that was acknowledged**, and every watch resumes from its revision, with nothing missing and nothing twice:
//!     twenty servers are killed under load in the tests of the command `machinery`
//!     (`servers_killed_under_load_lose_nothing_and_every_watch_resumes`).
//! 13. **Clients that others wrote work unmodified**, over TLS and over restarts of the server: kubectl, kube-rs, client-go with
//!     its defaults and a manager of controller-runtime, the Python client, an operator of kopf (`tests/it/kubectl.rs`,
//!     `tests/it/kube_rs.rs`, `tests/it/kube_rs_apply.rs`, `tests/it/real/`; what they do is in `tests/clients/`). The manager's operator comes to the
//!     same end when it is killed in mid-work (`client_go_works_unmodified`). kube-rs' own examples run by `cargo xtask operators`.
//!     kopf's run in the tests (`examples_of_kopf_work_unmodified`).
//! 14. **A watch resumes where it was** when the server was started again: nothing is missed, doubled or listed anew
//!     (`client_go_works_unmodified`, `its_watcher_goes_on_after_a_restart`). One that comes while the server stops is told to
//!     come again (`a_watch_of_a_server_that_stops_is_told_to_come_again`).
//! 15. **A [`Handle`] keeps the promises of the ports** `ListWatch` and `Writer` of `machinery-objects`, for types, without HTTP:
//!     pages of one moment, watches from there or from the state, leaving told apart from deletion, preconditions, errors by what
//!     the caller can do (`tests/it/handle.rs`).
//! 16. **Both roads lead to the same place**: what is written through a handle is what the wire would have written, and its
//!     identity may do there what it may do on the wire (`both_roads_lead_to_the_same_place`,
//!     `roles_and_bindings_hold_for_a_handle_as_on_the_wire`).
//! 17. **A state of an object is decoded once** for all handles that read it as one type
//!     (`a_state_is_decoded_once_for_all_who_read_it`).
//! 18. **What a [`KindOf`] asks of its objects holds for everybody** (`what_a_kind_asks_holds_on_the_wire_and_through_a_handle`);
//!     what it notes of a write, of whichever part, is its own (`what_the_server_notes_of_a_write_is_its_own_on_every_way`); and
//!     nobody takes its name (`a_definition_of_its_name_is_refused_either_way`).
//! 19. **Lists are made as they are sent**, in every form, and so many at the same time (`a_list_is_made_as_it_is_sent_in_every_form_and_says_the_same`,
//!     `a_long_list_has_a_place_until_it_is_sent`). **Long answers are compressed** for who can read gzip
//!     (`long_answers_are_compressed_for_who_can_read_them`, `a_long_document_is_compressed_as_it_is_made`); watches are not
//!     (`a_watch_is_not_compressed`).
//! 20. **A write under a fence** is made only if the Lease or lock that it names, or each of up to four, is still the writer's at that moment: on every way, by
//!     every server of the store (`a_holder_paused_past_its_epoch_is_refused_on_every_write_path`,
//!     `a_takeover_between_the_look_and_the_commit_is_noticed`). A renewal refuses nothing (`a_renewal_meanwhile_is_no_refusal`).
//! 21. **A watch by interest** has keys that are edited while it runs, on the wire and through a handle: at each mark what its client
//!     has is what there is under the keys, over edits, changes, lost connections, restarts and compaction; nothing else is told, and
//!     what leaves is told apart from what is gone (`what_the_client_has_is_what_the_server_has_under_its_keys`,
//!     `an_edit_is_told_from_one_moment`). What is wrong or too much is refused and changes nothing
//!     (`what_is_wrong_with_an_interest_is_refused`, `a_million_keys_are_refused`), and nothing is left of an interest when its
//!     stream is over (`nothing_is_left_of_an_interest`).
//! 22. **A guard of a [`KindOf`] holds for objects beside each other**: two that are in each other's way never both exist, through
//!     however many servers of one store they are written, and of two writers one always wins
//!     (`of_two_conflicting_writers_exactly_one_wins`, `no_two_objects_conflict_at_any_revision`,
//!     `a_conflict_between_the_check_and_the_commit_is_noticed`). A check that panics, takes long or never ends harms nobody else
//!     (`a_check_that_panics_is_named_and_harms_nobody_else`, `a_check_that_never_ends_holds_up_its_kind_and_nothing_else`). What is
//!     older than its guard can always go (`what_has_keys_that_it_may_not_have_can_still_go`).
//! 23. **Who watches and does not read is ended** within seconds and counted as `slow_watch`: its stream alone, or its connection if
//!     that is blocked. Who is owed nothing, or takes a little all the time, goes on
//!     (`a_watch_that_is_not_taken_is_ended_and_the_others_of_its_connection_go_on`, `a_watch_that_is_taken_slowly_lives`).
//! 24. **A change says in which trace it was made**, in the annotation [`ANNOTATION`](machinery_objects::Traceparent::ANNOTATION), where
//!     its request or the caller of its handle is in one (`a_change_says_its_trace`, `a_handle_writes_in_the_trace_of_its_caller`).
//!     That makes no write of what is none (`a_trace_makes_no_write`), what a client wrote there itself stays
//!     (`what_a_client_wrote_about_its_trace_stays`), and a header that is no `traceparent` is nothing
//!     (`a_header_that_is_no_traceparent_is_nothing`). Why: `docs/designs/014-traces.md`.
//!
//! 25. **Questions about access are answered for whom they are about**, and refused where they are none, as Kubernetes does (the tests of `reviews`); a role
//!     that is made of others says what it has of them (`a_role_that_is_made_of_others_says_what_it_has_of_them`). **Who may stand for another** does so in a request, with all that the other may and nothing more; who may not, or says it so that
//!     it cannot be understood, is refused (`who_may_stand_for_another_has_its_rights_and_no_others`).
//! 26. **What is applied comes to what the genuine machinery makes of it**: objects, who owns what of them, and conflicts, over random sequences of
//!     applies, updates and patches by three managers (`random_applies_come_to_what_the_genuine_machinery_makes_of_them`; five thousand
//!     by `cargo xtask record applies --sequences 5000`), of built-in kinds too
//!     (`writes_to_built_in_kinds_come_to_what_the_genuine_machinery_makes_of_them`), and of how many
//!     (`how_many_is_owned_by_who_applies_a_scale`). Its invariants hold over random schemas (`whoever_applies_gets_what_is_said_and_no_more`,
//!     `who_do_not_touch_come_to_one_object_in_either_order`). Why: `docs/designs/016-server-side-apply.md`.
//! 27. **What is asked is logged as a policy says**, in the form of Kubernetes, and before it is answered: every verb, and who was refused, a watch
//!     at its begin and its end, for whom it was made, a panic (`every_verb_is_in_the_log_with_what_was_sent_and_answered` and the tests beside it;
//!     the policy against a naive reading: `it_decides_as_the_naive_reading_does`). The value of a secret is in no line, whatever the
//!     policy says (`no_line_has_the_value_of_a_secret`), nor in a log, a trace, a metric or an event (`what_is_secret_is_in_no_log_metric_trace_or_event`). What webhooks say of a request, and what they did with it, is there (`what_webhooks_say_of_a_request_is_in_the_log`,
//!     `what_webhooks_did_with_a_request_is_in_the_log`). What cannot be written is counted, and refused only where that is asked for
//!     (`what_cannot_be_written_is_counted_and_refuses_only_where_that_is_asked_for`). Why: `docs/designs/018-audit.md`.
//! 28. **What becomes of what is owned is what the naive way makes of it**: over any graph of owners, in namespaces and in none, with circles
//!     and several owners, whoever is deleted and however, and over restarts (`what_is_left_is_what_the_naive_way_leaves`). In the background, in
//!     the foreground or as orphans, said in the query or in the body, of one or of many (`how_it_goes_can_be_said_in_every_way`,
//!     `who_waits_is_there_until_what_it_owns_is_not`, `what_was_begun_before_a_restart_is_done_after_it`). Who cannot own an object for where they
//!     are is told of in an event (`an_owner_that_cannot_be_one_for_where_it_is_is_told_of`), and whose owner's kind is not known stays
//!     (`whose_owner_cannot_be_told_stays`) until it is (`when_the_kind_of_an_owner_comes_it_is_known_whether_the_owner_is_there`).
//!
//! 29. **Answers are in protobuf for who asks for it first**, as client-go does: built-in kinds, and the metadata of every kind, byte for
//!     byte as Go writes them (`json_is_the_bytes_that_go_makes_of_it`, `a_list_in_pieces_is_the_bytes_that_go_makes_of_the_whole`,
//!     `what_is_written_is_read_again`, `built_in_kinds_are_answered_in_protobuf_for_who_asks`,
//!     `of_custom_resources_the_metadata_is_answered_in_protobuf`); long lists without being held
//!     (`a_long_list_in_protobuf_is_made_as_it_is_sent`); events and errors of watches too (`a_watch_in_protobuf_is_framed_by_lengths`,
//!     `an_error_of_a_watch_in_protobuf_is_a_message_too`). Why: `docs/designs/019-protobuf.md`.
//! 30. **Old kubectls find the old OpenAPI document**, in protobuf, which those before 1.29 need to create anything
//!     (`the_old_openapi_document_is_there_in_protobuf`, `an_old_kubectl_reads_the_old_document`; client-go reads it in
//!     `client_go_works_unmodified`).
//!
//! 31. **A configuration of webhooks holds from its answer on**: for every request to this server that begins after it
//!     (`a_configuration_holds_from_its_answer_on`), and when a server starts on its store, or hears of it from another one
//!     (`configurations_are_there_when_a_server_starts_on_its_store_and_followed_by_others`). What it cannot obey it does not take
//!     (`a_configuration_that_cannot_be_obeyed_is_refused`), and configurations themselves are never sent to webhooks
//!     (`configurations_are_never_sent`).
//! 32. **Webhooks are asked as their configurations say**: about what their rules and selectors mean (`the_rules_agree_with_a_naive_reading`,
//!     `a_webhook_is_asked_about_what_it_selects`), in the version that is meant
//!     (`the_same_objects_in_another_version_are_asked_about_in_the_one_that_is_meant`) and with nothing lost by that
//!     (`what_another_version_has_not_is_there_after_a_webhook_for_that_one`), wherever an object says that it is
//!     (`what_an_object_says_of_its_namespace_decides_nothing`), those that mutate in order and once more where they want
//!     to (`webhooks_are_asked_in_order_and_once_more_if_they_want_to`); and they are told who asks for what (`a_review_says_what_is_asked_for`).
//! 33. **What is committed is what was asked about**: if somebody else writes the object meanwhile, all are asked again
//!     (`a_patch_is_always_applied_to_what_is_committed`, `what_changes_between_the_question_and_the_commit_is_asked_about_again`), ten times at
//!     most (`who_is_overtaken_each_time_is_told_to_try_again`). What a webhook makes is held against the schema like what a client sends
//!     (`what_a_webhook_makes_is_held_against_the_schema_and_stored`), and is nobody's (`what_a_webhook_makes_is_nobodys`).
//! 34. **A webhook that fails, in whatever way, is what its `failurePolicy` says** (`what_fails_is_what_its_policy_says`,
//!     `who_judges_and_fails_is_what_its_policy_says`), one that asks for what it is asked about, sends elsewhere or makes objects grow is bounded
//!     (`a_webhook_that_asks_for_what_it_is_asked_about_comes_to_an_end`, `nobody_is_sent_elsewhere_by_a_webhook`, `a_patch_that_grows_is_refused`). It is believed if it shows a certificate of its `caBundle`, and of nobody else
//!     (`a_webhook_is_known_by_its_own_authority_or_by_those_of_the_server`), which may be that certificate itself
//!     (`a_certificate_that_stands_for_itself_is_believed_if_it_is_given`). What it says reaches the client
//!     (`a_refusal_is_what_the_webhook_says`; the cases `admission` of the judge, `warnings_reach_the_client_whether_it_is_refused_or_not`).
//! 35. **[`Admission`] holds on the wire and through handles** (`admission_in_the_process_holds_on_both_roads`), and harms nobody else when it panics
//!     (`admission_that_panics_refuses_and_harms_nobody_else`). So do webhooks
//!     (`webhooks_are_asked_about_what_is_written_through_a_handle`).
//! 36. **Rules in CEL hold**: what a definition's `x-kubernetes-validations` say, in Kubernetes' words and within its budgets; what was so before is let be
//!     (the cases `expressions` of the judge; `every_value_is_held_against_its_rule`, `what_costs_too_much_ends_and_is_said`,
//!     `what_was_so_before_is_let_be_unless_the_rule_looks_at_what_it_was`). One that cannot be evaluated is refused with its definition. A webhook's
//!     `matchConditions` say about what it is asked (`conditions_look_at_the_request_and_its_objects`), also by what who asks may do besides
//!     (`conditions_ask_the_rules_about_who_makes_the_request`, `more_checks_than_conditions_may_cost_refuse_the_request`).
//! 37. **What is configured is encrypted in the store**, in the form of Kubernetes' `EncryptionConfiguration`, and nobody above can tell
//!     (`what_is_configured_is_encrypted_on_both_roads_and_the_rest_is_not`, `ours_answers_the_same_on_a_store_that_is_encrypted`): no secret is in any file
//!     (`no_secret_is_in_any_file`, of the command). Keys are replaced at a start, after which what they replace is not needed
//!     (`keys_are_replaced_over_starts_and_what_was_before_cannot_be_read`). A server that cannot read all of its store names the object and the key, and does not
//!     start (`a_server_without_the_key_does_not_start`). What is wrong in the configuration is named, and no secret of it
//!     (`what_is_no_provider_is_refused_with_advice`). Why: `docs/designs/021-encryption-at-rest.md`.
//!
//! 38. **A ResourceQuota holds exactly**: of those who create at the same time, through however many servers of one store, as many get a place as
//!     there are (`of_many_who_come_at_once_exactly_as_many_as_may_be_get_a_place`,
//!     `who_takes_the_last_place_between_the_look_and_the_commit_has_it`), and from its answer on
//!     (`a_quota_made_while_others_create_holds_for_who_begins_after_its_answer`,
//!     `a_quota_that_is_made_between_the_look_and_the_commit_is_noticed`), in Kubernetes' words
//!     (`one_more_than_there_may_be_is_refused_as_kubernetes_says_it`), for every kind and on every road
//!     (`objects_of_every_kind_are_counted_however_they_are_made`, `a_quota_holds_for_a_handle_as_on_the_wire`). Whoever has the answer to a create
//!     is counted in the status, and at rest it says what there is (`who_has_the_answer_is_counted`,
//!     `at_no_revision_is_something_made_that_may_not_be_and_at_rest_the_counts_are_right`,
//!     `what_happened_while_no_server_ran_is_said_after_a_restart`). What of a quota is not held is said to who writes it
//!     (`what_is_not_held_is_said_to_who_writes_it`). Why: `docs/designs/022-quotas.md`.
//!
//! # What it does not do
//!
//! - Not yet: webhooks that convert. They are refused with the right error, and never half obeyed. Nor has it tokens for service accounts.
//! - Quotas count objects. Amounts (`cpu`, `requests.storage`), `services.nodeports` and its like, and scopes are taken as Kubernetes takes them, with a
//!   `Warning`, and not held; there are no LimitRanges. What a handle writes has no warnings: the status says what is counted.
//! - Where Kubernetes answers by accident, this server refuses: the cases say where and why (`differs` in
//!   `tests/differential/cases/`). Bodies of requests are never compressed, to either.
//! - Owners are known by their UID alone: where a reference has the right one and a wrong name or kind, its owner is there. Kubernetes takes
//!   such an object away. Who may write an object may also make an owner wait for it (`blockOwnerDeletion`): the admission plugin
//!   `OwnerReferencesPermissionEnforcement`, which is off by default in Kubernetes, is not here. Where an owner and the definition of its kind go while
//!   no collector runs, what they owned stays.
//! - Discovery, definitions (CustomResourceDefinitions) and tables are answered in JSON or YAML, never in protobuf. Clients list JSON too.
//! - Its upkeep asks no webhook and no [`Admission`]: what it does follows from what was admitted. There is no `CONNECT`, as nothing can be
//!   connected to. Without the feature `server` it calls nobody: such calls fail, and `failurePolicy` says what becomes of that.
//! - It has no scheduler and no controllers: pods and deployments are records.
//! - An object deeper than 120 levels is refused, so that whoever reads it can, and a body of more than 128, or of more than 100 000 values: what a request may cost in memory is a
//!   small multiple of its bytes. Kubernetes takes both.
//!
//! # Spans
//!
//! `request` (info): one for each request on the wire, with its `method`, `path` and `status`, and the ids `trace_id`, `span_id` and, if it
//! comes from a span, `parent_id`; where whoever began the trace does not have it recorded, also `sampled`, which is false.
//!
//! # Example
//!
//! ```
//! use http::Request;
//! use http_body_util::{BodyExt, Full};
//! use machinery_apiserver::{ApiServer, Identity};
//! use machinery_store::{Memory, Options};
//! use tower_service::Service;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::builder(Memory::new(Options::default())).start().await?;
//! let mut service = server.service(Identity::admin());                  // what kube::Client::new takes
//!
//! let request = Request::get("/api/v1/namespaces").body(Full::<bytes::Bytes>::default())?;
//! let answer = service.call(request).await?;
//! assert_eq!(answer.status(), 200);
//! let body = answer.into_body().collect().await?.to_bytes();
//! assert!(String::from_utf8_lossy(&body).contains("\"default\""));
//! server.stop().await;
//! # Ok(()) }
//! ```
//!
//! A controller of kube-rs, tested on it without a cluster: `docs/guides/test-a-controller.md`. Guards, fences and interest watches:
//! `docs/guides/beyond-kubernetes.md`.
//!
//! # Features
//!
//! `k8s`: handles of types of kube, and kinds that kube derives. Without it handles are of any type, by a kind that is given.
//!
//! `server`: the server on a socket, with TLS and the certificates that it makes for itself. Not on by default: in the process
//! neither is needed. `testing`: what mutation tests and fuzz targets run.

#![allow(
    clippy::result_large_err,
    reason = "a refusal is made once a request, and says all that clients read"
)]

mod accept;
mod admission;
mod audit;
mod auth;
mod builtin;
mod cache;
mod change;
mod crd;
mod discovery;
mod documents;
mod encryption;
mod fence;
mod go_format;
mod guard;
mod handle;
mod http;
mod interest;
mod invalid;
mod json;
mod kind;
#[cfg(feature = "server")]
mod listen;
mod managed;
mod meta;
mod metrics;
mod native;
mod openapi;
mod own;
mod patch;
mod protobuf;
mod quota;
mod refusal;
mod request;
mod same;
mod schema;
mod select;
mod server;
mod storage;
mod strategy;
mod table;
/// What mutation tests and fuzz targets run.
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "server")]
mod tls;
mod upkeep;
mod verbs;
mod watch;
mod yaml;

pub use admission::{Admission, Attributes, Denied, Operation};
pub use audit::{Audit, AuditFile, AuditPolicy, AuditPolicyError, AuditSink};
pub use auth::Identity;
pub use encryption::{Encryption, EncryptionError};
pub use handle::Handle;
pub use http::{Body, Service};
#[cfg(feature = "server")]
pub use listen::{Access, CertificateFiles, Listen, ListenError, Reloaded};
pub use own::{KindOf, Wrong};
pub use refusal::{About, Cause, Refusal};
pub use server::{ApiServer, Builder, Limits, StartError};

/// The guides, so that their code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/test-a-controller.md")]
struct TestAController;
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/audit.md")]
struct AuditGuide;
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/encryption.md")]
struct EncryptionGuide;
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/beyond-kubernetes.md")]
struct BeyondKubernetes;
