//! One binary for all integration tests of this crate, because linking dominates their build time.
#![cfg(not(machinery_loom))]
#![allow(clippy::unwrap_used, reason = "in helpers too, which clippy does not know for tests")]

mod errors;
mod events;
mod fields;
#[cfg(feature = "k8s")]
mod k8s;
mod labels;
mod model;
mod names;
mod plane;
mod ports;
mod selectors;
mod traces;

use std::error::Error;

/// An error with its chain of sources, as a program prints it.
fn report(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text += ": ";
        text += &error.to_string();
        source = error.source();
    }
    text
}
