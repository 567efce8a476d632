//! Tests of the codec, of the client against a scripted switch, and of both against Open vSwitch.

mod codec;
mod faults;
mod open_vswitch;
pub(crate) mod real_switch;
mod scripted;
