//! Built-in kinds: those of Kubernetes that controllers use.

pub(crate) mod api_service;
mod autoscaling;
mod certificates;
mod config;
mod defaults;
mod definition;
mod event;
mod event_rules;
mod lease;
mod list;
mod namespace;
pub(crate) mod openapi;
mod pod_update;
mod pruned;
mod rules;
mod secret_types;
mod templates;
mod zeros;

pub(crate) use definition::key as definition_key;
pub(crate) use pruned::prune;

pub(crate) use list::{
    api_service, config_map, definition, kinds, namespace, quota, scale, service, service_account,
};
