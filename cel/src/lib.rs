//! The Common Expression Language of Kubernetes: validation rules (`x-kubernetes-validations`) of
//! CustomResourceDefinitions, and match conditions of webhooks.
//!
//! An [`Env`] declares typed variables. It compiles a text to a [`Program`], which is parsed,
//! checked and estimated once and run on many objects. Objects are JSON, read only as far as an
//! expression needs. The language, its library and its costs are those of Kubernetes 1.37.
//!
//! # Promises
//!
//! Tests are in `tests/it/`; `p01_` is the prefix of the tests of promise 1. Compatibility is
//! tested against `tests/recorded.json`: the results of cel-go, configured as in the API server,
//! for every line of `tests/expressions.txt`: errors with positions, types, values, exact costs,
//! and estimates. The program in `record/` records them again.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | **No text panics**, nor does a run on any value | `p01_…`, `cargo xtask fuzz cel-expressions` |
//! | 2 | **Resources are bounded** by [`limits`]: length, depth, nodes, types, values; a stack of 2 MiB is enough | `p02_…` |
//! | 3 | **The accepted expressions are those of Kubernetes**, with the same error texts at the same positions, except for the wording of syntax errors | `p10_results_match_cel_go` |
//! | 4 | **Property names** that are no identifiers are escaped as in Kubernetes | `p04_names_round_trip_through_escaping` |
//! | 5 | **Values are the same**: mixed numbers, errors absorbed by `&&` and `\|\|`, lists that are sets or have keys | `p10_…` |
//! | 6 | **A missing function is a compile error**, never another result | `p10_…` |
//! | 7 | **A program is immutable**: any number of threads may run it | `p07_…` |
//! | 8 | **A run terminates**: it has the cost that cel-go counts, and stops at [`limits::RUN_COST`] or when the [`Budget`] is used up | `p08_…`, `p10_…` |
//! | 9 | **An estimate equals that of Kubernetes**, from the limits of the schema and of a request's size | `p10_…` |
//! | 10 | **`authorizer` returns the decisions of the [`Authorizer`]**, with the checks and costs of Kubernetes | `p10_…` |
//! | 11 | **Known differences are listed** with reasons in `recorded.rs`; a listed difference that no longer exists fails the test | `p10_…` |
//!
//! # Non-goals
//!
//! - Protobuf messages, containers, and functions of the host.
//! - `cel.bind` and `math`, which Kubernetes does not enable.
//! - Time zones of timestamps: their text is in UTC. Maps are ordered by key.
//! - A precision above 1000 in a clause of `format` fails at run time. A regular expression built
//!   at run time is refused above [`limits::PATTERN_BYTES_AT_RUN`]. Short names of scripts are
//!   also accepted: `\p{Grek}`.
//! - Validation by the schema: a value that does not match its declared type is an error where an
//!   expression reads it.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use machinery_cel::{Bindings, Budget, DeclaredType, Env, Type, Val, limits};
//! use serde_json::json;
//!
//! let schema = json!({"type": "object", "properties": {
//!     "replicas": {"type": "integer"},
//!     "names": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 63}},
//! }});
//! let spec = DeclaredType::from_schema(&schema, false, "spec").expect("the schema has a type");
//! let spec = Arc::new(spec);
//! let env = Env::new().with("self", spec.clone()).with("oldSelf", spec);
//!
//! let rule = env.compile("self.names.all(n, n.startsWith('a')) && self.replicas < 5")?;
//! assert_eq!(*rule.result_type(), Type::Bool);
//! assert!(!rule.uses("oldSelf") && rule.estimate().max <= limits::ESTIMATED_COST);
//!
//! let object = json!({"replicas": 3, "names": ["ab", "ac"]});
//! let mut budget = Budget::object();
//! let holds = rule.run(&Bindings::new().with("self", &object), &mut budget)?;
//! assert!(matches!(holds, Val::Bool(true)));
//!
//! let errors = env.compile("self.x == 1").unwrap_err();
//! let shown = "ERROR: <input>:1:5: undefined field 'x'\n | self.x == 1\n | ....^";
//! assert_eq!(errors.to_string(), shown);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod authorizer;
mod check;
mod cost;
mod declared;
mod env;
mod error;
mod escape;
mod eval;
mod functions;
pub mod limits;
mod pattern;
mod syntax;
#[cfg(feature = "testing")]
pub mod testing;
mod types;
mod value;

pub use authorizer::{AccessCheck, Authorizer, CheckTarget, Decision, ResourceAttributes, ServiceAccount};
pub use cost::estimate::Estimate;
pub use declared::{DeclaredType, ObjectType};
pub use env::{Bindings, Budget, Env, Program};
pub use error::{CompileError, CompileErrors, RunError};
pub use escape::{escape, unescape};
pub use functions::duration_words::declared_duration;
pub use functions::uri::is_request_uri;
pub use pattern::{Pattern, PatternError};
pub use types::Type;
pub use value::{Key, List, Map, Val};
