//! Sample controllers, scenarios and expected states, for our server and any other.

pub(crate) mod apps;
pub(crate) mod full_controller;
pub(crate) mod outside;
pub(crate) mod scenario;
pub(crate) mod servers;
pub(crate) mod side_by_side;
