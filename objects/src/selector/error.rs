//! Errors of selectors.

use crate::NameError;

/// A text that is not a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// A token that the grammar does not allow.
    #[error("at byte {at} of the selector there is {found}, and it takes {expected}")]
    Unexpected {
        /// Its position, in bytes.
        at: usize,
        /// The token.
        found: String,
        /// The expected tokens.
        expected: &'static str,
    },
    /// An invalid requirement.
    #[error("the part of the selector that begins at byte {at} is wrong")]
    Requirement {
        /// The position of its beginning, in bytes.
        at: usize,
        /// The error of the requirement.
        source: RequirementError,
    },
}

/// An invalid requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// The key is not valid for labels.
    #[error("`{text}` cannot be the key of a label")]
    Key {
        /// The key, or its beginning.
        text: String,
        /// The violated rule.
        source: NameError,
    },
    /// The value is not valid for labels.
    #[error("`{text}` cannot be the value of a label")]
    Value {
        /// The value, or its beginning.
        text: String,
        /// The violated rule.
        source: NameError,
    },
    /// The list of values is empty.
    #[error("`in` and `notin` need at least one value")]
    NoValues,
    /// The operand of a comparison is not a number.
    #[error("`>` and `<` need a whole number below 2⁶³, and `{text}` is none")]
    NotANumber {
        /// The value, or its beginning.
        text: String,
    },
    /// A test for presence has values.
    #[error("`{operator}` takes no values")]
    Values {
        /// The operator.
        operator: String,
    },
    /// The operator is unknown.
    #[error("`{operator}` is not an operator: it is one of In, NotIn, Exists and DoesNotExist")]
    Operator {
        /// The operator, or its beginning.
        operator: String,
    },
    /// The name is not valid for fields.
    #[error(
        "`{text}` cannot be the name of a field: it is not empty, and without spaces, `=`, `!`, `,` and `\\`"
    )]
    Field {
        /// The name, or its beginning.
        text: String,
    },
}
