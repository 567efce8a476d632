//! The Kubernetes wire protocol over a store: an API server as a library.
//!
//! kubectl, kube-rs, client-go and other Kubernetes clients use it over a socket or in process. It
//! runs on any [`Backend`](machinery_store::Backend): in memory for a test, on disk for a control
//! plane.
//!
//! # Promises
//!
//! Tests are found by name in `tests/it/` and beside the code. All of them together are checked
//! against Kubernetes: `tests/differential/` has its responses to some nine hundred requests, and
//! this server must respond the same (`answers_equal_the_recorded_ones`). A case of an
//! intended difference states the reason.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | **Create, read, update and delete** as clients expect: generations, resourceVersions, conflicts, finalizers, and status as a subresource | `an_object_is_created_read_changed_and_deleted`, `status_is_a_subresource`, `a_finalizer_blocks_deletion` |
//! | 2 | **Lists are consistent**, also over pages, and are sent as the stored bytes | `lists_are_paged_and_selected`, `an_object_comes_back_with_its_revision` |
//! | 3 | **An object that leaves a selection is deleted** for its watchers, one that enters is added. Events are dispatched by an index of watchers, with the result of evaluating every selector, for any start and reading speed | `indexed_dispatch_equals_naive_evaluation` |
//! | 4 | **A CustomResourceDefinition serves its kind** from its response on, until it is deleted | `a_kind_is_served_while_its_definition_exists` |
//! | 5 | **Deleting a namespace deletes its contents**; creation in it fails by a condition of the same transaction | `deleting_a_namespace_deletes_its_contents` |
//! | 6 | **The garbage collector deletes dependents after their owner**; for foreground and orphan deletion see 28 | `dependents_are_deleted_after_their_owner` |
//! | 7 | **Invalid requests are refused** with the codes, reasons and causes that clients read, and change nothing (some four thousand requests). Accepted objects of any depth can be read, changed and deleted. Unauthenticated clients learn nothing. Every resource of a request or connection has a limit: [`Limits`]; for objects of a namespace see 38 | the tests of `listen`, `strangers`, `invalid_requests_are_refused`, `malformed_requests_are_refused_and_change_nothing`, `accepted_objects_of_any_depth_can_be_read_changed_and_deleted` |
//! | 8 | **Protobuf bodies of built-in kinds** are read byte for byte as client-go writes them: `tests/bodies/` was written by client-go | the tests of `protobuf` |
//! | 9 | **RBAC agrees with a naive evaluation** on a hundred thousand random pairs of policy and request in each run, and on requests over the wire | `decisions_equal_those_of_naive_rules`, `authorization_equals_a_naive_reading_of_the_role` |
//! | 10 | **Certificates and tokens are reloaded**; an invalid file is named, and the previous one stays in effect | `tokens_are_reloaded_and_invalid_files_ignored`, `certificates_are_reloaded_without_closing_connections` |
//! | 11 | **Metrics are bounded**: no request creates a series | `requests_cannot_create_series` |
//! | 12 | **A kill loses no acknowledged write**, and every watch resumes without gap or repetition: twenty servers are killed under load in the tests of the command `machinery` | `servers_killed_under_load_lose_nothing_and_every_watch_resumes` |
//! | 13 | **Clients of others work unmodified**, over TLS and restarts: kubectl, kube-rs, client-go with its defaults, a manager of controller-runtime, also when killed, the Python client and an operator of kopf (`tests/clients/`). The examples of kube-rs run by `cargo xtask operators` | `tests/it/kubectl.rs`, `tests/it/kube_rs.rs`, `tests/it/kube_rs_apply.rs`, `tests/it/real/`, `client_go_works_unmodified`, `examples_of_kopf_work_unmodified` |
//! | 14 | **A watch resumes after a restart** without a gap, a repetition or a relist. A watch that starts during shutdown is refused with a retry | `client_go_works_unmodified`, `its_watcher_resumes_after_a_restart`, `a_watch_of_a_stopping_server_ends_with_a_retryable_error` |
//! | 15 | **A [`Handle`] implements** `ListWatch` and `Writer` of `machinery-objects` without HTTP: consistent pages, watches from a version or with the state, leaving distinguished from deletion, preconditions, and errors by the possible reaction | `tests/it/handle.rs` |
//! | 16 | **A handle and the wire are equivalent**: the same writes are stored, and the same rights apply | `service_and_handle_writes_give_the_same_objects`, `roles_and_bindings_hold_for_a_handle_as_on_the_wire` |
//! | 17 | **An object state is decoded once** for all handles of one type | `a_state_is_decoded_once_for_all_readers` |
//! | 18 | **Validation by a [`KindOf`] applies to all writers**; its own notes on a write are not the client's, and its name cannot be taken by a definition | `hooks_of_a_kind_apply_on_the_wire_and_through_a_handle`, `stamped_fields_belong_to_the_server_on_every_write_path`, `a_definition_of_its_name_is_refused_either_way` |
//! | 19 | **Lists are streamed** in every format, with a limit on concurrent ones. **Long responses are compressed** with gzip if accepted; watches are not | `a_streamed_list_is_equal_in_every_format`, `a_long_list_holds_a_permit_until_it_is_sent`, `long_answers_are_compressed_on_request`, `a_long_document_is_compressed_incrementally`, `a_watch_is_not_compressed` |
//! | 20 | **A write under a fence** is committed only if each named Lease or lock, up to four, is still the writer's: on every path and by every server of the store. A renewal does not refuse it | `a_holder_paused_past_its_epoch_is_refused_on_every_write_path`, `a_takeover_between_check_and_commit_is_a_conflict`, `a_concurrent_renewal_does_not_refuse_a_write` |
//! | 21 | **Interest watches** have keys that are edited while they run, on the wire and through a handle. At each marker the client has exactly the objects under its keys, over edits, lost connections, restarts and compaction; other objects cause no events. Invalid edits change nothing, and an interest is freed with its stream | `client_state_equals_server_state_under_its_keys`, `an_edit_lists_objects_of_one_revision`, `invalid_interests_are_refused`, `a_million_keys_are_refused`, `a_closed_interest_leaves_no_resources` |
//! | 22 | **A guard of a [`KindOf`] holds between objects**: conflicting objects never coexist, by whichever servers they are written, and one of two writers wins. A check that panics, is slow or never returns affects no other kind. Objects older than their guard can be deleted | `of_two_conflicting_writers_exactly_one_wins`, `no_two_objects_conflict_at_any_revision`, `a_conflict_between_check_and_commit_is_detected`, `a_panic_of_a_guard_is_reported_and_refuses_one_write`, `a_guard_that_hangs_blocks_only_its_kind`, `an_object_over_the_key_limit_can_be_deleted` |
//! | 23 | **A stalled watch is reset** within seconds and counted as `slow_watch`: only its stream, or its connection if that is blocked. Idle and slowly read watches continue | `a_stalled_watch_is_reset_and_others_of_its_connection_continue`, `a_slowly_read_watch_continues` |
//! | 24 | **A write records its trace context** in the annotation [`ANNOTATION`](machinery_objects::Traceparent::ANNOTATION). It causes no write by itself, keeps an annotation of the client, and ignores invalid headers. Design: `docs/designs/014-traces.md` | `a_change_records_its_trace_context`, `a_handle_writes_in_the_trace_of_its_caller`, `a_trace_context_alone_causes_no_write`, `a_trace_annotation_of_a_client_is_kept`, `an_invalid_traceparent_header_is_ignored` |
//! | 25 | **Access reviews** are answered and refused as Kubernetes does; an aggregated ClusterRole has the rules of its parts. **Impersonation** requires permission for each impersonated attribute and gives exactly the rights of that user; invalid impersonation is refused | the tests of `reviews`, `an_aggregated_role_has_the_rules_of_its_parts`, `impersonation_gives_exactly_the_rights_of_the_impersonated_user` |
//! | 26 | **Server-side apply equals that of Kubernetes**: objects, field ownership and conflicts, over random applies, updates and patches by three field managers (five thousand by `cargo xtask record applies --sequences 5000`), also of built-in kinds and `scale`. Its invariants hold over random schemas. Design: `docs/designs/016-server-side-apply.md` | `random_applies_equal_the_recorded_ones`, `writes_to_built_in_kinds_equal_those_of_kubernetes`, `applying_a_scale_owns_the_replicas`, `an_apply_gives_exactly_the_applied_fields`, `disjoint_applies_commute` |
//! | 27 | **The audit log follows its policy**, in the format of Kubernetes and before the response: every verb, refusals, start and end of watches, impersonation, panics. No secret value is in the audit log, another log, a trace, a metric or an event. Webhook calls are annotated. An event that cannot be written is counted and refuses the request only if so configured. Design: `docs/designs/018-audit.md` | `every_verb_is_logged_with_request_and_response`, `decisions_equal_those_of_a_naive_policy`, `no_line_has_the_value_of_a_secret`, `secrets_are_in_no_log_metric_trace_or_event`, `audit_annotations_of_webhooks_are_logged`, `mutations_by_webhooks_are_logged`, `failed_audit_writes_are_counted_and_refuse_requests_only_if_configured` |
//! | 28 | **Garbage collection equals a naive evaluation** over random owner graphs, with cycles and several owners, for all propagation policies and over restarts. An owner reference to another namespace is reported in an event, and a dependent of an owner of an unknown kind is kept until the kind is served | `garbage_collection_equals_a_naive_evaluation`, `propagation_policies_are_accepted_in_query_and_body`, `foreground_deletion_waits_for_blocking_dependents`, `a_deletion_begun_before_a_restart_is_completed`, `an_owner_reference_to_another_namespace_is_reported_in_an_event`, `a_dependent_of_an_unknown_owner_is_kept`, `owners_of_a_new_kind_are_checked_once_it_is_served` |
//! | 29 | **Protobuf responses** byte for byte as Go writes them, for built-in kinds and for metadata of every kind, if the client prefers them; long lists are streamed; watch events and errors, too. Design: `docs/designs/019-protobuf.md` | `encoded_bodies_equal_those_of_go`, `a_list_encoded_in_pieces_equals_that_of_go`, `encoded_objects_decode_to_the_same`, `built_in_kinds_are_returned_in_protobuf_on_request`, `metadata_of_custom_resources_is_returned_in_protobuf`, `a_long_list_in_protobuf_is_streamed`, `a_watch_in_protobuf_is_framed_by_lengths`, `an_error_of_a_watch_in_protobuf_is_an_event` |
//! | 30 | **The OpenAPI v2 document in protobuf**, which kubectl before 1.29 requires | `the_v2_openapi_document_is_served_in_protobuf`, `an_old_kubectl_reads_the_old_document`, `client_go_works_unmodified` |
//! | 31 | **A webhook configuration applies from its response on**, after a start, and to other servers of the store. Unsupported configurations are refused, and configurations are never sent to webhooks | `a_configuration_applies_from_its_response_on`, `configurations_apply_after_a_start_and_to_other_servers`, `an_unsupported_configuration_is_refused`, `configurations_are_never_sent_to_webhooks` |
//! | 32 | **Webhooks are called by their configurations**: rules and selectors, equivalent versions without loss of fields, the namespace of the request, order and reinvocation, and the request's attributes | `rules_match_as_in_a_naive_evaluation`, `a_webhook_is_called_for_requests_that_it_selects`, `equivalent_versions_are_converted_to_the_matched_one`, `fields_missing_in_an_equivalent_version_survive_a_webhook`, `the_namespace_in_an_object_does_not_affect_matching`, `webhooks_are_called_in_order_and_reinvoked_if_needed`, `a_review_has_the_attributes_of_the_request` |
//! | 33 | **Admission sees the committed state**: after a conflict the admission chain runs again, up to ten times. Objects mutated by a webhook are validated by the schema, and the fields have no field manager | `a_patch_is_applied_to_the_state_that_is_committed`, `a_change_between_admission_and_commit_repeats_admission`, `a_write_that_loses_every_attempt_is_refused_with_a_retry`, `a_mutated_object_is_validated_by_the_schema_and_stored`, `fields_set_by_a_webhook_have_no_field_manager` |
//! | 34 | **A failing webhook has the effect of its `failurePolicy`**. Recursion, redirects and growing patches are bounded. It is authenticated by its `caBundle` only, which may be a self-signed certificate. Its message and warnings reach the client | the cases `admission`, `a_failing_mutating_webhook_has_the_effect_of_its_failure_policy`, `a_failing_validating_webhook_has_the_effect_of_its_failure_policy`, `a_recursive_webhook_is_bounded`, `redirects_of_a_webhook_are_not_followed`, `a_patch_that_grows_is_refused`, `a_webhook_is_authenticated_by_its_ca_bundle_or_the_roots_of_the_server`, `a_self_signed_certificate_in_the_ca_bundle_is_trusted`, `a_denial_has_the_message_and_reason_of_the_webhook`, `warnings_reach_the_client_of_allowed_and_denied_requests` |
//! | 35 | **[`Admission`] applies on the wire and through handles**, and so do webhooks. A panic refuses one request | `in_process_admission_applies_on_the_wire_and_through_handles`, `a_panic_of_admission_refuses_one_request`, `webhooks_are_called_for_writes_through_a_handle` |
//! | 36 | **CEL rules**: `x-kubernetes-validations` with the messages, cost budgets and ratcheting of Kubernetes; invalid rules are refused with their definition. `matchConditions` of webhooks may use the authorizer | the cases `expressions`, `every_value_is_validated_by_its_rule`, `a_rule_over_its_cost_budget_is_stopped_and_reported`, `unchanged_violations_are_tolerated_unless_the_rule_uses_old_self`, `conditions_read_the_request_and_its_objects`, `conditions_authorize_the_user_of_the_request`, `conditions_over_the_cost_budget_refuse_the_request` |
//! | 37 | **Encryption at rest** by Kubernetes' `EncryptionConfiguration`, invisible to clients; no configured secret is in a file in plain. Keys are rotated at a start. A server that cannot decrypt its store names the object and key and does not start. Errors in the configuration name no secret. Design: `docs/designs/021-encryption-at-rest.md` | `configured_kinds_are_encrypted_on_both_write_paths`, `answers_equal_the_recorded_ones_on_an_encrypted_store`, `no_secret_is_in_any_file`, `keys_are_rotated_over_restarts_and_retired_ones_cannot_decrypt`, `a_server_without_the_key_does_not_start`, `invalid_providers_are_rejected_with_advice` |
//! | 38 | **A ResourceQuota is exact** under concurrent creation by any number of servers, from its response on, with the messages of Kubernetes, for numbers of every kind and resources of pods, services and claims, on the wire and through handles. A status includes every acknowledged creation and is right at rest. Unenforced settings are a warning. Design: `docs/designs/022-quotas.md` | `concurrent_creators_fill_a_quota_exactly`, `an_object_created_between_count_and_commit_is_counted`, `a_new_quota_applies_to_creations_after_its_response`, `a_quota_created_between_count_and_commit_is_enforced`, `an_object_over_the_quota_is_refused_as_in_kubernetes`, `objects_of_every_kind_are_counted_on_every_write_path`, `a_quota_applies_to_a_handle_as_on_the_wire`, `an_acknowledged_object_is_counted`, `no_revision_exceeds_a_quota_and_final_counts_are_exact`, `changes_without_a_running_server_are_counted_after_a_restart`, `a_writer_is_warned_of_unenforced_keys` |
//! | 39 | **Requests share the server fairly**: priority levels and flows of users with borrowing, queues with limits of length and time, a reserved lane for admins, and no seat for a request that waits. Design: `docs/designs/027-fair-shares.md` | `no_flow_starves`, `a_level_borrows_free_seats_and_returns_them`, `a_viewer_of_future_revisions_leaves_places_to_others`, `a_hanging_webhook_leaves_places_to_others_and_can_be_deleted`, `an_admin_has_a_seat_while_users_use_all_others`, `requests_beyond_the_share_of_a_user_are_refused_with_a_retry` |
//! | 40 | **A response is never lost**: after an early refusal the rest of a request is read, within limits of bytes and time, before the connection is closed in order. Design: `docs/designs/025-connections.md` | `python_reads_the_refusal_of_an_upload`, `go_reads_the_refusal_of_an_upload`, `curl_reads_the_refusal_of_an_upload` |
//! | 41 | **Unauthenticated connections displace no others**: they have few places and short deadlines, and the oldest is closed when places are short. A connection ends with the certificate of its client; a plain-text server refuses foreign origins | `anonymous_connections_do_not_lock_out_the_administrator`, `an_http1_connection_ends_after_an_unauthenticated_request`, `http1_connections_end_when_the_client_certificate_expires`, `http2_connections_end_when_the_client_certificate_expires`, `an_insecure_server_refuses_foreign_origins` |
//! | 42 | **The memory of a request is bounded** by a multiple of its body, errors and warnings included. Design: `docs/designs/026-bounds-of-memory.md`. **Work that never yields has a limit of cost** | `every_malformed_request_takes_bounded_memory`, `ten_thousand_unknown_fields_under_a_long_key_take_bounded_memory`, `a_long_access_review_takes_bounded_memory`, `history_of_a_large_object_takes_bounded_memory`, `a_selector_of_60_kb_is_refused_with_the_remedy`, `many_regular_expressions_in_a_definition_are_refused_with_the_remedy`, `a_long_enum_is_limited_by_the_cost_of_validation` |
//! | 43 | **A server starts on a full disk and serves reads.** Clock jumps renew no certificate | `a_server_started_on_a_full_disk_serves_reads_and_takes_writes_when_there_is_space`, `default_objects_missing_on_a_full_disk_are_created_later`, `a_clock_that_jumps_a_year_ahead_for_seconds_renews_no_certificate` |
//! | 44 | **Objects that clients of a cluster expect** are maintained: the ServiceAccount `default`, `kube-root-ca.crt`, the Service `kubernetes` and an APIService for each group version. Design: `docs/designs/024-kinds-without-controllers.md` | `every_namespace_has_a_default_account_and_the_root_certificate`, `the_service_of_the_server_is_created_again`, `each_group_version_has_an_available_api_service`, `an_immutable_config_map_keeps_no_other_namespace_from_its_objects` |
//! | 45 | **Small things are as in kube-apiserver**: audit IDs, paths, names of health checks, hashes of documents, the order of decoding errors, validation of Secrets, Events, Leases, ConfigMaps and roles, pods deleted before the rest of a namespace. Design: `docs/designs/028-answers-of-kube-apiserver.md` | the tests of `differences` |
//! | 46 | **A [`CrossKindGuard`] holds between objects of several kinds**, built-in ones included, and at deletions: of two Deployments with one label value exactly one is created, and a create and a delete that meet leave no dangling reference, through any number of servers. A deletion is checked once, at its request; cascades are never refused. Design: `docs/designs/033-admission-elsewhere.md` | the tests of `guards::cross`; `of_two_deployments_with_one_label_value_exactly_one_is_created`, `a_create_and_a_delete_that_meet_leave_no_dangling_reference`, `a_reference_that_is_created_during_a_deletion_is_detected`, `deletion_of_a_namespace_is_not_refused_by_its_contents`, `garbage_collection_is_not_refused` |
//! | 47 | **In-process [`Admission`] warns, annotates and reads**: warnings reach the client and annotations the audit log, also of denied requests; other objects are read at one revision per attempt | `warnings_of_admission_reach_the_client_of_allowed_and_denied_requests`, `annotations_of_admission_are_in_the_audit_log`, `admission_reads_other_objects_at_one_revision`, `a_read_over_the_limit_refuses_the_request_with_the_remedy` |
//! | 48 | **A [`WebhookServer`] (feature `webhook`) serves [`Admission`] plugins and the hooks of kinds** as AdmissionReview v1 to clusters of others, with the effect that they have in process. Certificates and the CA of clients are replaced while it runs; invalid reviews, slow clients and panics cost one request; manifests have the rules of all hooks. Design: `docs/designs/033-admission-elsewhere.md` | the tests of `webhook`; `hooks_through_a_webhook_have_the_effect_that_they_have_in_process`, `the_certificate_and_its_authority_are_replaced_while_it_runs`, `reviews_need_a_client_certificate_of_the_current_authority`, `invalid_reviews_are_refused_with_the_remedy_and_change_nothing`, `manifests_have_the_rules_of_all_hooks` |
//!
//! # Non-goals
//!
//! - Conversion webhooks are not supported yet and are refused with the right error. There are no
//!   service account tokens.
//! - Quotas of extended resources (`example.com/gpu`) are accepted with a `Warning` and not
//!   enforced; LimitRanges are plain records. A write through a handle returns no warnings: the
//!   status lists the enforced resources.
//! - Where Kubernetes accepts a request by accident, this server refuses it: see `differs` in
//!   `tests/differential/cases/`. Request bodies cannot be compressed.
//! - Owners are identified by UID alone: a reference with the right UID and a wrong name or kind
//!   has an owner. Kubernetes deletes such a dependent. A writer of an object may also
//!   block the foreground deletion of its owner (`blockOwnerDeletion`): the admission plugin
//!   `OwnerReferencesPermissionEnforcement`, off by default in Kubernetes, is not implemented. If
//!   an owner and the definition of its kind are deleted while no collector runs, its dependents
//!   are kept.
//! - Discovery and tables are served in JSON or YAML, never in protobuf. Clients accept JSON, too.
//! - Server-side controllers call neither webhooks nor [`Admission`]: their writes follow from
//!   admitted ones. There is no `CONNECT`. Without the feature `server` webhook calls fail, and
//!   `failurePolicy` applies.
//! - There is no scheduler, and there are no controllers of workloads, volumes, networks or
//!   certificates: their kinds are plain records. Requests are not proxied to the service of an
//!   APIService. Design: `docs/designs/024-kinds-without-controllers.md`.
//! - An object deeper than 120 levels is refused, so that every client can read it, and so is a
//!   body deeper than 128 levels or with more than 100 000 values: the memory of a request is a
//!   small multiple of its bytes. Kubernetes accepts both.
//!
//! # Spans
//!
//! `request` (info): one per request over the wire, with `method`, `path`, `status`, `trace_id`,
//! `span_id` and, for a remote parent, `parent_id`; with `sampled` = false if the parent is not
//! sampled.
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
//! let mut service = server.service(Identity::admin());                  // for kube::Client::new
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
//! A kube-rs controller tested without a cluster: `docs/guides/test-a-controller.md`. Guards,
//! fences and interest watches: `docs/guides/beyond-kubernetes.md`. Admission plugins, guards over
//! several kinds and webhooks: `docs/guides/admission.md`.
//!
//! # Features
//!
//! `k8s`: handles of kube types and kinds derived by kube. Without it a handle of any type needs
//! its kind.
//!
//! `server`: a server on a socket, with TLS and generated certificates. Not a default feature.
//! `webhook`: [`WebhookServer`], in-process admission as a webhook of another cluster; without the
//! server's own socket. `testing`: entry points of mutation tests and fuzz targets.

