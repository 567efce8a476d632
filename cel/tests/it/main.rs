//! One test program.

mod properties;
mod recorded;
