//! The example programs of this crate run to their end; each checks its own results.
#![allow(unreachable_pub, reason = "the examples are programs, too")]

#[path = "../../examples/allocator.rs"]
mod allocator;
#[path = "../../examples/kind_at_run_time.rs"]
mod kind_at_run_time;

#[test]
fn the_example_allocator_runs() {
    allocator::main().unwrap();
}

#[test]
fn the_example_kind_at_run_time_runs() {
    kind_at_run_time::main().unwrap();
}
