//! Paths of printer columns: the part of Kubernetes' JSONPath that selects values.
//!
//! Not supported: text around `{…}`, and `range` with `end`, which make templates and no columns.
//! Kubernetes shows them as empty columns.

mod find;
mod parse;
mod show;

pub(crate) use show::shown;

/// A parsed path: `.status.conditions[?(@.type=="Ready")].status`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnPath(Vec<ColumnPathStep>);

#[derive(Clone, Debug, PartialEq)]
enum ColumnPathStep {
    Field(String),
    /// `[2]`, `[-1]`, `[1:3]`, `[::2]`, `[*]`.
    Slice(Slice),
    /// `.*`
    Wildcard,
    /// `..`
    Recursive,
    /// `[?(@.a == "b")]`
    Filter(Filter),
    /// `[0,2]`
    Union(Vec<Vec<ColumnPathStep>>),
    /// A constant, which stands for every input. Filters compare with them.
    Literal(serde_json::Value),
    /// Constructs that Kubernetes parses but cannot evaluate: a bare word, an unknown operator.
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    from: i64,
    to: To,
    step: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    /// `[2]`: no end is given, and the slice is one element.
    One,
    At(i64),
    End,
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Vec<ColumnPathStep>,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Compare(Operator, Vec<ColumnPathStep>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

#[cfg(test)]
mod tests;
