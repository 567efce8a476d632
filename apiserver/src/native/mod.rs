//! Built-in kinds: those of Kubernetes that controllers use.

mod config;
mod definition;
mod event;
mod event_rules;
mod lease;
mod list;
mod namespace;
pub(crate) mod openapi;
mod pruned;
mod rules;
mod secret_types;
mod zeros;

pub(crate) use definition::key as definition_key;
pub(crate) use pruned::prune;

pub(crate) use list::{definition, kinds, namespace, quota, scale};
