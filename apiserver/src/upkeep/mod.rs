//! Server-side controllers: definitions, RBAC and webhooks take effect, namespaces are emptied, the
//! garbage collector runs, quota statuses are updated and Events expire.

mod begin;
mod definitions;
mod events;
mod family;
mod follow;
mod garbage;
mod namespaces;
mod plans;
mod quotas;
mod roles;
mod settle;
mod webhooks;
mod writes;

pub(crate) use begin::begin;
pub(crate) use plans::Known;
pub(crate) use settle::settle;
