//! Errors of selectors, in the words of Kubernetes: parses as Kubernetes does, and keeps no result.

use std::collections::BTreeSet;

use serde_json::json;

use crate::bounded::BoundedTexts;
use crate::invalid::{FieldError, Problem};
use crate::meta::names::{label_key, label_value};

/// Why Kubernetes refuses this selector of labels, if it does.
pub(super) fn labels(text: &str) -> Option<String> {
    let mut tokens = Tokens { rest: text };
    loop {
        match tokens.peek() {
            Token::End => return None,
            Token::Word(_) | Token::Symbol("!") => {
                if let Err(why) = requirement(&mut tokens) {
                    return Some(format!("unable to parse requirement: {why}"));
                }
            }
            found => return Some(format!("found '{found}', expected: !, identifier, or 'end of string'")),
        }
        match tokens.next() {
            Token::End => return None,
            Token::Symbol(",") if matches!(tokens.peek(), Token::Word(_) | Token::Symbol("!")) => {}
            Token::Symbol(",") => {
                return Some(format!("found '{}', expected: identifier after ','", tokens.peek()));
            }
            found => return Some(format!("found '{found}', expected: ',' or 'end of string'")),
        }
    }
}

/// Why Kubernetes refuses this selector of fields, if it does; which fields there are is another
/// question.
pub(super) fn fields(text: &str) -> Option<String> {
    let mut terms = Vec::new();
    let (mut begin, mut escaped) = (0, false);
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[begin..]);
    terms.retain(|term| !term.is_empty());
    terms.sort_unstable();
    let malformed = terms.iter().find_map(|term| match split(term) {
        None => Some(format!("invalid selector: '{text}'; can't understand '{term}'")),
        Some((_, value)) => wrong_value(value).map(|why| format!("invalid field selector: {why}")),
    });
    // No kind has a field of such a name.
    let outside = |char: char| matches!(char, '!' | ',' | '\\') || char.is_whitespace() || char.is_control();
    malformed.or_else(|| {
        let field = terms.iter().filter_map(|term| split(term)).map(|(field, _)| field);
        field
            .into_iter()
            .find(|field| field.is_empty() || field.contains(outside))
            .map(super::selectors::unsupported)
    })
}

/// The field and the value.
fn split(term: &str) -> Option<(&str, &str)> {
    let equal = term.find('=')?;
    let field = &term[..equal];
    match field.strip_suffix('!') {
        Some(field) => Some((field, &term[equal + 1..])),
        None => Some((field, term[equal..].strip_prefix("==").unwrap_or(&term[equal + 1..]))),
    }
}

fn wrong_value(value: &str) -> Option<String> {
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some('\\' | ',' | '=') => {}
                Some(other) => return Some(format!("invalid escape sequence: \\{other}")),
                None => return Some("invalid escape sequence: \\".into()),
            },
            ',' | '=' => return Some(format!("unescaped character in value: {}", u32::from(char))),
            _ => {}
        }
    }
    None
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<(), String> {
    let absent = tokens.peek() == Token::Symbol("!");
    if absent {
        tokens.next();
    }
    let key = match tokens.next() {
        Token::Word(key) => key,
        found => return Err(format!("found '{found}', expected: identifier")),
    };
    let wrong = label_key(key);
    if !wrong.is_empty() {
        return Err(FieldError::new("<nil>", Problem::Invalid(json!(key)), wrong.join("; ")).to_string());
    }
    if absent || matches!(tokens.peek(), Token::End | Token::Symbol(",")) {
        return Ok(());
    }
    let operator = tokens.next();
    let values = match operator {
        Token::Word("in" | "notin") => values(tokens)?,
        Token::Symbol("=" | "==" | "!=" | ">" | "<") => BTreeSet::from([match tokens.peek() {
            Token::End | Token::Symbol(",") => "",
            _ => match tokens.next() {
                Token::Word(value) => value,
                found => return Err(format!("found '{found}', expected: identifier")),
            },
        }]),
        found => return Err(format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt")),
    };
    let compares = matches!(operator, Token::Symbol(">" | "<"));
    let mut wrong = BoundedTexts::default();
    for (at, value) in values.iter().enumerate() {
        if compares && value.parse::<i64>().is_err() {
            let why = "for 'Gt', 'Lt' operators, the value must be an integer";
            wrong.push(FieldError::new(format!("values[{at}]"), Problem::Invalid(json!(value)), why));
        }
    }
    for (at, value) in values.iter().enumerate() {
        let why = label_value(value);
        if !why.is_empty() {
            let field = format!("values[{at}][{key}]");
            wrong.push(FieldError::new(field, Problem::Invalid(json!(value)), why.join("; ")));
        }
    }
    match wrong.kept() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        _ => Err(format!("[{}]", wrong.join(", "))),
    }
}

fn values<'a>(tokens: &mut Tokens<'a>) -> Result<BTreeSet<&'a str>, String> {
    match tokens.next() {
        Token::Symbol("(") => {}
        found => return Err(format!("found '{found}' expected: '('")),
    }
    match tokens.peek() {
        Token::Symbol(")") => {
            tokens.next();
            return Ok(BTreeSet::from([""]));
        }
        Token::Word(_) | Token::Symbol(",") => {}
        found => return Err(format!("found '{found}', expected: ',', ')' or identifier")),
    }
    let mut values = BTreeSet::new();
    loop {
        match tokens.next() {
            Token::Word(value) => {
                values.insert(value);
                match tokens.peek() {
                    Token::Symbol(",") => {}
                    Token::Symbol(")") => break,
                    found => return Err(format!("found '{found}', expected: ',' or ')'")),
                }
            }
            Token::Symbol(",") => {
                if values.is_empty() {
                    values.insert("");
                }
                match tokens.peek() {
                    Token::Symbol(")") => {
                        values.insert("");
                        break;
                    }
                    Token::Symbol(",") => {
                        values.insert("");
                    }
                    _ => {}
                }
            }
            found => return Err(format!("found '{found}', expected: ',', or identifier")),
        }
    }
    tokens.next();
    Ok(values)
}

#[derive(Clone, Copy)]
struct Tokens<'a> {
    rest: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

impl<'a> Tokens<'a> {
    fn peek(self) -> Token<'a> {
        let mut ahead = self;
        ahead.next()
    }

    fn next(&mut self) -> Token<'a> {
        let special = ['=', '!', '(', ')', ',', '>', '<'];
        let space = [' ', '\t', '\r', '\n'];
        let rest = self.rest.trim_start_matches(space);
        // To Kubernetes a text ends where it is zero.
        let length = match rest.as_bytes() {
            [] | [0, ..] => {
                self.rest = "";
                return Token::End;
            }
            [b'=' | b'!', b'=', ..] => 2,
            _ if rest.starts_with(special) => 1,
            _ => rest
                .find(|char| char == '\0' || special.contains(&char) || space.contains(&char))
                .unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        self.rest = after;
        if token.starts_with(special) { Token::Symbol(token) } else { Token::Word(token) }
    }
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(text) | Self::Symbol(text) => f.write_str(text),
            Self::End => Ok(()),
        }
    }
}
