//! Role-based access control: roles list permissions, bindings grant them to subjects. A request is
//! allowed if a rule allows it; there are no deny rules.
//!
//! * [`attributes`]: the attributes of a request, and its refusal
//! * [`rule`]: one rule of a role; [`cover`]: whether rules include another one
//! * [`aggregate`]: aggregated roles
//! * [`rules`]: all roles and bindings, indexed by subject; [`decision`]: decisions
//! * [`grant`]: prevents privilege escalation
//! * [`validate`]: validation of roles and bindings
//! * [`defaults`]: the roles and bindings of a new server

pub(crate) mod attributes;
pub(crate) mod decision;
pub(crate) mod defaults;
pub(crate) mod rules;
pub(crate) mod validate;

mod aggregate;
mod cover;
mod grant;
mod rule;

#[cfg(test)]
mod tests;

pub(crate) use aggregate::selector;
pub(crate) use attributes::{RequestAttributes, RequestTarget, ResourceAttributes};
pub(crate) use defaults::defaults;
pub(crate) use rules::RbacPolicy;

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
