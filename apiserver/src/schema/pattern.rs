//! Regular expressions. A schema has those of Go, and they mean here what they mean there.
//!
//! The two dialects differ in what this translates: in Go `\d`, `\w`, `\s` and `\b` are of ASCII, a class has
//! no classes in it but `[:alpha:]`, `{` stands for itself where it does not count, and any sign may be
//! escaped.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use regex::Regex;

/// A pattern that texts match, or not: anywhere in them, unless it says otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    written: String,
    regex: Regex,
}

impl Pattern {
    /// Reads a pattern, or says on one line why it cannot be had.
    pub(super) fn parse(written: &str) -> Result<Self, String> {
        let rest = written.chars().peekable();
        let mut translator = Translator { rest, out: String::new(), bare: true };
        let translated = translator.pattern().and_then(|()| {
            Regex::new(&translator.out).map_err(|error| {
                let text = error.to_string();
                match text.lines().last().unwrap_or_default().trim_start_matches("error: ") {
                    "unclosed group" => format!("missing closing ): `{written}`"),
                    "unopened group" => format!("unexpected ): `{written}`"),
                    other => other.to_owned(),
                }
            })
        });
        let regex = translated.map_err(|problem| format!("error parsing regexp: {problem}"))?;
        Ok(Self { written: written.to_owned(), regex })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.written
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// A part is repeated at most so often.
const MOST_REPEATS: u32 = 1000;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r"\t\n\x0C\r ";

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    /// Whether nothing is there yet that could be repeated.
    bare: bool,
}

impl Translator<'_> {
    fn pattern(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                '*' | '+' | '?' => self.repeat(c.to_string())?,
                '{' => match counts(self.rest.clone()) {
                    Some(count) => {
                        self.rest.by_ref().find(|c| *c == '}');
                        self.repeat(count)?;
                    }
                    None => self.literal('{'),
                },
                _ => self.out.push(c),
            }
            self.bare = matches!(c, '(' | '|');
        }
        Ok(())
    }

    /// A repetition may be lazy, and not repeated itself.
    fn repeat(&mut self, how: String) -> Result<(), String> {
        if self.bare {
            return Err(format!("missing argument to repetition operator: `{how}`"));
        }
        if how.split(|c: char| !c.is_ascii_digit()).any(|count| count.parse().unwrap_or(0) > MOST_REPEATS) {
            return Err(format!("invalid repeat count: `{how}`"));
        }
        self.out.push_str(&how);
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        let mut ahead = self.rest.clone();
        let again = match ahead.next() {
            Some(c @ ('*' | '+' | '?')) => Some(c.to_string()),
            Some('{') => counts(ahead),
            _ => None,
        };
        again.map_or(Ok(()), |again| Err(format!("invalid nested repetition operator: `{how}{again}`")))
    }

    /// A group's flags are those that both know.
    fn group(&mut self) -> Result<(), String> {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        self.out.push('?');
        while let Some(c) = self.rest.next_if(|c| "imsU-".contains(*c)) {
            self.out.push(c);
        }
        match self.rest.peek() {
            Some(':') => {
                self.out.push(':');
                self.rest.next();
                return Ok(());
            }
            Some(')' | 'P' | '<') => {}
            next => {
                let next = next.map(char::to_string).unwrap_or_default();
                return Err(format!("invalid or unsupported Perl syntax: `(?{next}`"));
            }
        }
        if self.rest.next_if_eq(&'P').is_some() {
            self.out.push('P');
        }
        if self.rest.next_if_eq(&'<').is_some() {
            self.out.push('<');
            match self.rest.peek() {
                Some('=' | '!') => return Err("invalid or unsupported Perl syntax: `(?<`".into()),
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(c) = self.rest.next() else {
            return Err("trailing backslash at end of expression: ``".into());
        };
        match c {
            'd' | 'w' | 's' => self.out.push_str(&format!("[{}]", perl(c))),
            'D' | 'W' | 'S' => self.out.push_str(&format!("[^{}]", perl(c.to_ascii_lowercase()))),
            'b' => self.out.push_str(r"(?-u:\b)"),
            'B' => self.out.push_str(r"(?-u:\B)"),
            'A' => self.out.push_str(r"\A"),
            'z' => self.out.push_str(r"\z"),
            'Q' => self.quoted(),
            'p' | 'P' => self.unicode(c)?,
            _ => {
                let c = self.character(c)?;
                self.literal(c);
            }
        }
        Ok(())
    }

    /// `\Q…\E`: all as it is.
    fn quoted(&mut self) {
        while let Some(c) = self.rest.next() {
            if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                return;
            }
            self.literal(c);
        }
    }

    /// `\pL`, `\p{Greek}`, `\p{^Greek}`.
    fn unicode(&mut self, p: char) -> Result<(), String> {
        let name = match self.rest.next() {
            Some('{') => self.rest.by_ref().take_while(|c| *c != '}').collect(),
            Some(c) => c.to_string(),
            None => String::new(),
        };
        let (negated, name) = match name.strip_prefix('^') {
            Some(name) => (p == 'p', name),
            None => (p == 'P', name.as_str()),
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!(r"invalid character class range: `\{p}`"));
        }
        let p = if negated { 'P' } else { 'p' };
        self.out.push_str(&if name == "Any" {
            format!("[\\{p}{{any}}]")
        } else {
            format!(r"\{p}{{{name}}}")
        });
        Ok(())
    }

    /// One character after a backslash.
    fn character(&mut self, c: char) -> Result<char, String> {
        Ok(match c {
            'a' => '\x07',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => self.hex()?,
            '0'..='7' => {
                let octal = |c: &char| ('0'..='7').contains(c);
                if c != '0' && !self.rest.peek().is_some_and(octal) {
                    return Err(format!(r"invalid escape sequence: `\{c}`"));
                }
                let mut code = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(next) = self.rest.next_if(octal) else { break };
                    code = code * 8 + next.to_digit(8).unwrap_or_default();
                }
                char::from_u32(code).unwrap_or_default()
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            c => return Err(format!(r"invalid escape sequence: `\{c}`")),
        })
    }

    /// `\x41`, `\x{10FFFF}`.
    fn hex(&mut self) -> Result<char, String> {
        let digits: String = if self.rest.next_if_eq(&'{').is_some() {
            self.rest.by_ref().take_while(|c| *c != '}').collect()
        } else {
            self.rest.by_ref().take(2).collect()
        };
        let code = u32::from_str_radix(&digits, 16).ok().filter(|_| !digits.starts_with('+'));
        code.and_then(char::from_u32).ok_or_else(|| format!(r"invalid escape sequence: `\x{digits}`"))
    }

    /// A class, whose items are written so that they mean one thing only.
    fn class(&mut self) -> Result<(), String> {
        let rest: String = self.rest.clone().collect();
        let unclosed = || format!("missing closing ]: `[{rest}`");
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let c = self.rest.next().ok_or_else(unclosed)?;
            let low = match c {
                ']' if !first => break,
                '[' if self.rest.peek() == Some(&':') => {
                    let name: String = self.rest.by_ref().take_while(|c| *c != ']').collect();
                    self.out.push_str(&format!("[{name}]"));
                    first = false;
                    continue;
                }
                '\\' => match self.rest.next().ok_or_else(unclosed)? {
                    c @ ('d' | 'w' | 's') => {
                        self.out.push_str(perl(c));
                        first = false;
                        continue;
                    }
                    c @ ('D' | 'W' | 'S') => {
                        self.out.push_str(&format!("[^{}]", perl(c.to_ascii_lowercase())));
                        first = false;
                        continue;
                    }
                    c @ ('p' | 'P') => {
                        self.unicode(c)?;
                        first = false;
                        continue;
                    }
                    c => self.character(c)?,
                },
                c => c,
            };
            first = false;
            self.literal(low);
            if let Some(high) = self.upper()? {
                if high < low {
                    return Err(format!("invalid character class range: `{low}-{high}`"));
                }
                self.out.push('-');
                self.literal(high);
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// The end of a range, where a dash is not the last of its class.
    fn upper(&mut self) -> Result<Option<char>, String> {
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('-') || matches!(ahead.next(), None | Some(']')) {
            return Ok(None);
        }
        self.rest.next();
        match self.rest.next() {
            Some('\\') => {
                let c = self.rest.next().unwrap_or_default();
                self.character(c).map(Some)
            }
            c => Ok(c),
        }
    }

    /// A character that stands for itself, whatever it is.
    fn literal(&mut self, c: char) {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            write!(self.out, r"\x{:02X}", u32::from(c)).expect("a String takes all");
        } else {
            self.out.push(c);
        }
    }
}

