//! Groups and flags after `(`.

use super::translate::{Read, Translator, wrong};

/// The supported flags.
const FLAGS: [char; 4] = ['i', 'm', 's', 'U'];

impl<'a> Translator<'a> {
    /// Translates a group or flags after `(`. Returns whether a group is open: flags alone open
    /// none.
    pub(super) fn group(&mut self, before: &'a str) -> Read<bool> {
        if !self.eat("?") {
            self.out.push('(');
            return Ok(true);
        }
        if self.rest.starts_with("P<") || self.rest.starts_with('<') {
            return self.named(before);
        }
        let (mut flags, mut clears, mut seen) = ([None; 4], false, false);
        loop {
            let c = self.next();
            match c {
                Some('-') if !clears => (clears, seen) = (true, false),
                Some(end @ (':' | ')')) if seen || !clears => {
                    self.flags(flags, end);
                    return Ok(end == ':');
                }
                Some(c) if FLAGS.contains(&c) => {
                    seen = true;
                    for (flag, _) in flags.iter_mut().zip(FLAGS).filter(|(_, it)| *it == c) {
                        *flag = Some(!clears);
                    }
                }
                None => return wrong("missing closing )", before),
                _ => return wrong("invalid or unsupported Perl syntax", self.since(before)),
            }
        }
    }

    fn flags(&mut self, flags: [Option<bool>; 4], end: char) {
        let of = |set: bool| {
            FLAGS.iter().zip(flags).filter(move |(_, flag)| *flag == Some(set)).map(|(name, _)| *name)
        };
        let (sets, clears): (String, String) = (of(true).collect(), of(false).collect());
        let minus = if clears.is_empty() { "" } else { "-" };
        // Unset flags are omitted.
        match end {
            ')' if sets.is_empty() && clears.is_empty() => self.out.push_str("(?:)"),
            end => self.out.push_str(&format!("(?{sets}{minus}{clears}{end}")),
        }
    }

    /// Translates `(?P<name>` and `(?<name>`. Names are dropped, since no caller uses them.
    fn named(&mut self, before: &'a str) -> Read<bool> {
        self.eat("P");
        self.eat("<");
        let Some((name, rest)) = self.rest.split_once('>') else {
            return wrong("invalid named capture", before);
        };
        self.rest = rest;
        if name.is_empty() || !name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_') {
            return wrong("invalid named capture", self.since(before));
        }
        self.out.push('(');
        Ok(true)
    }
}
