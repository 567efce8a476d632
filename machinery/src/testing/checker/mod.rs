//! The invariant checker: verifies every commit of a server, and the state at rest.

mod builder;
mod checks;
mod handle;
mod run;
mod violation;

pub use builder::{InvariantCheckerBuilder, NoEmbeddedServer};
pub use handle::InvariantChecker;
pub use violation::{InvariantViolation, Violations};
