//! Tests of the whole cache: as a store, against a naive implementation, and rare events.

mod behind;
mod conformance;
mod edges;
mod naive;
mod rekey;
mod tools;
