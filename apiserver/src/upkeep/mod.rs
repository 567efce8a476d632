//! What the server does without being asked: kinds follow their definitions, roles and bindings take effect, namespaces
//! and owned objects go when they should, quotas say what is used, events expire.

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
