//! Planes, on both roads.
#![cfg(all(feature = "embedded", feature = "kube", feature = "server"))]
#![allow(clippy::unwrap_used)]

mod planes;
