//! Regular expressions with the syntax and semantics of Go.
//!
//! Go's engine and the `regex` crate are both of RE2's family, linear in the text. Their dialects
//! differ in details that are translated here: in Go `\d`, `\w`, `\s` and `\b` are ASCII, a class
//! contains no nested class but `[:alpha:]`, `{` is literal unless it is a count, and any
//! punctuation may be escaped. Not supported are flags between a part and its count, as in
//! `a(?i)*`, and patterns above the size limit.

mod class;
mod escape;
mod group;
mod states;
mod translate;

#[cfg(test)]
mod tests;

use std::fmt;

use regex::{Regex, RegexBuilder};

use crate::limits::{PATTERN_BYTES, PATTERN_BYTES_AT_RUN};

/// Size of the match cache; larger patterns match more slowly.
const CACHE_BYTES: usize = 1 << 20;

/// A regular expression in Go's syntax, as in `pattern` of schemas and `matches` of expressions.
#[derive(Clone, Debug)]
pub struct Pattern {
    written: String,
    regex: Regex,
    states: u64,
}

/// A syntax error of a pattern, on one line, worded as in Go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {0}")]
pub struct PatternError(String);

impl Pattern {
    /// Parses a pattern, of at most [`crate::limits::PATTERN_BYTES`] compiled.
    pub fn parse(written: &str) -> Result<Self, PatternError> {
        Self::within(written, PATTERN_BYTES)
    }

    /// Parses a pattern that was built at run time, with a lower limit.
    pub(crate) fn parse_at_run(written: &str) -> Result<Self, PatternError> {
        Self::within(written, PATTERN_BYTES_AT_RUN)
    }

    /// Returns about how many states a pattern has, without compiling it. See
    /// [`crate::limits::PATTERN_STATES`].
    pub fn states_of(written: &str) -> Result<u64, PatternError> {
        Ok(states::states(&translate::translate(written)?))
    }

    fn within(written: &str, bytes: usize) -> Result<Self, PatternError> {
        let translated = translate::translate(written)?;
        let states = states::states(&translated);
        let built = RegexBuilder::new(&translated).size_limit(bytes).dfa_size_limit(CACHE_BYTES).build();
        let regex = built.map_err(|error| {
            let text = error.to_string();
            PatternError(match text.lines().last().unwrap_or_default().trim_start_matches("error: ") {
                "unclosed group" => format!("missing closing ): `{written}`"),
                _ if matches!(error, regex::Error::CompiledTooBig(_)) => {
                    format!("expression too large: `{written}`")
                }
                other => other.to_owned(),
            })
        })?;
        Ok(Self { written: written.to_owned(), regex, states })
    }

    /// Returns the source of the pattern.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Returns about how many states the compiled pattern has.
    pub fn states(&self) -> u64 {
        self.states
    }

    /// Returns whether the pattern matches anywhere in `text`.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Returns the non-overlapping matches, like Go's `FindAllString`.
    pub fn find_all<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.regex.find_iter(text).map(|found| found.as_str())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}
