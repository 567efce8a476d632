//! The fabric for Open vSwitch.
//!
//! [`links`] reaches the kernel's network interfaces.

pub mod links;
