//! Interests: watches whose keys are edited while they run, on the wire and through a handle.

mod left;
mod model;
mod oracle;
mod refused;
mod road;
mod told;
