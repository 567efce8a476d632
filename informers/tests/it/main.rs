//! Informers on real sources.
#![cfg(not(machinery_loom))]
#![allow(clippy::unwrap_used)]

mod keyed;
mod on_the_server;
