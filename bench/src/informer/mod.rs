//! Informers beside those of kube-runtime and client-go: over an in-process source, and over the
//! wire from one server.
//!
//! [`rows`] lists the shapes and the rows they fill. A shape is [`measured`] in [`steps`](step),
//! sent to a process of its own: [`process`] for the Rust subjects [`ours`] and [`kube`],
//! `bench/peers/go/informer*.go` for client-go. The informers sync with a [`site`], or with
//! [`text`] for a misbehaving server.

mod agents;
pub(crate) mod configs;
mod irrelevant;
mod kube;
mod measured;
pub(crate) mod ours;
pub(crate) mod pods;
mod process;
mod readers;
mod rows;
mod shape;
pub(crate) mod site;
mod step;
mod suite;
mod text;

pub(crate) use process::{InformerLibrary, serve};
pub(crate) use suite::run;
