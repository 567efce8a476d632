//! The control plane of a software-defined network, on Machinery: subnets of VXLAN networks, IPAM,
//! and node agents that create interfaces and the flows between them. A rewrite of KOS, the
//! Kubernetes OVS SDN in Go, which comments here call the original.
//!
//! - [`model`]: the API kinds with validation, and their CustomResourceDefinitions.
//! - [`plan`]: all decisions, as pure functions and state machines.
//! - [`drive`]: the data path of a node: the trait [`Fabric`](drive::Fabric) of a switch, and
//!   implementations.
//! - [`controllers`] and [`agent`]: thin shells around the decisions: the subnet validator and the
//!   IPAM controller; the node agent.
//! - [`checker`]: the invariant checker; [`metrics`]: metrics, and a dashboard for them.
//! - [`lab`]: hosts with Open vSwitch on one machine, as network namespaces.
//! - [`load`]: the load generator and its reports.
//! - [`probe`]: pings and traces through node agents; [`up`]: a whole cluster in one process;
//!   [`command`]: the command line.
//!
//! # Promises
//!
//! Each test is a function of that name: `cargo test -p kos NAME`. A file instead of a name stands
//! for all tests in it. The invariant checker runs in the tests with controllers.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | Subnets of a network never overlap and share a namespace, for any writer, on our server | `overlapping_subnets_are_rejected`, `one_of_concurrent_conflicting_subnets_is_created` |
//! | 2 | Immutable fields cannot change, on our server and on any cluster | `immutable_fields_cannot_change`, `the_definitions_in_the_tree_are_current` |
//! | 3 | The server stamps each write, by section | `each_section_is_stamped_when_it_is_written` |
//! | 4 | Two addresses, of one network or of two, never share a MAC address, an interface name or a lock | `no_two_addresses_share_a_mac`, `no_two_addresses_share_a_lock` |
//! | 5 | At most one of several conflicting subnets is validated, with any number of validators; without conflict a subnet eventually is | `two_validators_never_validate_conflicting_subnets`; every interleaving of two: `plan/races/subnets.rs` |
//! | 6 | An address is written only under its lock; waiters are notified and get released addresses in order, also after restarts | `status_records_the_address_and_its_lock`; every interleaving of two controllers and two claimants: promises 29 to 34 of the crate `controllers`; `released_addresses_go_to_waiters_in_order`, `wait_queue_order_survives_controller_restarts`, `deleted_waiters_block_nobody`, `recreated_attachment_is_a_new_waiter` |
//! | 7 | Frames follow the flows only: between interfaces of one network, from their own addresses; without flows nothing is forwarded | `a_ping_crosses_the_underlay`, `networks_are_isolated`, `spoofed_frames_are_dropped`, `a_switch_without_flows_forwards_nothing`, `a_ping_stops_with_any_flow_that_is_deleted` |
//! | 8 | Attachments of a network reach each other, and a node watches its own networks only | `attachments_of_a_network_reach_each_other` |
//! | 9 | An agent adopts its interfaces, deletes those without owner and repairs flows; it reports and retries failures | `agent_adopts_owned_interfaces_and_deletes_others`, `restarted_switch_gets_its_flows_back`, `fabric_error_is_reported_and_retried` |
//! | 10 | An address is released after its node has deleted the interface; its next holder then gets an interface at once | `address_is_released_after_its_interface`, `stale_remote_interface_yields_to_the_lock_holder` |
//! | 11 | One command runs a cluster with working pings, and others probe it from other processes | `up_once_pings_and_exits_with_success`, `ping_and_trace_work_from_another_process` |
//! | 12 | An allowed program runs once per interface, with limits of time and concurrency, and its process group ends with it; its result is reported | `disallowed_program_is_reported_and_not_run`, `adopted_interface_does_not_rerun_its_program`, `time_limit_kills_the_process_group`, `concurrent_and_waiting_programs_are_limited`, `shutdown_kills_running_programs`, `program_result_is_reported` |
//! | 13 | The latency of each step is measured by cause and shown per attachment; a dashboard has all metrics | `each_latency_is_observed_once`, `latest_write_is_the_cause`, `timeline_names_the_cause_of_each_write`, `observations_are_on_the_page_with_labels`, `the_dashboard_and_the_table_in_the_tree_are_current` |
//! | 14 | Arbitrary bytes panic neither switch nor frame parser, and are forwarded only as the flows say | `arbitrary_frames_follow_the_flows`, `arbitrary_bytes_do_not_panic` |
//! | 15 | An attachment that changes its network converges, in every order of events | `plan/races/moves.rs` |
//! | 16 | A crash before or after any effect of a component changes nothing in the converged state: no object or interface is left over | `controllers_crashing_at_any_effect_converge_to_the_same_state`, `agent_crashing_at_any_effect_converges_to_the_same_state` |
//! | 17 | Each component can run as a process with the rights of its role only; frames travel between processes as VXLAN | `each_component_runs_as_a_process_with_its_own_role` (also: kubectl waits for conditions), `frames_go_between_processes_over_udp`, `vxlan_header_matches_the_rfc` |
//! | 18 | A webhook validates and stamps for other servers as our server does | `new_object_is_stamped_without_status`, `invalid_objects_are_denied_with_causes`, `reviews_are_answered_over_tls`, `webhook_manifests_have_all_kinds` |
//! | 19 | A load is generated as planned, and measured | `no_slot_is_used_twice_at_a_time`, `load_is_created_tested_and_reported`, `contended_load_is_reported_separately` |
//! | 20 | A namespace of a workload belongs to one agent, from its first moment; those of others are never changed, and a deleted one is not kept alive | `namespaces_of_others_are_left_alone`, `a_name_without_namespace_keeps_its_owner`, `a_namespace_deleted_by_hand_is_reported`, `an_orphan_of_a_killed_switch_is_replaced` |
//! | 21 | `kos lab down` removes all of a lab, also after `up` was killed at any moment, and nothing else | `down_removes_a_lab_stopped_at_any_effect`, `down_removes_the_lab_of_a_killed_process`, `foreign_files_and_namespaces_stay` |
//! | 22 | An agent writes attachments and probes of its own node only, on our server and by a policy on any cluster; a probe's frames come from attachments of its namespace | `agents_write_objects_of_their_own_node_only`, `probe_from_another_namespace_is_refused` |
//! | 23 | An agent starts piece by piece: an orphan that cannot be deleted, or a network that cannot be watched, delays nothing else and is reported; repairs follow disturbances at once | `orphan_that_cannot_be_deleted_delays_nothing`, `orphan_that_blocks_an_address_is_reported_there`, `network_that_cannot_be_watched_delays_nothing`, `disturbance_is_repaired_without_the_timer`, `broken_interface_is_reported_until_it_is_repaired` |
//! | 24 | `kos up --fabric ovs` runs a cluster on real switches, and leaves nothing | `up_on_switches_pings_and_leaves_nothing`, `up_on_switches_names_missing_requirements` |
//!
//! # Non-goals
//!
//! IPv6, DHCP, broadcast other than ARP, and routing between networks.
//!
//! # Example
//!
//! Two nodes, each with an interface in network 17, and an ICMP echo between them:
//!
//! ```
//! use kos::drive::Fabric;
//! use kos::drive::sim::{SimLimits, Underlay};
//! use kos::model::Vni;
//! use kos::plan::{AddressKey, LocalInterface, RemoteInterface};
//! use std::net::Ipv4Addr;
//!
//! # #[machinery::tokio::main(crate = "machinery::tokio", flavor = "current_thread")]
//! # async fn main() -> machinery::Result {
//! let nodes = [1, 2].map(|low| Ipv4Addr::new(192, 0, 2, low));
//! let guests = [2, 3].map(|low| Ipv4Addr::new(10, 1, 0, low));
//! let vni = Vni::new(17)?;
//! let underlay = Underlay::new(SimLimits::default());
//! for (here, there) in [(0, 1), (1, 0)] {
//!     let fabric = underlay.join(nodes[here])?;
//!     fabric.create_local(&LocalInterface::new(vni, guests[here])).await?;
//!     fabric.create_remote(&RemoteInterface::new(vni, guests[there], nodes[there])).await?;
//! }
//! underlay.ping(nodes[0], AddressKey { vni, address: guests[0] }, guests[1], 1)?;
//! # Ok(()) }
//! ```

pub mod agent;
pub mod checker;
pub mod command;
pub mod controllers;
pub mod drive;
pub mod lab;
pub mod load;
pub mod metrics;
pub mod model;
pub mod plan;
pub mod probe;
pub mod up;