/// The count that follows a brace, with its braces: `{2}`, `{2,}`, `{2,3}`. Anything else is text.
fn counts(mut rest: Peekable<Chars<'_>>) -> Option<String> {
    let inside: String = rest.by_ref().take(16).take_while(|c| *c != '}').collect();
    let (least, most) = inside.split_once(',').unwrap_or((&inside, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let is_count = !least.is_empty() && digits(least) && digits(most) && inside.len() < 16;
    is_count.then(|| format!("{{{inside}}}"))
}

const fn perl(c: char) -> &'static str {
    match c {
        'd' => DIGIT,
        'w' => WORD,
        _ => SPACE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let pattern = Pattern::parse(pattern).expect("a pattern");
        for text in yes {
            assert!(pattern.matches(text), "{} {text:?}", pattern.as_str());
        }
        for text in no {
            assert!(!pattern.matches(text), "{} {text:?}", pattern.as_str());
        }
    }

    #[test]
    fn perl_classes_are_ascii() {
        check(r"^\d+$", &["12"], &["١٢", ""]);
        check(r"^[\w.-]+$", &["a.b-c_1"], &["ä", "a b"]);
        check(r"^[^\s]+$", &["a", "\u{a0}"], &["a b"]);
        check(r"^[\D]$", &["x", "ü"], &["1"]);
        check(r"\bfoo\b", &["a foo b", "äfoo"], &["afoo"]);
    }

    #[test]
    fn classes_hold_signs() {
        check(r"^[a[b&&c]+$", &["a[b&c"], &["d"]);
        check(r"^[]a]+$", &["]a"], &["b"]);
        check(r"^[\w-.]+$", &["a-.b"], &["/"]);
        check(r"^[a-]+$", &["a-"], &["b"]);
        check(r"^[[:alpha:]~-]+$", &["ab~-"], &["1"]);
        check(r"^[+--]$", &["+", ",", "-"], &["."]);
        check(r"^[\x41-\x43\n]$", &["B", "\n"], &["D"]);
    }

    #[test]
    fn braces_count_or_stand() {
        check(r"^a{2,3}$", &["aa", "aaa"], &["a", "a{2,3}"]);
        check(r"^{{.*}}$", &["{{x}}"], &["x"]);
        check(r"^a{,2}$", &["a{,2}"], &["aa"]);
        check(r"^\Qa.b\E$", &["a.b"], &["axb"]);
        check(r"^\<a\>\/\_$", &["<a>/_"], &["a/_"]);
        check(r"^\101\p{Greek}\pN$", &["Aα1"], &["Aa1"]);
    }

    #[test]
    fn what_go_does_not_take_is_refused() {
        for pattern in [
            "(",
            "*a",
            "a|+",
            "(?:?)",
            ")",
            "a**",
            "[z-a]",
            r"\8",
            r"(?=a)",
            r"(?<=a)b",
            r"\",
            "[a",
            "(?x)a",
            r"\pQ",
            "a{1,2}{3}",
            "a{1001}",
        ] {
            let problem = Pattern::parse(pattern).expect_err(pattern);
            assert!(problem.starts_with("error parsing regexp: ") && !problem.contains('\n'), "{problem}");
        }
    }
}
