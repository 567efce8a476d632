//! Quotas: the number of objects in a namespace.

mod amounts;
mod held;
mod model;
mod races;
mod roads;
mod said;
mod status;
mod tools;