#![allow(
    clippy::result_large_err,
    reason = "a refusal is created once per request, with all details for clients"
)]

mod accept;
mod admission;
mod audit;
mod auth;
mod bounded;
mod builtin;
mod cache;
mod change;
mod commits;
mod controllers;
mod crd;
mod discovery;
mod documents;
mod encryption;
mod fence;
mod flowcontrol;
mod go_format;
mod guard;
mod handle;
mod http;
mod interest;
mod invalid;
mod json;
mod kind;
#[cfg(any(feature = "server", feature = "webhook"))]
mod listen;
mod long_work;
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
mod steady_clock;
mod storage;
mod strategy;
mod table;
/// Entry points of mutation tests and fuzz targets.
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(any(feature = "server", feature = "webhook"))]
mod tls;
mod verbs;
mod watch;
#[cfg(feature = "webhook")]
mod webhook;
mod yaml;

pub use admission::{Admission, AdmissionReadError, AdmissionReader, Attributes, Denied, Operation};
pub use audit::{Audit, AuditFile, AuditPolicy, AuditPolicyError, AuditSink};
pub use auth::Identity;
pub use commits::{CommitItem, Commits, CommitsError, CommittedChange, ServerCommit};
pub use controllers::ClusterFacts;
pub use encryption::{Encryption, EncryptionError};
pub use guard::{CrossKindGuard, GuardedObject, GuardedWrite};
pub use handle::{Handle, KindDirectory};
pub use http::{Body, Service};
#[cfg(feature = "server")]
pub use listen::{Access, CertificateFiles, Listen, ListenError, Reloaded};
#[cfg(any(feature = "server", feature = "webhook"))]
pub use listen::{LingerLimits, LingeringStream, TrackedBody, UnreadBody, track_body};
pub use metrics::metric_descriptions;
pub use own::{KindOf, Wrong};
pub use refusal::{About, Cause, Refusal};
pub use server::{ApiServer, Builder, Limits, StartError};
#[cfg(feature = "webhook")]
pub use webhook::{
    AdmissionHooks, AdmissionRule, ReviewError, ReviewPhase, WebhookEndpoint, WebhookLimits, WebhookMetrics,
    WebhookServer, WebhookServerError, WebhookTls,
};

/// The guides, to compile and run their examples.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/test-a-controller.md")]
struct TestAController;
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/admission.md")]
struct AdmissionGuide;
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/audit.md")]
struct AuditGuide;
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/encryption.md")]
struct EncryptionGuide;
#[cfg(doctest)]
#[doc = include_str!("../../docs/guides/beyond-kubernetes.md")]
struct BeyondKubernetes;
