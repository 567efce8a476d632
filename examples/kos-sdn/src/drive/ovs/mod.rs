//! The fabric of Open vSwitch, and the protocols that it speaks.

pub mod openflow;
