//! Built-in kinds: those of Kubernetes that controllers use.

mod config;
mod definition;
mod event;
mod list;
mod namespace;
pub(crate) mod openapi;
mod pod_update;
mod pruned;
mod rules;

pub(crate) use definition::key as definition_key;
pub(crate) use pruned::prune;

pub(crate) use list::{definition, kinds, namespace, quota, scale};
