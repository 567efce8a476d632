//! Addresses of mail: `ann@example.com`, and with a name before it: `Ann <ann@example.com>`.

use std::iter::Peekable;
use std::str::Chars;

/// Returns whether the text is one address, with or without a display name.
pub(super) fn is_email(text: &str) -> bool {
    let plain = AddressReader::of(text);
    plain.bare_address().is_some() || AddressReader::of(text).named_address().is_some()
}

struct AddressReader<'a> {
    rest: Peekable<Chars<'a>>,
}

impl<'a> AddressReader<'a> {
    fn of(text: &'a str) -> Self {
        Self { rest: text.chars().peekable() }
    }

    fn bare_address(mut self) -> Option<()> {
        self.address()?;
        self.end()
    }

    /// Words, and an address in angle brackets. Comments are between words and at the end.
    fn named_address(mut self) -> Option<()> {
        self.space();
        while self.rest.peek()? != &'<' {
            match self.rest.peek()? {
                '"' => self.quoted()?,
                _ => self.word(|c| is_atom(c) || c == '.')?,
            }
            self.comments()?;
        }
        self.sign('<')?;
        self.address()?;
        self.sign('>')?;
        self.end()
    }

    fn address(&mut self) -> Option<()> {
        self.space();
        match self.rest.peek()? {
            '"' => self.quoted()?,
            _ => self.dotted()?,
        }
        self.sign('@')?;
        self.space();
        match self.rest.peek()? {
            '[' => self.literal(),
            _ => self.dotted(),
        }
    }

    /// Atoms with a dot between each two.
    fn dotted(&mut self) -> Option<()> {
        self.word(is_atom)?;
        while self.rest.next_if_eq(&'.').is_some() {
            self.word(is_atom)?;
        }
        Some(())
    }

    fn word(&mut self, part: impl Fn(char) -> bool) -> Option<()> {
        let mut count = 0;
        while self.rest.next_if(|c| part(*c)).is_some() {
            count += 1;
        }
        (count > 0).then_some(())
    }

    /// `"a b"`; not empty.
    fn quoted(&mut self) -> Option<()> {
        self.sign('"')?;
        let mut count = 0;
        loop {
            match self.rest.next()? {
                '"' => return (count > 0).then_some(()),
                '\\' => drop(self.rest.next().filter(|c| is_visible(*c) || *c == ' ' || *c == '\t')?),
                ' ' | '\t' => {}
                c if is_visible(c) => {}
                _ => return None,
            }
            count += 1;
        }
    }

    /// `[192.0.2.1]`
    fn literal(&mut self) -> Option<()> {
        self.sign('[')?;
        let mut text = String::new();
        while let Some(c) = self.rest.next_if(|c| *c != ']') {
            text.push(c);
        }
        self.sign(']')?;
        text.parse::<std::net::IpAddr>().is_ok().then_some(())
    }

    fn space(&mut self) {
        while self.rest.next_if(|c| *c == ' ' || *c == '\t').is_some() {}
    }

    /// White space and comments.
    fn comments(&mut self) -> Option<()> {
        self.space();
        while self.rest.peek() == Some(&'(') {
            self.comment()?;
            self.space();
        }
        Some(())
    }

    fn comment(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.rest.next()? {
                '(' => depth += 1,
                ')' if depth == 1 => return Some(()),
                ')' => depth -= 1,
                '\\' => drop(self.rest.next()?),
                _ => {}
            }
        }
    }

    fn sign(&mut self, sign: char) -> Option<()> {
        self.rest.next_if_eq(&sign).map(drop)
    }

    fn end(mut self) -> Option<()> {
        self.comments()?;
        self.rest.next().is_none().then_some(())
    }
}

fn is_atom(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c)
}

fn is_visible(c: char) -> bool {
    matches!(c, '!'..='~') || !c.is_ascii()
}
