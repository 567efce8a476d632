//! Translates Go's regular expression syntax to the `regex` crate's in one pass.

use std::fmt::Write;

use super::PatternError;

pub(super) type Read<T = ()> = Result<T, PatternError>;

/// Maximum repetitions of a part, including those of its enclosing parts.
const MOST_REPEATS: u64 = 1000;

/// Returns the pattern in the `regex` crate's syntax.
pub(super) fn translate(pattern: &str) -> Read<String> {
    let mut translator = Translator {
        whole: pattern,
        rest: pattern,
        out: String::new(),
        bare: true,
        copies: 1,
        most: vec![1],
    };
    translator.pattern()?;
    Ok(translator.out)
}

pub(super) fn wrong<T>(what: &str, part: &str) -> Read<T> {
    Err(PatternError(format!("{what}: `{part}`")))
}

pub(super) struct Translator<'a> {
    whole: &'a str,
    pub(super) rest: &'a str,
    pub(super) out: String,
    /// Whether there is nothing to repeat yet.
    bare: bool,
    /// Maximum repetitions of a part nested in the last translated part: its repeat counts
    /// multiplied.
    copies: u64,
    /// The maximum of `copies` in each open group.
    most: Vec<u64>,
}

impl<'a> Translator<'a> {
    pub(super) fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    pub(super) fn eat(&mut self, mark: &str) -> bool {
        let after = self.rest.strip_prefix(mark);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Returns the text read since `before`.
    pub(super) fn since(&self, before: &'a str) -> &'a str {
        &before[..before.len() - self.rest.len()]
    }

    fn pattern(&mut self) -> Read {
        loop {
            let before = self.rest;
            let Some(c) = self.next() else { return Ok(()) };
            let (mut copies, mut bare) = (1, false);
            match c {
                '\\' => bare = !self.escape(before)? && self.bare,
                '[' => self.class(before)?,
                '(' => {
                    bare = true;
                    if self.group(before)? {
                        self.most.push(1);
                    }
                }
                ')' if self.most.len() < 2 => return wrong("unexpected )", self.whole),
                ')' => {
                    self.out.push(c);
                    copies = self.most.pop().unwrap_or(1);
                }
                '|' => {
                    self.out.push(c);
                    bare = true;
                }
                '*' | '+' | '?' => {
                    self.out.push(c);
                    copies = self.repeat(before, self.copies)?;
                }
                '{' => match count(self.rest) {
                    None => self.literal('{'),
                    Some(Count { inside, least, most }) => {
                        self.rest = &self.rest[inside.len() + 1..];
                        let times = most.unwrap_or(least);
                        if least > times || times > MOST_REPEATS {
                            return wrong("invalid repeat count", self.since(before));
                        }
                        let _ = write!(self.out, "{{{inside}}}");
                        let all = if times == 0 { 1 } else { self.copies.saturating_mul(times) };
                        copies = self.repeat(before, all)?;
                        // As in Go: nested counts multiply the size of the compiled program.
                        if times > 1 && all > MOST_REPEATS {
                            return wrong("invalid repeat count", self.since(before));
                        }
                    }
                },
                _ => self.out.push(c),
            }
            (self.bare, self.copies) = (bare, copies);
            if let Some(most) = self.most.last_mut() {
                *most = copies.max(*most);
            }
        }
    }

    /// Translates the end of a repetition: it may be lazy, and is not repeatable.
    fn repeat(&mut self, before: &'a str, copies: u64) -> Read<u64> {
        if self.eat("?") {
            self.out.push('?');
        }
        if self.bare {
            return wrong("missing argument to repetition operator", self.since(before));
        }
        let again = match self.rest.chars().next() {
            Some('*' | '+' | '?') => 1,
            Some('{') => count(&self.rest[1..]).map_or(0, |count| count.inside.len() + 2),
            _ => 0,
        };
        if again > 0 {
            self.rest = &self.rest[again..];
            self.eat("?");
            return wrong("invalid nested repetition operator", self.since(before));
        }
        Ok(copies)
    }

    /// Writes a literal character, escaped if needed.
    pub(super) fn literal(&mut self, c: char) {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            let _ = write!(self.out, r"\x{:02X}", u32::from(c));
        } else {
            self.out.push(c);
        }
    }
}

struct Count<'a> {
    inside: &'a str,
    least: u64,
    /// The maximum; `None` if unbounded.
    most: Option<u64>,
}

/// Parses a count after a brace: `2}`, `2,}`, `2,3}`. Other text is literal.
fn count(rest: &str) -> Option<Count<'_>> {
    let inside = &rest[..rest.find('}')?];
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        let plain = digits && (text.len() == 1 || !text.starts_with('0'));
        plain.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let (least, most) = match inside.split_once(',') {
        None => {
            let times = number(inside)?;
            (times, Some(times))
        }
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    Some(Count { inside, least, most })
}
