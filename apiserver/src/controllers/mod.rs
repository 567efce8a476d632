//! Server-side controllers: definitions, RBAC and webhooks take effect, namespaces are emptied, the
//! garbage collector runs, quota statuses are updated and Events expire.

mod after_write;
mod cluster;
mod definitions;
mod events;
mod garbage_collector;
mod late;
mod namespace_conditions;
mod namespaces;
mod owner_graph;
mod plans;
mod quotas;
mod roles;
mod running;
mod start;
mod trigger;
mod webhooks;
mod writes;

pub(crate) use after_write::after_write;
pub use cluster::ClusterFacts;
pub(crate) use late::LateObjects;
pub(crate) use plans::KnownDefinitions;
pub(crate) use running::{Controller, EndedControllers, ended};
pub(crate) use start::start;
