//! Sample controllers, what is done to them, and what must come of it: on a server of ours, and on any other.

pub(crate) mod apps;
pub(crate) mod full_controller;
pub(crate) mod gate;
pub(crate) mod scenario;
pub(crate) mod servers;
pub(crate) mod side_by_side;
