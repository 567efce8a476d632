//! How many objects a namespace may have.

mod held;
mod model;
mod races;
mod roads;
mod said;
mod status;
mod tools;
