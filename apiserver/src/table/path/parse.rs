//! Parser of printer column paths.

use super::{ColumnPath, ColumnPathStep, Filter, Operator, Slice, Test, To};

/// Maximum nesting of paths, which recursion parses.
const DEPTH: usize = 16;

impl ColumnPath {
    /// Reads `.spec.x`, `{.spec.x}`, `$.spec.x`…
    ///
    /// # Errors
    /// The message for users.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        steps(inner, DEPTH).map(Self)
    }
}

fn steps(text: &str, depth: usize) -> Result<Vec<ColumnPathStep>, String> {
    let depth = depth.checked_sub(1).ok_or("nested too deeply")?;
    let mut reader = PathReader { rest: text, depth, steps: Vec::new() };
    while reader.step()? {}
    Ok(reader.steps)
}

struct PathReader<'a> {
    rest: &'a str,
    depth: usize,
    steps: Vec<ColumnPathStep>,
}

impl<'a> PathReader<'a> {
    fn step(&mut self) -> Result<bool, String> {
        let Some(first) = self.rest.chars().next() else { return Ok(false) };
        let after = &self.rest[first.len_utf8()..];
        if let Some(rest) = self.rest.strip_prefix("[?(") {
            self.rest = rest;
            return self.filter();
        }
        if let Some(rest) = self.rest.strip_prefix("..") {
            return self.recursive(rest);
        }
        match first {
            ' ' | '@' | '$' => self.rest = after,
            '[' => return self.array(after),
            '"' | '\'' => return self.quoted(first, after),
            '.' => return self.field(after),
            '+' | '-' => return self.number(),
            c if c.is_numeric() => return self.number(),
            c if c == '_' || c.is_alphanumeric() => return self.word(),
            '\n' | '\r' => return Err("unclosed action".into()),
            c => return Err(format!("unrecognized character in action: U+{:04X} '{c}'", u32::from(c))),
        }
        Ok(true)
    }

    fn push(&mut self, step: ColumnPathStep) -> Result<bool, String> {
        self.steps.push(step);
        Ok(true)
    }

