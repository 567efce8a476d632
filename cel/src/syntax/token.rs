//! The lexer. It tokenizes the whole expression at once, since expressions are short.

use super::ast::Literal;
use super::literal;
use crate::error::{Errors, Problem};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Ident(String),
    /// A number without its sign. The parser adds the sign, so that the smallest int is valid.
    Int(String),
    Uint(String),
    Double(String),
    Value(Literal),
    Mark(&'static str),
    End,
}

/// A token with its offset in characters.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) token: Token,
    pub(crate) at: u32,
}

/// Longest first, so that the first match is right.
const MARKS: [&str; 26] = [
    "==", "!=", "<=", ">=", "&&", "||", "(", ")", "[", "]", "{", "}", ".", ",", "?", ":", "+", "-", "*", "/",
    "%", "!", "<", ">", "=", "`",
];

pub(crate) fn tokens(text: &[char]) -> Result<Vec<Placed>, Errors> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let at = lexer.at as u32;
        let token = lexer.token().map_err(|problem| Errors::one(at, problem))?;
        let end = token == Token::End;
        tokens.push(Placed { token, at });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.text.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn skip_blank(&mut self) {
        loop {
            match self.peek(0) {
                ' ' | '\t' | '\n' | '\r' | '\u{c}' => self.at += 1,
                '/' if self.peek(1) == '/' => {
                    while self.at < self.text.len() && self.peek(0) != '\n' {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn token(&mut self) -> Result<Token, Problem> {
        if self.at >= self.text.len() {
            return Ok(Token::End);
        }
        let first = self.peek(0);
        if let Some(token) = self.quoted()? {
            return Ok(token);
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let from = self.at;
            while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == '_' {
                self.at += 1;
            }
            return Ok(Token::Ident(self.text[from..self.at].iter().collect()));
        }
        if first.is_ascii_digit() || first == '.' && self.peek(1).is_ascii_digit() {
            return Ok(self.number());
        }
        for mark in MARKS {
            if mark.chars().enumerate().all(|(ahead, it)| self.peek(ahead) == it) {
                self.at += mark.len();
                return Ok(Token::Mark(mark));
            }
        }
        Err(Problem::Syntax(format!("token recognition error at: '{first}'")))
    }

    fn number(&mut self) -> Token {
        let from = self.at;
        if self.peek(0) == '0' && matches!(self.peek(1), 'x' | 'X') && self.peek(2).is_ascii_hexdigit() {
            self.at += 2;
            while self.peek(0).is_ascii_hexdigit() {
                self.at += 1;
            }
            return self.whole(from);
        }
        let digits = |it: &mut Self| {
            while it.peek(0).is_ascii_digit() {
                it.at += 1;
            }
        };
        digits(self);
        let mut double = false;
        if self.peek(0) == '.' && self.peek(1).is_ascii_digit() {
            double = true;
            self.at += 1;
            digits(self);
        }
        let signed = usize::from(matches!(self.peek(1), '+' | '-'));
        if matches!(self.peek(0), 'e' | 'E') && self.peek(1 + signed).is_ascii_digit() {
            double = true;
            self.at += 1 + signed;
            digits(self);
        }
        if double { Token::Double(self.since(from)) } else { self.whole(from) }
    }

    fn whole(&mut self, from: usize) -> Token {
        let digits = self.since(from);
        if matches!(self.peek(0), 'u' | 'U') {
            self.at += 1;
            return Token::Uint(digits);
        }
        Token::Int(digits)
    }

    fn since(&self, from: usize) -> String {
        self.text[from..self.at].iter().collect()
    }

    /// Lexes a string or bytes literal with the prefixes `b`, `r` or `br` in any case; `None` if
    /// none starts here.
    fn quoted(&mut self) -> Result<Option<Token>, Problem> {
        let (mut raw, mut bytes, mut prefix) = (false, false, 0);
        loop {
            match self.peek(prefix) {
                'r' | 'R' if !raw => raw = true,
                'b' | 'B' if !bytes && !raw => bytes = true,
                '"' | '\'' => break,
                _ => return Ok(None),
            }
            prefix += 1;
        }
        let quote = self.peek(prefix);
        let triple = self.peek(prefix + 1) == quote && self.peek(prefix + 2) == quote;
        let marks = if triple { 3 } else { 1 };
        let from = self.at + prefix + marks;
        let mut to = from;
        loop {
            let Some(&it) = self.text.get(to) else {
                return Err(Problem::Syntax(format!("a text that begins with {quote} has no end")));
            };
            let closes = (0..marks).all(|ahead| self.text.get(to + ahead) == Some(&quote));
            match it {
                _ if closes => break,
                '\n' | '\r' if !triple => {
                    let hint = "a text over several lines is written in three quotes";
                    return Err(Problem::Syntax(format!("a text ends in the middle of a line: {hint}")));
                }
                '\\' if !raw => to += 2,
                _ => to += 1,
            }
        }
        let inside = &self.text[from..to];
        self.at = to + marks;
        let value = match bytes {
            true => Literal::Bytes(literal::bytes(inside, raw)?.into()),
            false => Literal::String(literal::text(inside, raw)?.into()),
        };
        Ok(Some(Token::Value(value)))
    }
}
