//! Planes, on both roads, and controllers that crash, or run beside one of kube-runtime.
#![cfg(all(feature = "embedded", feature = "kube", feature = "server"))]
#![allow(clippy::unwrap_used)]

mod chosen;
mod crashes;
mod differential;
mod ends;
mod fences;
mod hosts;
mod leads;
#[cfg(feature = "otel")]
mod otel;
mod pages;
mod planes;
#[path = "../samples/mod.rs"]
mod samples;
