//! Quotas: the number of objects in a namespace.

mod held;
mod model;
mod races;
mod roads;
mod said;
mod status;
mod tools;
