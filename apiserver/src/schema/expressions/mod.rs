//! CEL validation rules, `x-kubernetes-validations`: compiled with their schema, and evaluated over
//! objects.

mod compile;
mod cost;
mod field_path;
mod hold;
mod known;
mod rule;
#[cfg(test)]
mod tests;

pub(super) use compile::compile;
pub(crate) use known::Known;
pub(crate) use rule::Rule;
