//! Errors of compilation and evaluation.

use std::fmt;

use crate::limits;

/// All errors of an expression, with positions. Displayed as Kubernetes does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct CompileErrors {
    expression: String,
    errors: Vec<CompileError>,
}

/// A compile error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The message.
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
        // A hundred errors are enough, and each costs a pass over the text.
        let errors = found.into_iter().take(limits::MAX_ERRORS).map(place).collect();
        Self { expression: expression.to_owned(), errors }
    }

    /// Returns the errors in the order of the text.
    pub fn errors(&self) -> &[CompileError] {
        &self.errors
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (at, error) in self.errors.iter().enumerate() {
            if text.len() > limits::ERRORS_BYTES {
                text.push_str(&format!("\nand {} more errors", self.errors.len() - at));
                break;
            }
            text.push_str(if at == 0 { "" } else { "\n" });
            text.push_str(&self.shown(error));
        }
        text
    }

    /// Returns an error with its line, and a mark below its column.
    fn shown(&self, error: &CompileError) -> String {
        let CompileError { line: number, column, message } = error;
        let line = self.expression.split('\n').nth(number - 1).unwrap_or_default().replace('\t', " ");
        if line.len() > limits::ERRORS_BYTES {
            // Each error would repeat the whole line.
            return format!("ERROR: <input>:{number}:{column}: {message}");
        }
        let mut chars = line.chars();
        let dots: String = chars.by_ref().take(column - 1).map(|c| mark(Some(c), '.', '．')).collect();
        let here = mark(chars.next(), '^', '＾');
        format!("ERROR: <input>:{number}:{column}: {message}\n | {line}\n | {dots}{here}")
    }
}

/// Returns the marker below a character, wide for a wide one.
fn mark(c: Option<char>, narrow: char, wide: char) -> char {
    if c.is_none_or(|c| c.is_ascii()) { narrow } else { wide }
}

/// Errors with character offsets, while they are collected.
#[derive(Debug, Default)]
pub(crate) struct Errors(pub(crate) Vec<(u32, Problem)>);

impl Errors {
    pub(crate) fn one(at: u32, problem: Problem) -> Self {
        Self(vec![(at, problem)])
    }

    pub(crate) fn push(&mut self, at: u32, problem: Problem) {
        // One error per position.
        if !self.0.iter().any(|it| it.0 == at && it.1 == problem) {
            self.0.push((at, problem));
        }
    }
}

/// An error at one position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    Syntax(String),
    /// A limit of [`limits`], and the remedy.
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

/// An error of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The expression failed on these values, for example on a missing key or an overflow. The
    /// author of the expression must guard against it.
    #[error("{0}")]
    Failed(String),
    /// The run exceeded its cost limit. The expression must become cheaper, or the object smaller.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostExceeded,
    /// The budget of all runs for the object is used up, so further runs are pointless.
    #[error("validation failed due to running out of cost budget, no further validation rules will be run")]
    BudgetExceeded,
    /// A used variable is unbound: an error of the caller.
    #[error("no such attribute(s): {0}")]
    Unbound(String),
}
