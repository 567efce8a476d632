//! What can be wrong with an expression, and with a run of one.

use std::fmt;

use crate::limits;

/// All that is wrong with an expression, each with its place. Displayed as Kubernetes does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct CompileErrors {
    expression: String,
    errors: Vec<CompileError>,
}

/// One thing that is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl CompileErrors {
    pub(crate) fn new(expression: &str, errors: Errors) -> Self {
        let mut found = errors.0;
        found.sort_by_key(|(at, _)| *at);
        let place = |(at, problem): (u32, Problem)| {
            let before: Vec<char> = expression.chars().take(at as usize).collect();
            let line = before.iter().filter(|it| **it == '\n').count() + 1;
            let column = before.iter().rev().take_while(|it| **it != '\n').count() + 1;
            CompileError { line, column, message: problem.to_string() }
        };
        // A hundred errors are enough to read, and each costs a pass over the text.
        let errors = found.into_iter().take(limits::MAX_ERRORS).map(place).collect();
        Self { expression: expression.to_owned(), errors }
    }

    /// Each error, in the order of the text.
    pub fn errors(&self) -> &[CompileError] {
        &self.errors
    }

    fn text(&self) -> String {
        let shown = self.errors.iter().map(|it| {
            let line = self.expression.split('\n').nth(it.line - 1).unwrap_or_default().replace('\t', " ");
            let mut chars = line.chars();
            let dots: String = chars.by_ref().take(it.column - 1).map(|c| mark(Some(c), '.', '．')).collect();
            let here = mark(chars.next(), '^', '＾');
            let CompileError { line: number, column, message } = it;
            format!("ERROR: <input>:{number}:{column}: {message}\n | {line}\n | {dots}{here}")
        });
        shown.collect::<Vec<_>>().join("\n")
    }
}

/// What stands below a character: a wide one has a wide mark.
fn mark(c: Option<char>, narrow: char, wide: char) -> char {
    if c.is_none_or(|c| c.is_ascii()) { narrow } else { wide }
}

/// Errors with their places in characters, while they are collected.
#[derive(Debug, Default)]
pub(crate) struct Errors(pub(crate) Vec<(u32, Problem)>);

impl Errors {
    pub(crate) fn one(at: u32, problem: Problem) -> Self {
        Self(vec![(at, problem)])
    }

    pub(crate) fn push(&mut self, at: u32, problem: Problem) {
        // One place is wrong in one way.
        if !self.0.iter().any(|it| it.0 == at && it.1 == problem) {
            self.0.push((at, problem));
        }
    }
}

/// What is wrong at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    Syntax(String),
    /// A limit of [`limits`], and what to do.
    Limit(String),
    Undeclared(String),
    UndefinedField(String),
    NoSelection(String),
    NoOverload {
        function: String,
        applied: String,
    },
    Mismatch {
        expected: String,
        found: String,
    },
    NoRange(String),
    Other(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(it) => write!(f, "Syntax error: {it}"),
            Self::Limit(it) | Self::Other(it) => write!(f, "{it}"),
            Self::Undeclared(it) => write!(f, "undeclared reference to '{it}' (in container '')"),
            Self::UndefinedField(it) => write!(f, "undefined field '{it}'"),
            Self::NoSelection(it) => write!(f, "type '{it}' does not support field selection"),
            Self::NoOverload { function, applied } => {
                write!(f, "found no matching overload for '{function}' applied to '{applied}'")
            }
            Self::Mismatch { expected, found } => {
                write!(f, "expected type '{expected}' but found '{found}'")
            }
            Self::NoRange(it) => {
                write!(
                    f,
                    "expression of type '{it}' cannot be range of a comprehension (must be list, map, or dynamic)"
                )
            }
        }
    }
}

/// Why a run gave no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The expression failed on these values: a key that is not there, a number that does not fit. It is the
    /// author's to guard against.
    #[error("{0}")]
    Failed(String),
    /// It cost more than one run may. It is the author's to make it cheaper, or the object's to be smaller.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostExceeded,
    /// All runs for one object cost more than they may together: no further ones are worth a try.
    #[error("validation failed due to running out of cost budget, no further validation rules will be run")]
    BudgetExceeded,
    /// A variable that the expression uses has no value: the caller's mistake.
    #[error("no such attribute(s): {0}")]
    Unbound(String),
}
