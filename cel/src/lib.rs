//! The Common Expression Language as Kubernetes uses it.
#![allow(missing_docs)]

mod check;
mod cost;
mod declared;
mod env;
mod error;
mod escape;
mod eval;
mod functions;
pub mod limits;
mod syntax;
mod types;
mod value;

pub use cost::estimate::Estimate;
pub use declared::{Declared, Object};
pub use env::{Bindings, Budget, Env, Program};
pub use error::{CompileError, CompileErrors, RunError};
pub use escape::{escape, unescape};
pub use types::Type;
pub use value::{Key, List, Map, Val};