    fn recursive(&mut self, rest: &'a str) -> Result<bool, String> {
        if self.steps.last() == Some(&ColumnPathStep::Recursive) {
            return Err("invalid multiple recursive descent".into());
        }
        self.steps.push(ColumnPathStep::Recursive);
        self.rest = rest;
        if rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()) {
            return self.field(rest);
        }
        Ok(true)
    }

    /// Parses a name up to a terminator; a backslash escapes the next character.
    fn field(&mut self, rest: &'a str) -> Result<bool, String> {
        let mut name = String::new();
        let mut characters = rest.char_indices();
        let mut end = rest.len();
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => name.push(characters.next().ok_or("unclosed action")?.1),
                c if terminates(c) => {
                    end = at;
                    break;
                }
                c => name.push(c),
            }
        }
        let whole = &rest[..end];
        self.rest = &rest[end..];
        self.push(if whole == "*" { ColumnPathStep::Wildcard } else { ColumnPathStep::Field(name) })
    }

    fn number(&mut self) -> Result<bool, String> {
        let digits = |c: char| c == '.' || c.is_numeric();
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let end = self.rest[sign..].find(|c| !digits(c)).map_or(self.rest.len(), |at| at + sign);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let number = text.strip_prefix('+').unwrap_or(text);
        let value = match (number.parse::<i64>(), number.parse::<f64>()) {
            (Ok(whole), _) => whole.into(),
            (_, Ok(broken)) => broken.into(),
            _ => return Err(format!("cannot parse number {text}")),
        };
        self.push(ColumnPathStep::Literal(value))
    }

    fn word(&mut self) -> Result<bool, String> {
        let end = self.rest.find(terminates).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "true" | "false" => self.push(ColumnPathStep::Literal((word == "true").into())),
            _ => self.push(ColumnPathStep::Never),
        }
    }

    fn quoted(&mut self, quote: char, after: &'a str) -> Result<bool, String> {
        let end = closing(after, quote).ok_or("unterminated quoted string")?;
        self.rest = &after[end + 1..];
        self.push(ColumnPathStep::Literal(unquote(&after[..end])?.into()))
    }

    fn array(&mut self, after: &'a str) -> Result<bool, String> {
        let end = after.find([']', '\n']).filter(|at| after[*at..].starts_with(']'));
        let end = end.ok_or("unterminated array")?;
        let inside = &after[..end];
        self.rest = &after[end + 1..];
        if inside.contains(',') {
            let each =
                inside.split(',').map(|part| steps(&format!("[{}]", part.trim_matches(' ')), self.depth));
            let union = each.collect::<Result<_, _>>()?;
            return self.push(ColumnPathStep::Union(union));
        }
        let key = inside.strip_prefix('\'').and_then(|key| key.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            self.steps.extend(steps(&format!(".{key}"), self.depth)?);
            return Ok(true);
        }
        let slice = slice(if inside == "*" { ":" } else { inside })?;
        self.push(ColumnPathStep::Slice(slice))
    }

    fn filter(&mut self) -> Result<bool, String> {
        let end = filter_end(self.rest).ok_or("unterminated filter")?;
        let inside = &self.rest[..end];
        self.rest = self.rest[end + 1..].strip_prefix(']').ok_or("unclosed array expect ]")?;
        let compares = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let left = inside.find(compares).unwrap_or(inside.len());
        let length = inside[left..].find(|c| !compares(c)).unwrap_or(0);
        if left == 0 || length == 0 {
            return self.push(ColumnPathStep::Filter(Filter {
                left: steps(inside, self.depth)?,
                test: Test::Exists,
            }));
        }
        let operator = operator(&inside[left..left + length]);
        let right = steps(&inside[left + length..], self.depth)?;
        let left = steps(&inside[..left], self.depth)?;
        self.push(operator.map_or(ColumnPathStep::Never, |operator| {
            ColumnPathStep::Filter(Filter { left, test: Test::Compare(operator, right) })
        }))
    }
}

fn terminates(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

/// Returns the end of a quoted text: the quote without a backslash before it.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            c if c == quote && before != '\\' => return Some(at),
            c => before = c,
        }
    }
    None
}

/// The `)` that ends a filter: not one inside its quoted text.
fn filter_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut closed = false;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('\n', _) => return None,
            ('"' | '\'', None) => quote = Some(c),
            ('"' | '\'', Some(open)) if c == open && before != '\\' => closed = true,
            (')', None) => return Some(at),
            (')', Some(_)) if closed => return Some(at),
            _ => {}
        }
        before = c;
    }
    None
}

fn unquote(text: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        plain.push(match c {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(c @ ('\\' | '\'' | '"')) => c,
                _ => return Err(format!("unquote string {text} error invalid syntax")),
            },
            c => c,
        });
    }
    Ok(plain)
}

fn operator(text: &str) -> Option<Operator> {
    Some(match text {
        "<" => Operator::Less,
        "<=" => Operator::LessEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterEqual,
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        _ => return None,
    })
}

/// Parses `2`, `1:3`, `:`, `::2`; an omitted number is 0.
fn slice(text: &str) -> Result<Slice, String> {
    let invalid = || format!("invalid array index {text}");
    let read = |part: &str| match part {
        "" => Ok(None),
        part => part.parse::<i64>().map(Some).map_err(|_| invalid()),
    };
    let mut parts = text.split(':');
    let from = read(parts.next().unwrap_or_default())?;
    let (to, step) = (parts.next().map(read).transpose()?, parts.next().map(read).transpose()?);
    if text.contains('+') || parts.next().is_some() {
        return Err(invalid());
    }
    let to = match to {
        None => To::One,
        Some(None) => To::End,
        Some(Some(at)) => To::At(at),
    };
    Ok(Slice { from: from.unwrap_or(0), to, step: step.flatten().unwrap_or(1) })
}
