//! Character classes, translated to unambiguous items.

use super::translate::{Read, Translator, wrong};

const NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

impl<'a> Translator<'a> {
    /// Translates a class after `[`.
    pub(super) fn class(&mut self, before: &'a str) -> Read {
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        while first || !self.eat("]") {
            first = false;
            let item = self.rest;
            if self.named_class()? {
                continue;
            }
            let low = match self.next() {
                None => return wrong("missing closing ]", before),
                Some('\\') => match self.next() {
                    Some(c @ ('d' | 'w' | 's' | 'D' | 'W' | 'S')) => {
                        self.perl(c);
                        continue;
                    }
                    Some(p @ ('p' | 'P')) => {
                        self.unicode(p, item)?;
                        continue;
                    }
                    c => self.character(c, item)?,
                },
                Some(c) => c,
            };
            // Escaped: `[`, `&&`, `--` and `~~` are operators in classes of the crate.
            self.literal(low);
            // A final dash is literal.
            if self.rest.len() > 1 && !self.rest.starts_with("-]") && self.eat("-") {
                let high = self.upper(before)?;
                if high < low {
                    return wrong("invalid character class range", self.since(item));
                }
                self.out.push('-');
                self.literal(high);
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// Parses the end of a range.
    fn upper(&mut self, class: &'a str) -> Read<char> {
        let before = self.rest;
        match self.next() {
            Some('\\') => {
                let c = self.next();
                self.character(c, before)
            }
            Some(c) => Ok(c),
            None => wrong("missing closing ]", class),
        }
    }

    /// Translates `[:alpha:]` and `[:^alpha:]`.
    fn named_class(&mut self) -> Read<bool> {
        let before = self.rest;
        let Some((name, rest)) = self.rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]")) else {
            return Ok(false);
        };
        self.rest = rest;
        if !NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return wrong("invalid character class range", self.since(before));
        }
        self.out.push_str(&format!("[:{name}:]"));
        Ok(true)
    }
}
