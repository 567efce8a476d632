//! The limits of this crate. Cost limits are those of Kubernetes.

/// Maximum characters of an expression.
pub const MAX_CHARS: usize = 100_000;

/// Maximum nesting of an expression. A chain of `&&` or `||` counts by the logarithm of its length.
pub const MAX_DEPTH: u32 = 128;

/// Maximum nodes of an expression after macro expansion.
pub const MAX_NODES: u32 = 100_000;

/// Maximum errors reported by a compilation.
pub const MAX_ERRORS: usize = 100;

/// Bytes of the errors of one expression, after which no further one is shown, and of a line, above
/// which it is not shown.
pub(crate) const ERRORS_BYTES: usize = 16 << 10;

/// Maximum cost of one run.
pub const RUN_COST: u64 = 1_000_000;

/// Maximum cost of all validation rules of one object.
pub const OBJECT_COST: u64 = 10_000_000;

/// Maximum estimated cost of one expression of a CustomResourceDefinition.
pub const ESTIMATED_COST: u64 = 10_000_000;

/// Maximum estimated cost of all expressions of a CustomResourceDefinition.
pub const ESTIMATED_TOTAL_COST: u64 = 100_000_000;

/// Cost of one authorization check.
pub const CHECK_COST: u64 = 350_000;

/// Maximum cost of all conditions of one webhook.
pub const CONDITIONS_COST: u64 = 2_500_000;

/// Maximum size of a request, which bounds values without a limit in the schema.
pub const REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// Maximum size of a compiled regular expression.
pub const PATTERN_BYTES: usize = 10 << 20;

/// Maximum number of states of the regular expressions of one expression, and of all schemas of one
/// definition: they bound the time and memory of compilation. A counted part has its states as
/// often as its greatest count.
pub const PATTERN_STATES: u64 = 100_000;

/// Maximum size of a regular expression compiled at run time: its cost does not bound its time.
pub const PATTERN_BYTES_AT_RUN: usize = 1 << 20;

/// Maximum length of `lists.range`.
pub(crate) const RANGE_ITEMS: i64 = 1_000_000;

/// Maximum size of a computed string or bytes value, beyond the bound by cost.
pub(crate) const VALUE_BYTES: usize = 64 << 20;
