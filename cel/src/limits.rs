//! The limits of this crate, in one place. Those of cost are Kubernetes'.

/// How many characters an expression may have.
pub const MAX_CHARS: usize = 100_000;

/// How deep an expression may be nested. A chain of `&&` or of `||` counts by the logarithm of its length.
pub const MAX_DEPTH: u32 = 128;

/// How many nodes an expression may have after its macros are expanded.
pub const MAX_NODES: u32 = 100_000;

/// How many errors one compilation reports.
pub const MAX_ERRORS: usize = 100;

/// What one run of one expression may cost.
pub const RUN_COST: u64 = 1_000_000;

/// What all expressions that one object is validated by may cost together.
pub const OBJECT_COST: u64 = 10_000_000;

/// What one expression may cost at most by estimate, to be accepted in a CustomResourceDefinition.
pub const ESTIMATED_COST: u64 = 10_000_000;

/// What all expressions of a CustomResourceDefinition may cost by estimate.
pub const ESTIMATED_TOTAL_COST: u64 = 100_000_000;

/// What it costs to ask an authorizer once.
pub const CHECK_COST: u64 = 350_000;

/// What all conditions of one webhook may cost together.
pub const CONDITIONS_COST: u64 = 2_500_000;

/// The largest request that a server takes, which bounds what a schema does not.
pub const REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// How large the program of a regular expression may grow when it is compiled.
pub const PATTERN_BYTES: usize = 10 << 20;

/// The same for one that is made while an expression runs: what it costs does not say how long it takes.
pub const PATTERN_BYTES_AT_RUN: usize = 1 << 20;

/// How long a list `lists.range` makes.
pub(crate) const RANGE_ITEMS: i64 = 1_000_000;

/// How many bytes a text or bytes may have that an expression makes. What it costs bounds it before.
pub(crate) const VALUE_BYTES: usize = 64 << 20;
