//! Revisions: the numbers of a store's commits.

use std::fmt;
use std::str::FromStr;

use crate::excerpt::excerpt;

/// The number of a commit of one store: later commits have greater numbers, and none is reused.
///
/// Revisions of two stores cannot be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision before the first commit. No state has it.
    pub const ZERO: Self = Self(0);

    /// Returns the next revision.
    ///
    /// # Panics
    /// After 2⁶⁴ commits.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.checked_add(1).expect("a store makes fewer than 2⁶⁴ commits"))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Accepts only the output of `Display`, so that revisions and their texts correspond one to one.
impl FromStr for Revision {
    type Err = RevisionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !decimal || (text.len() > 1 && text.starts_with('0')) {
            return Err(RevisionError::NotDecimal { text: excerpt(text) });
        }
        text.parse().map(Self).map_err(|_| RevisionError::TooLarge { text: excerpt(text) })
    }
}

/// A text that is not a [`Revision`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevisionError {
    /// It is not a decimal number as `Display` writes it.
    #[error("`{text}` is not a revision: write a decimal number, without sign and leading zeros")]
    NotDecimal {
        /// The text, or its beginning.
        text: String,
    },
    /// The number exceeds 64 bits.
    #[error("`{text}` is not a revision: the greatest is {}", u64::MAX)]
    TooLarge {
        /// The text, or its beginning.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_has_one_text() {
        for (text, number) in [("0", 0), ("7", 7), ("18446744073709551615", u64::MAX)] {
            assert_eq!(text.parse(), Ok(Revision(number)));
            assert_eq!(Revision(number).to_string(), text);
        }
        for text in ["", "+1", "-1", "01", "00", " 1", "1 ", "1.0", "0x1", "١", "a"] {
            assert_eq!(text.parse::<Revision>(), Err(RevisionError::NotDecimal { text: text.into() }));
        }
        let text = "18446744073709551616";
        assert_eq!(text.parse::<Revision>(), Err(RevisionError::TooLarge { text: text.into() }));
    }
}
