//! Translates escape sequences: `\d`, `\pL`, `\x41`, `\Q…\E`.

use regex::Regex;

use super::translate::{Read, Translator, wrong};

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r"\t\n\x0C\r ";

impl<'a> Translator<'a> {
    /// Translates an escape outside of classes. Returns whether it is repeatable.
    pub(super) fn escape(&mut self, before: &'a str) -> Read<bool> {
        match self.next() {
            Some(c @ ('d' | 'w' | 's' | 'D' | 'W' | 'S')) => {
                self.out.push('[');
                self.perl(c);
                self.out.push(']');
            }
            Some('b') => self.out.push_str(r"(?-u:\b)"),
            Some('B') => self.out.push_str(r"(?-u:\B)"),
            Some('A') => self.out.push_str(r"\A"),
            Some('z') => self.out.push_str(r"\z"),
            Some('Q') => return Ok(self.quoted()),
            Some(p @ ('p' | 'P')) => self.unicode(p, before)?,
            c => {
                let c = self.character(c, before)?;
                self.literal(c);
            }
        }
        Ok(true)
    }

    /// Translates `\Q…\E`, quoted literals.
    fn quoted(&mut self) -> bool {
        let (quoted, rest) = self.rest.split_once(r"\E").unwrap_or((self.rest, ""));
        quoted.chars().for_each(|c| self.literal(c));
        self.rest = rest;
        !quoted.is_empty()
    }

    /// Translates `\d` and similar as a class item.
    pub(super) fn perl(&mut self, c: char) {
        let items = match c.to_ascii_lowercase() {
            'd' => DIGIT,
            'w' => WORD,
            _ => SPACE,
        };
        if c.is_ascii_uppercase() {
            self.out.push_str(&format!("[^{items}]"));
        } else {
            self.out.push_str(items);
        }
    }

    /// Translates `\pL`, `\p{Greek}` and `\p{^Greek}`: categories and scripts.
    pub(super) fn unicode(&mut self, p: char, before: &'a str) -> Read {
        let braced = self.eat("{");
        let name = match braced {
            true => self.rest.split_once('}').map(|(name, rest)| {
                self.rest = rest;
                name
            }),
            false => {
                let rest = self.rest;
                self.next().map(|_| self.since(rest))
            }
        };
        let name = name.unwrap_or_default();
        let (negated, name) = match name.strip_prefix('^') {
            Some(name) => (p == 'p', name),
            None => (p == 'P', name),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ');
        // Only categories and scripts, as in Go: the crate has more properties.
        let property = ["gc", "sc"].into_iter().map(|of| format!("{{{of}={name}}}")).find(|property| {
            !name.is_empty() && name.chars().all(plain) && Regex::new(&format!(r"\p{property}")).is_ok()
        });
        let Some(property) = property else {
            return wrong("invalid character class range", self.since(before));
        };
        let caret = if negated { "^" } else { "" };
        self.out.push_str(&format!(r"[{caret}\p{property}]"));
        Ok(())
    }

    /// Parses an escaped character.
    pub(super) fn character(&mut self, c: Option<char>, before: &'a str) -> Read<char> {
        let Some(c) = c else {
            return wrong("trailing backslash at end of expression", "");
        };
        let octal = |c: char| ('0'..='7').contains(&c);
        let found = match c {
            'a' => Some('\x07'),
            'f' => Some('\x0c'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0b'),
            'x' => self.hex(),
            '0'..='7' if c == '0' || self.rest.starts_with(octal) => {
                let mut code = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = self.rest.chars().next().filter(|c| octal(*c)) else { break };
                    code = code * 8 + digit.to_digit(8).unwrap_or_default();
                    self.next();
                }
                char::from_u32(code)
            }
            c => (c.is_ascii() && !c.is_ascii_alphanumeric()).then_some(c),
        };
        match found {
            Some(c) => Ok(c),
            None => wrong("invalid escape sequence", self.since(before)),
        }
    }

    /// Parses `\x41` and `\x{10FFFF}`.
    fn hex(&mut self) -> Option<char> {
        let digits = if self.eat("{") {
            let (digits, rest) = self.rest.split_once('}')?;
            self.rest = rest;
            digits
        } else {
            let rest = self.rest;
            self.next()?;
            self.next()?;
            self.since(rest)
        };
        let code = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
        code.and_then(char::from_u32)
    }
}
