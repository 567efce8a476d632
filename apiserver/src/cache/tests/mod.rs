//! The cache as a whole: as a store, beside the naive way of watching, and at its edges.

mod behind;
mod conformance;
mod edges;
mod naive;
mod rekey;
mod tools;
