//! What is wrong with a selector.

use crate::NameError;

/// Why a text is not a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// Something else should stand there.
    #[error("at byte {at} of the selector there is {found}, and it takes {expected}")]
    Unexpected {
        /// Where, in bytes.
        at: usize,
        /// What is there.
        found: String,
        /// What may be there.
        expected: &'static str,
    },
    /// What stands there says something that no selector can.
    #[error("the part of the selector that begins at byte {at} is wrong")]
    Requirement {
        /// Where it begins, in bytes.
        at: usize,
        /// What is wrong with it.
        source: RequirementError,
    },
}

/// Why there is no such requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// No label has such a key.
    #[error("`{text}` cannot be the key of a label")]
    Key {
        /// The key, or its beginning.
        text: String,
        /// What is wrong with it.
        source: NameError,
    },
    /// No label has such a value.
    #[error("`{text}` cannot be the value of a label")]
    Value {
        /// The value, or its beginning.
        text: String,
        /// What is wrong with it.
        source: NameError,
    },
    /// It asks for one of no values.
    #[error("`in` and `notin` need at least one value")]
    NoValues,
    /// It compares with what is not a number.
    #[error("`>` and `<` need a whole number below 2⁶³, and `{text}` is none")]
    NotANumber {
        /// The value, or its beginning.
        text: String,
    },
    /// It tests for presence, and names values all the same.
    #[error("`{operator}` takes no values")]
    Values {
        /// The operator.
        operator: String,
    },
    /// There is no such operator.
    #[error("`{operator}` is not an operator: it is one of In, NotIn, Exists and DoesNotExist")]
    Operator {
        /// What was given as one, or its beginning.
        operator: String,
    },
    /// No field has such a name.
    #[error(
        "`{text}` cannot be the name of a field: it is not empty, and without spaces, `=`, `!`, `,` and `\\`"
    )]
    Field {
        /// The name, or its beginning.
        text: String,
    },
}
