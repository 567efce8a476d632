//! Planes, on both roads, and controllers that crash.
#![cfg(all(feature = "embedded", feature = "kube", feature = "server"))]
#![allow(clippy::unwrap_used)]

mod apps;
mod crashes;
mod planes;
