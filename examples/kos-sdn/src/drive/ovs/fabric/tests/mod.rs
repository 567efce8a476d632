//! The fabric on a simulated Open vSwitch, and on a real one if there is one.

mod bad_input;
mod bench;
mod crashes;
mod disturbances;
mod lifecycle;
mod real;
mod real_faults;
mod real_switch;
