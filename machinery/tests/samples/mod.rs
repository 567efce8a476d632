//! Sample controllers, what is done to them, and what must come of it: on a server of ours, and on any other.

pub(crate) mod all;
pub(crate) mod apps;
pub(crate) mod beside;
pub(crate) mod gate;
pub(crate) mod places;
pub(crate) mod plays;
