//! Whether somebody may: roles say what may be done, bindings say by whom and where. What no rule allows is refused;
//! no rule forbids.
//!
//! * [`attributes`]: what is asked for, and the refusal of it
//! * [`rule`]: one rule of a role; [`cover`]: whether rules hold all that another one does
//! * [`aggregate`]: roles that are made of others
//! * [`rules`]: all of them, found by subject; [`decision`]: what they say
//! * [`grant`]: whether somebody may give what a role or a binding gives
//! * [`validate`]: what roles and bindings must be
//! * [`defaults`]: the roles and bindings that a new server has

pub(crate) mod attributes;
pub(crate) mod decision;
pub(crate) mod defaults;
pub(crate) mod rules;
pub(crate) mod validate;

mod aggregate;
mod cover;
mod grant;
mod quote;
mod rule;

#[cfg(test)]
mod tests;

pub(crate) use aggregate::selector;
pub(crate) use attributes::{Attributes, On, Resource};
pub(crate) use defaults::defaults;
pub(crate) use rules::Rules;

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
