//! One test program.

mod recorded;
