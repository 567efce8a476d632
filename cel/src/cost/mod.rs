//! Costs of expressions: [`actual`] at run time, and [`estimate`] at compile time from the schema.
//! Both use the arithmetic of Kubernetes, since both decide acceptance.

pub(crate) mod actual;
pub(crate) mod estimate;
mod library;
mod size;
