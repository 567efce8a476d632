//! Kinds of Rust types: the macro, their definitions, and section write times.

mod compare;
mod conditions;
mod definition;
mod macros;
mod manifest;
mod object;
mod paths;
mod rules;
mod schema;
mod sections;

pub use compare::{DefinitionDifference, differences};
pub use conditions::{ConditionState, Conditions};
pub use definition::KindDefinition;
pub use sections::{SectionWrite, SectionWrites};

#[cfg(test)]
mod tests;
