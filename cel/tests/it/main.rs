//! Integration tests, as one binary.

#![allow(clippy::unwrap_used, reason = "in helpers too, which clippy does not know for tests")]

mod corpus;
mod properties;
mod recorded;
