//! The grammar of label selectors.
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = "!" key
//!             | key
//!             | key ( "=" | "==" | "!=" | ">" | "<" ) [ value ]
//!             | key ( "in" | "notin" ) "(" [ value ] { "," [ value ] } ")"
//! ```
//! White space may stand between any two tokens. `in` and `notin` are operators only in the
//! position of an operator, so that labels may have these names; an omitted value is empty.

use std::fmt;

use super::{Requirement, RequirementError, SelectorError};
use crate::excerpt::excerpt;

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut tokens = Tokens::new(text);
    let mut requirements = Vec::new();
    if tokens.next == Token::End {
        return Ok(requirements);
    }
    loop {
        requirements.push(requirement(&mut tokens)?);
        match tokens.next {
            Token::End => return Ok(requirements),
            Token::Comma => tokens.advance(),
            _ => return Err(tokens.unexpected("a comma or the end")),
        };
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, SelectorError> {
    let at = tokens.at;
    let wrong = |source| SelectorError::Requirement { at, source };
    if tokens.next == Token::Not {
        tokens.advance();
        return Requirement::absent(tokens.word("the key of a label")?).map_err(wrong);
    }
    let key = tokens.word("the key of a label, or `!` and a key")?;
    if matches!(tokens.next, Token::End | Token::Comma) {
        return Requirement::exists(key).map_err(wrong);
    }
    let operator = tokens.next;
    let made = match operator {
        Token::Equal => tokens.advance().value().map(|value| Requirement::equals(key, value)),
        Token::NotEqual => tokens.advance().value().map(|value| Requirement::none_of(key, [value])),
        Token::Greater => tokens.advance().value().map(|value| Requirement::greater(key, value)),
        Token::Less => tokens.advance().value().map(|value| Requirement::less(key, value)),
        Token::Word("in") => tokens.advance().values().map(|values| Requirement::any_of(key, values)),
        Token::Word("notin") => tokens.advance().values().map(|values| Requirement::none_of(key, values)),
        _ => Err(tokens.unexpected("a comma, the end, or one of =, ==, !=, >, <, in, notin")),
    };
    made?.map_err(|source: RequirementError| wrong(source))
}

/// A tokenizer with one token of lookahead.
struct Tokens<'a> {
    text: &'a str,
    next: Token<'a>,
    /// Position of the next token.
    at: usize,
    /// End of the next token.
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Open,
    Close,
    Comma,
    Not,
    Equal,
    NotEqual,
    Greater,
    Less,
    End,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        let mut tokens = Self { text, next: Token::End, at: 0, end: 0 };
        tokens.advance();
        tokens
    }

    fn advance(&mut self) -> &mut Self {
        let rest = self.text[self.end..].trim_start_matches([' ', '\t', '\r', '\n']);
        let word =
            rest.find([' ', '\t', '\r', '\n', '=', '!', '(', ')', ',', '>', '<']).unwrap_or(rest.len());
        let (next, length) = match rest.as_bytes() {
            [] => (Token::End, 0),
            [b'=', b'=', ..] => (Token::Equal, 2),
            [b'=', ..] => (Token::Equal, 1),
            [b'!', b'=', ..] => (Token::NotEqual, 2),
            [b'!', ..] => (Token::Not, 1),
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b',', ..] => (Token::Comma, 1),
            [b'>', ..] => (Token::Greater, 1),
            [b'<', ..] => (Token::Less, 1),
            _ => (Token::Word(&rest[..word]), word),
        };
        self.at = self.text.len() - rest.len();
        self.end = self.at + length;
        self.next = next;
        self
    }

    fn word(&mut self, expected: &'static str) -> Result<&'a str, SelectorError> {
        let Token::Word(word) = self.next else { return Err(self.unexpected(expected)) };
        self.advance();
        Ok(word)
    }

    /// Parses one value after an operator; it may be omitted.
    fn value(&mut self) -> Result<&'a str, SelectorError> {
        match self.next {
            Token::End | Token::Comma => Ok(""),
            _ => self.word("a value, a comma or the end"),
        }
    }

    /// Parses values in parentheses; each may be omitted.
    fn values(&mut self) -> Result<Vec<&'a str>, SelectorError> {
        if self.next != Token::Open {
            return Err(self.unexpected("`(`, and values up to `)`"));
        }
        let mut values = Vec::new();
        loop {
            self.advance(); // the parenthesis or the comma
            values.push(match self.next {
                // More lenient than Kubernetes, which takes `(,)` and `(x,,y)` but not `(,,)`.
                Token::Comma | Token::Close => "",
                _ => self.word("a value, a comma or `)`")?,
            });
            match self.next {
                Token::Comma => {}
                Token::Close => {
                    self.advance();
                    return Ok(values);
                }
                _ => return Err(self.unexpected("a comma or `)`")),
            }
        }
    }

    fn unexpected(&self, expected: &'static str) -> SelectorError {
        SelectorError::Unexpected { at: self.at, found: self.next.to_string(), expected }
    }
}

/// The form in error messages.
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word(word) => return write!(f, "`{}`", excerpt(word)),
            Self::Open => "`(`",
            Self::Close => "`)`",
            Self::Comma => "a comma",
            Self::Not => "`!`",
            Self::Equal => "`=`",
            Self::NotEqual => "`!=`",
            Self::Greater => "`>`",
            Self::Less => "`<`",
            Self::End => "the end",
        })
    }
}
