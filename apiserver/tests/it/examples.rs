//! The example programs of this crate run to their end; each checks its own results.
#![allow(unreachable_pub, reason = "the examples are programs, too")]

#[path = "../../examples/admission.rs"]
mod admission;
#[path = "../../examples/guard.rs"]
mod guard;

#[test]
fn the_example_admission_runs() {
    admission::main().unwrap();
}

#[test]
fn the_example_guard_runs() {
    guard::main().unwrap();
}
