//! The Common Expression Language as Kubernetes uses it: `x-kubernetes-validations` of CustomResourceDefinitions, and the
//! conditions of webhooks.
//!
//! An [`Env`] has variables of declared types. It compiles a text to a [`Program`]: parsed, checked and estimated once, run
//! on many objects. Objects are JSON, and are read only as far as an expression looks. The language, its library and
//! its costs are those of Kubernetes 1.37.
//!
//! # What it promises
//!
//! Each promise names the tests that hold it, in `tests/it/`. What cel-go answers, set up as the API server does it, is
//! recorded in `tests/recorded.json` for every line of `tests/expressions.txt`: errors with their places, types, values,
//! costs to the unit, and estimates. `record/` asks it anew.
//!
//! 1. **No text panics**, nor does a run on any value (`p01_…`; `cargo xtask fuzz cel-expressions` looks further).
//! 2. **Everything is bounded** by [`limits`]: length, depth, parts, types, values; a stack of 2 MiB is enough (`p02_…`).
//! 3. **What is accepted is what Kubernetes accepts**, and an error is the same text at the same place; only the wording of a
//!    syntax error is ours (`p10_results_match_cel_go`).
//! 4. **Names** of properties that are no identifiers are escaped as Kubernetes escapes them
//!    (`p04_names_round_trip_through_escaping`).
//! 5. **Values are the same**: numbers of different types, errors that `&&` and `||` absorb, lists that are sets or have keys
//!    (`p10_…`).
//! 6. **A function that is missing is an error when it is compiled**, never another answer (`p10_…`).
//! 7. **A program never changes**: any number of threads may run it (`p07_…`).
//! 8. **A run ends**: it costs what cel-go counts, and stops at [`limits::RUN_COST`] or when the [`Budget`] is used up (`p08_…`,
//!    `p10_…`).
//! 9. **An estimate is upstream's**, from the limits of the schema and of a request's size (`p10_…`).
//! 10. **What an [`Authorizer`] answers** is what `authorizer` says, with the questions and costs of Kubernetes (`p10_…`).
//! 11. **Where we differ is listed** with the reason, in `recorded.rs`; a difference that is gone fails the test, too.
//!
//! # What it does not do
//!
//! - No messages of protobuf, no containers, no functions of a host's own.
//! - No `cel.bind` and no `math`: Kubernetes does not turn them on.
//! - A moment keeps no zone: its text is in UTC. A map goes by its keys.
//! - A clause of `format` has a precision of at most 1000, which is found when it runs. A regular expression that is made at run is refused beyond
//!   [`limits::PATTERN_BYTES_AT_RUN`]; scripts have their short names, too: `\p{Grek}`.
//! - It does not validate by the schema; what does not fit its declaration is an error where an expression looks at it.
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
//! let spec = Arc::new(DeclaredType::from_schema(&schema, false, "spec").expect("a type is given"));
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
//! assert_eq!(errors.to_string(), "ERROR: <input>:1:5: undefined field 'x'\n | self.x == 1\n | ....^");
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
