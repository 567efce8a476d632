//! Informers beside kube-runtime's and client-go's: on a source in the process, and over the wire from one server.
//!
//! [`rows`] lists the shapes and the rows they fill. A shape is [`measured`] in [`steps`](step), which go to a process that begins
//! with it and ends with it: [`process`] is that of what is written in Rust, [`ours`] and [`kube`]; client-go has
//! `bench/peers/go/informer*.go`. What they are synced with is a [`site`], or [`text`] where the server has to misbehave.

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
