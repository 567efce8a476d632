//! The example programs of this crate run to their end; each checks its own results.
#![allow(unreachable_pub, reason = "the examples are programs, too")]

#[path = "../../examples/keyed_informer.rs"]
mod keyed_informer;
#[path = "../../examples/lookup_map.rs"]
mod lookup_map;

#[test]
fn the_example_keyed_informer_runs() {
    keyed_informer::main().unwrap();
}

#[test]
fn the_example_lookup_map_runs() {
    lookup_map::main().unwrap();
}
