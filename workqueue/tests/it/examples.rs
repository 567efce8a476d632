//! The example programs of this crate run to their end; each checks its own results.
#![allow(unreachable_pub, reason = "the examples are programs, too")]

#[path = "../../examples/thumbnails.rs"]
mod thumbnails;

#[test]
fn the_example_thumbnails_runs() {
    thumbnails::main().unwrap();
}
