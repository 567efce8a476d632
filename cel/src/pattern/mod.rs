//! Regular expressions, which mean what they mean in Go.
//!
//! Both engines are of RE2's family, in time that is linear in the text, and their dialects differ in what is translated here: in Go `\d`, `\w`,
//! `\s` and `\b` are of ASCII, a class has no classes in it but `[:alpha:]`, `{` stands for itself where it does not count, and any sign
//! may be escaped. Of what Go takes, this
//! does not take flags between a part and its count, as in `a(?i)*`, and what is too large.

mod class;
mod escape;
mod group;
mod translate;

#[cfg(test)]
mod tests;

use std::fmt;

use regex::{Regex, RegexBuilder};

use crate::limits::{PATTERN_BYTES, PATTERN_BYTES_AT_RUN};

/// What matching with one may remember; beyond that it is slower.
const CACHE_BYTES: usize = 1 << 20;

/// A regular expression of Go's, as schemas have them in `pattern` and expressions in `matches`.
#[derive(Clone, Debug)]
pub struct Pattern {
    written: String,
    regex: Regex,
}

/// Why a text is no pattern, on one line and as Go says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {0}")]
pub struct PatternError(String);

impl Pattern {
    /// Reads a pattern. One that is beyond [`crate::limits::PATTERN_BYTES`] is none.
    pub fn parse(written: &str) -> Result<Self, PatternError> {
        Self::within(written, PATTERN_BYTES)
    }

    /// Reads one that was made while an expression ran, and that nobody accepted before.
    pub(crate) fn parse_at_run(written: &str) -> Result<Self, PatternError> {
        Self::within(written, PATTERN_BYTES_AT_RUN)
    }

    fn within(written: &str, bytes: usize) -> Result<Self, PatternError> {
        let translated = translate::translate(written)?;
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
        Ok(Self { written: written.to_owned(), regex })
    }

    /// What was read.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether it is found anywhere in the text.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Where it is found, one after the other and none within another, as Go's `FindAllString` has them.
    pub fn find_all<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.regex.find_iter(text).map(|found| found.as_str())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}
