//! The example programs of this crate run to their end; each checks its own results.
#![allow(unreachable_pub, reason = "the examples are programs, too")]

#[path = "../../examples/finalizer.rs"]
mod finalizer;
#[path = "../../examples/host_names.rs"]
mod host_names;
#[path = "../../examples/leader_election.rs"]
mod leader_election;

#[test]
fn the_example_finalizer_runs() {
    finalizer::main().unwrap();
}

#[test]
fn the_example_host_names_runs() {
    host_names::main().unwrap();
}

#[test]
fn the_example_leader_election_runs() {
    leader_election::main().unwrap();
}
