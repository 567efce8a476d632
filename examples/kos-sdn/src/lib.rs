//! The control plane of a software-defined network, on Machinery: subnets of VXLAN networks, addresses in them, and agents on nodes
//! that make interfaces and the flows between them.
//!
//! - [`model`]: the kinds, what the server notes and refuses of their objects, and their definitions for any cluster.
//! - [`plan`]: what is to be done, as pure functions and state machines.
//! - [`drive`]: how it is done on a node: the port [`Fabric`](drive::Fabric), and fabrics.
//! - [`controllers`] and [`agent`]: thin shells around the decisions: who says which subnets count and gives addresses, and who makes
//!   interfaces on a node.
//! - [`audit`]: what must hold at every moment, watched in every test.
//! - [`driver`]: load by a plan; [`hook`]: a webhook that does beside another server what ours does of its own.
//! - [`probe`]: questions to nodes about frames; [`up`]: all of it in one process; [`command`]: the binary.
//!
//! # What it promises
//!
//! 1. **Two subnets of a network never overlap, and are never in two namespaces**, whoever writes, where our server has the kinds
//!    (`subnets_of_a_network_that_overlap_are_refused`, `of_two_subnets_at_once_one_is_made`).
//! 2. **What never changes is refused as that** (`what_never_changes_is_forbidden`); on any cluster too (`the_definitions_in_the_tree_are_current`).
//! 3. **Each write is noted by the server, section by section** (`each_section_is_stamped_when_it_is_written`).
//! 4. **No two addresses of networks share a MAC address, a name of an interface or a lock** (`no_two_addresses_share_a_mac`,
//!    `no_two_addresses_share_a_lock`).
//! 5. **Of subnets in each other's way at most one is validated**, with any number of validators
//!    (`two_validators_never_validate_two_in_each_others_way`; in every order of two: `plan/races/subnets.rs`), and whoever can be in the end is.
//! 6. **An address is written only under its lock** (`an_address_is_never_written_without_its_lock`; in every order of two who give and two who
//!    want one: `plan/races/addresses.rs`). **Who waits is told, and has what is freed in order**, over restarts too
//!    (`who_waits_is_told_and_has_what_is_freed_in_order`, `a_line_keeps_its_order_when_the_controllers_begin_anew`,
//!    `who_leaves_the_line_holds_up_nobody`, `an_attachment_that_is_made_again_is_another`).
//! 7. **Frames go where the flows say, and nowhere else**: between interfaces of one network, from whom they say they are
//!    (`a_ping_crosses_the_underlay`, `networks_do_not_hear_each_other`, `who_lies_is_not_heard`). Without flows nothing goes anywhere
//!    (`a_switch_without_flows_forwards_nothing`, `a_ping_stops_with_any_flow_that_is_deleted`).
//! 8. **Attachments of a network reach each other, and a node hears of its own networks only** (`attachments_of_a_network_reach_each_other`).
//! 9. **An agent keeps what it finds, takes away what is nobody's, and puts flows right**
//!    (`what_is_there_when_an_agent_begins_is_kept_and_what_is_nobodys_goes`, `a_switch_that_lost_its_flows_has_them_again`); what it cannot do it
//!    says, and tries again (`a_node_that_cannot_make_an_interface_says_so_and_tries_again`).
//! 10. **An address is free when its node has no interface of it, and not before** (`an_address_is_free_when_its_node_has_no_interface_of_it`);
//!     and who has it then has its interface at once (`an_address_that_was_elsewhere_makes_way_for_who_has_its_lock`).
//! 11. **One command shows frames that arrive** (`one_command_shows_frames_that_arrive_and_ends_well`), and others ask the nodes from other
//!     processes (`a_ping_and_a_trace_from_another_process`).
//! 12. **A program runs once for an interface**, if the agent may run it (`a_program_that_may_not_run_does_not_and_it_is_said`,
//!     `of_an_interface_that_is_found_the_program_does_not_run_again`): only so long, only so many at once, and what it began ends with it
//!     (`who_takes_too_long_is_killed_with_all_that_it_began`, `so_many_run_at_once_and_so_many_wait`, `who_is_told_to_stop_leaves_nothing_running`).
//!     What became of it is said (`what_became_of_a_program_is_said`).
//! 13. **What each step took is counted, by cause** (`each_step_of_each_attachment_is_counted_once`, `what_came_last_is_what_was_waited_for`), and
//!     told of each attachment (`each_step_says_what_it_waited_for`); a dashboard shows all that is counted
//!     (`every_number_has_a_panel_and_none_two`, `the_dashboard_in_the_tree_is_current`).
//! 14. **No frame harms a switch or a guest** (`no_frame_harms_a_switch`).
//! 15. **Who changes its network is where it is in the end**, in whatever order a node hears of it (`plan/races/moves.rs`).
//! 16. **A crash at any effect leaves nothing over** (`controllers_that_are_stopped_at_any_effect_leave_nothing_and_end_up_the_same`,
//!     `an_agent_that_is_stopped_at_any_effect_leaves_nothing_and_ends_up_the_same`).
//!
//! 17. **Each component may run in a process of its own, and may do what is its own and no more**
//!     (`each_component_is_a_process_that_may_do_what_is_its_own`); frames go between them as VXLAN has them
//!     (`frames_go_between_processes_over_udp`, `a_header_is_that_of_the_rfc`).
//! 18. **A webhook does beside another server what ours does of its own** (`a_new_object_is_stamped_and_has_no_status`,
//!     `what_is_wrong_is_refused_with_its_causes`, `reviews_are_answered_over_tls`).
//! 19. **A load is made as it was planned, and looked at** (`no_slot_is_used_twice_at_a_time`,
//!     `a_load_is_made_and_tested_and_a_report_says_how_long_each_step_took`, `a_load_that_has_to_wait_for_addresses_is_told_apart`).
//!
//! All of it is audited while it is tested: [`audit`] holds each change that the server commits against what must hold.
//!
//! # What it does not do
//!
//! It knows no IPv6, no DHCP, no broadcast but ARP, no routes between networks, and sets no address inside of an interface.
//!
//! # Example
//!
//! Two nodes, each with an interface in network 17, and a real exchange of frames between them:
//!
//! ```
//! use kos::drive::Fabric;
//! use kos::drive::sim::{SimLimits, Underlay};
//! use kos::model::Vni;
//! use kos::plan::{AddressKey, Local, Remote};
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
//!     fabric.create_local(&Local::new(vni, guests[here])).await?;
//!     fabric.create_remote(&Remote::new(vni, guests[there], nodes[there])).await?;
//! }
//! underlay.ping(nodes[0], AddressKey { vni, address: guests[0] }, guests[1], 1)?;
//! # Ok(()) }
//! ```

pub mod agent;
pub mod audit;
pub mod command;
pub mod controllers;
pub mod drive;
pub mod driver;
pub mod hook;
pub mod metrics;
pub mod model;
pub mod plan;
pub mod probe;
pub mod until;
pub mod up;
