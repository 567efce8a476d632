//! Rules of names, label keys and label values.

use std::fmt;

/// A rule for names, as Kubernetes defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NameRule {
    /// A DNS label, as for namespaces: at most 63 of `a-z`, `0-9` and `-`, alphanumeric at both
    /// ends.
    DnsLabel,
    /// A DNS subdomain, as for most objects: at most 253 characters; parts that begin and end
    /// alphanumeric, separated by dots.
    DnsSubdomain,
    /// A path segment, the minimum for any name.
    PathSegment,
    /// The key of a label or an annotation, or the name of a finalizer: at most 63 of `A-Z`, `a-z`,
    /// `0-9`, `-`, `_` and `.`, alphanumeric at both ends; optionally after a subdomain and a
    /// slash.
    LabelKey,
    /// The value of a label: as a key without prefix, or empty.
    LabelValue,
}

impl NameRule {
    /// Checks a text by the rule.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(self, text: &str) -> Result<(), NameError> {
        match self {
            Self::DnsLabel => self.plain(text, 63, is_dns),
            Self::DnsSubdomain => {
                let mut at = 0;
                for part in text.split('.') {
                    self.plain(part, usize::MAX, is_dns).map_err(|error| error.moved(at))?;
                    at += part.len() + 1;
                }
                self.no_longer_than(253, text)
            }
            Self::PathSegment if text.is_empty() => Err(NameError::Empty { rule: self }),
            // Clients and proxies resolve these in a path.
            Self::PathSegment if matches!(text, "." | "..") => {
                Err(NameError::Edge { rule: self, at: 0, found: '.' })
            }
            Self::PathSegment => {
                match text.bytes().enumerate().find(|(_, byte)| matches!(byte, b'/' | b'%' | 0)) {
                    Some((at, byte)) => Err(NameError::Character { rule: self, at, found: char::from(byte) }),
                    None => Ok(()),
                }
            }
            Self::LabelKey => match text.split_once('/') {
                None => self.plain(text, 63, is_label),
                Some((prefix, name)) => {
                    Self::DnsSubdomain.check(prefix)?;
                    self.plain(name, 63, is_label).map_err(|error| error.moved(prefix.len() + 1))
                }
            },
            Self::LabelValue if text.is_empty() => Ok(()),
            Self::LabelValue => self.plain(text, 63, is_label),
        }
    }

    /// Checks the allowed characters, alphanumeric ends, and the length.
    fn plain(self, text: &str, limit: usize, inside: fn(char) -> bool) -> Result<(), NameError> {
        let Some(last) = text.chars().next_back() else { return Err(NameError::Empty { rule: self }) };
        if let Some((at, found)) = text.char_indices().find(|&(_, char)| !inside(char)) {
            return Err(NameError::Character { rule: self, at, found });
        }
        // Only ASCII is left here, so a byte is a character.
        for (at, found) in [(0, char::from(text.as_bytes()[0])), (text.len() - 1, last)] {
            if !found.is_ascii_alphanumeric() {
                return Err(NameError::Edge { rule: self, at, found });
            }
        }
        self.no_longer_than(limit, text)
    }

    fn no_longer_than(self, limit: usize, text: &str) -> Result<(), NameError> {
        let length = text.len();
        if length > limit { Err(NameError::TooLong { rule: self, length, limit }) } else { Ok(()) }
    }

    const fn allowed(self) -> &'static str {
        match self {
            Self::DnsLabel => "a-z, 0-9 and `-`",
            Self::DnsSubdomain => "a-z, 0-9, `-`, and dots between its parts",
            Self::PathSegment => "anything but `/` and `%`",
            Self::LabelKey => "A-Z, a-z, 0-9, `-`, `_` and `.`, after at most one `prefix/`",
            Self::LabelValue => "A-Z, a-z, 0-9, `-`, `_` and `.`",
        }
    }
}

fn is_dns(char: char) -> bool {
    matches!(char, 'a'..='z' | '0'..='9' | '-')
}

fn is_label(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.')
}

impl fmt::Display for NameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DnsLabel => "a DNS label",
            Self::DnsSubdomain => "a DNS subdomain",
            Self::PathSegment => "a name in a path",
            Self::LabelKey => "a label's key",
            Self::LabelValue => "a label's value",
        })
    }
}

/// A violation of a [`NameRule`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The text is empty, or a part between two dots or beside a slash.
    #[error("{rule} must not be empty")]
    Empty {
        /// The violated rule.
        rule: NameRule,
    },
    /// The text is too long.
    #[error("{rule} has at most {limit} characters, and this has {length}")]
    TooLong {
        /// The violated rule.
        rule: NameRule,
        /// Its length.
        length: usize,
        /// The maximum length.
        limit: usize,
    },
    /// A character is not allowed.
    #[error("{found:?} at byte {at} has no place in {rule}, which is made of {}", rule.allowed())]
    Character {
        /// The violated rule.
        rule: NameRule,
        /// Its position, in bytes.
        at: usize,
        /// The character.
        found: char,
    },
    /// The text or a part of it begins or ends with a character that is allowed only inside.
    #[error("{rule} cannot begin or end with {found:?}, as at byte {at}")]
    Edge {
        /// The violated rule.
        rule: NameRule,
        /// Its position, in bytes.
        at: usize,
        /// The character.
        found: char,
    },
}

impl NameError {
    /// Shifts the position by `by` bytes.
    fn moved(mut self, by: usize) -> Self {
        if let Self::Character { at, .. } | Self::Edge { at, .. } = &mut self {
            *at += by;
        }
        self
    }
}
