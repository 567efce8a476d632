//! A recursive descent parser, from the loosest to the tightest operator. It counts depth and
//! nodes.

use std::sync::Arc;

use super::ast::{Call, Entry, Id, ListLiteral, Literal, Node, NodeKind, Select};
use super::token::{Placed, Token, tokens};
use super::{literal, macros};
use crate::error::{Errors, Problem};
use crate::escape::RESERVED;
use crate::limits;

/// Parses an expression. Returns its tree, and the number of node ids.
pub(crate) fn parse(text: &str) -> Result<(Node, Id), Errors> {
    // One more than allowed: a huge text is refused without copying all of it.
    let chars: Vec<char> = text.chars().take(limits::MAX_CHARS + 1).collect();
    if chars.len() > limits::MAX_CHARS {
        let most = limits::MAX_CHARS;
        let problem =
            format!("expression code point size exceeds limit: limit: {most}; shorten or divide it");
        return Err(Errors::one(0, Problem::Limit(problem)));
    }
    let mut parser = Parser { tokens: tokens(&chars)?, next: 0, nodes: Nodes::default(), nested: 0 };
    let node = parser.expression().and_then(|node| match parser.peek() {
        Token::End => Ok(node),
        _ => Err(parser.unexpected("the end, or an operator")),
    });
    node.map(|node| (node, parser.nodes.next)).map_err(|(at, problem)| Errors::one(at, problem))
}

pub(crate) type Parsed<T = Node> = Result<T, (u32, Problem)>;

/// Creates nodes, and enforces the limits of number and depth.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    next: Id,
}

impl Nodes {
    pub(crate) fn make(&mut self, at: u32, kind: NodeKind) -> Parsed {
        let mut node = Node { id: self.next, at, depth: 1, kind };
        node.depth += node.children().iter().map(|it| it.depth).max().unwrap_or(0);
        self.next += 1;
        // Limited here, since the checker, the planner and the evaluator recurse over the tree.
        if node.depth > limits::MAX_DEPTH {
            return Err((at, too_deep()));
        }
        if self.next > limits::MAX_NODES {
            let most = limits::MAX_NODES;
            let problem =
                format!("expression has more than {most} parts after its macros are expanded; divide it");
            return Err((at, Problem::Limit(problem)));
        }
        Ok(node)
    }

    /// Copies a tree with new ids.
    pub(crate) fn copy(&mut self, node: &Node) -> Parsed {
        let mut copy = node.clone();
        self.renumber(&mut copy)?;
        Ok(copy)
    }

    fn renumber(&mut self, node: &mut Node) -> Parsed<()> {
        node.id = self.make(node.at, NodeKind::Literal(Literal::Null))?.id;
        node.children_mut().into_iter().try_for_each(|it| self.renumber(it))
    }

    pub(crate) fn call(&mut self, at: u32, function: &str, args: Vec<Node>) -> Parsed {
        self.make(at, NodeKind::Call(Box::new(Call { target: None, function: function.into(), args })))
    }

    pub(crate) fn member(&mut self, at: u32, target: Node, function: &str, args: Vec<Node>) -> Parsed {
        let call = Call { target: Some(target), function: function.into(), args };
        self.make(at, NodeKind::Call(Box::new(call)))
    }
}

fn too_deep() -> Problem {
    let most = limits::MAX_DEPTH;
    Problem::Limit(format!("expression recursion limit exceeded: {most}; nest it less deep, or divide it"))
}

struct Parser {
    tokens: Vec<Placed>,
    next: usize,
    nodes: Nodes,
    nested: u32,
}

const RELATIONS: [(&str, &str); 6] =
    [("<=", "_<=_"), (">=", "_>=_"), ("==", "_==_"), ("!=", "_!=_"), ("<", "_<_"), (">", "_>_")];
const SUMS: [(&str, &str); 2] = [("+", "_+_"), ("-", "_-_")];
const PRODUCTS: [(&str, &str); 3] = [("*", "_*_"), ("/", "_/_"), ("%", "_%_")];

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next.min(self.tokens.len() - 1)].token
    }

    fn at(&self) -> u32 {
        self.tokens[self.next.min(self.tokens.len() - 1)].at
    }

    fn sees(&self, mark: &str) -> bool {
        matches!(self.peek(), Token::Mark(it) if *it == mark)
    }

    fn eat(&mut self, mark: &str) -> bool {
        let sees = self.sees(mark);
        self.next += usize::from(sees);
        sees
    }

    fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { Err(self.unexpected(&format!("'{mark}'"))) }
    }

    fn unexpected(&self, expected: &str) -> (u32, Problem) {
        let found = match self.peek() {
            Token::Ident(it) | Token::Int(it) | Token::Uint(it) | Token::Double(it) => it.clone(),
            Token::Value(_) => "a text".to_owned(),
            Token::Mark(it) => (*it).to_owned(),
            Token::End => "<EOF>".to_owned(),
        };
        (self.at(), Problem::Syntax(format!("mismatched input '{found}' expecting {expected}")))
    }

    fn expression(&mut self) -> Parsed {
        self.nested += 1;
        // Parentheses make no node, and so have no depth, but they recurse.
        if self.nested > limits::MAX_DEPTH {
            return Err((self.at(), too_deep()));
        }
        let condition = self.logical("||", "_||_")?;
        let at = self.at();
        let node = if self.eat("?") {
            let then = self.logical("||", "_||_")?;
            self.expect(":")?;
            let other = self.expression()?;
            self.nodes.call(at, "_?_:_", vec![condition, then, other])?
        } else {
            condition
        };
        self.nested -= 1;
        Ok(node)
    }

    /// Parses a chain of one logical operator to a balanced tree: the same order of evaluation, but
    /// shallow.
    fn logical(&mut self, mark: &str, function: &str) -> Parsed {
        let tighter = |it: &mut Self| match mark {
            "||" => it.logical("&&", "_&&_"),
            _ => it.binary(0),
        };
        let mut terms = vec![tighter(self)?];
        let mut places = Vec::new();
        loop {
            let at = self.at();
            if !self.eat(mark) {
                break;
            }
            places.push(at);
            terms.push(tighter(self)?);
        }
        let mut terms = terms.into_iter();
        self.balanced(&mut terms, &places, function)
    }

    fn balanced(&mut self, terms: &mut dyn Iterator<Item = Node>, places: &[u32], function: &str) -> Parsed {
        let middle = places.len() / 2;
        let Some(&at) = places.get(middle) else {
            return terms.next().ok_or_else(|| self.unexpected("an expression"));
        };
        let left = self.balanced(terms, &places[..middle], function)?;
        let right = self.balanced(terms, &places[middle + 1..], function)?;
        self.nodes.call(at, function, vec![left, right])
    }

    /// Parses relations, sums and products: three left-associative levels.
    fn binary(&mut self, level: usize) -> Parsed {
        let operators: &[(&str, &str)] = match level {
            0 => &RELATIONS,
            1 => &SUMS,
            2 => &PRODUCTS,
            _ => return self.unary(),
        };
        let mut left = self.binary(level + 1)?;
        loop {
            let at = self.at();
            let function = match self.peek() {
                Token::Mark(mark) => operators.iter().find(|it| it.0 == *mark).map(|it| it.1),
                Token::Ident(word) if level == 0 && word == "in" => Some("@in"),
                _ => None,
            };
            let Some(function) = function else { return Ok(left) };
            self.next += 1;
            let right = self.binary(level + 1)?;
            left = self.nodes.call(at, function, vec![left, right])?;
        }
    }

    fn unary(&mut self) -> Parsed {
        let at = self.at();
        for (mark, function) in [("!", "!_"), ("-", "-_")] {
            let mut times = 0;
            // A minus before a number belongs to the literal.
            let number = |it: &Self| {
                let next = it.tokens.get(it.next + 1).map(|it| &it.token);
                mark == "-" && it.sees("-") && matches!(next, Some(Token::Int(_) | Token::Double(_)))
            };
            if times == 0 && number(self) {
                return self.member();
            }
            while self.eat(mark) {
                times += 1;
            }
            if times == 0 {
                continue;
            }
            let operand = self.member()?;
            // Pairs cancel.
            return if times % 2 == 0 { Ok(operand) } else { self.nodes.call(at, function, vec![operand]) };
        }
        self.member()
    }

    fn member(&mut self) -> Parsed {
        let mut node = self.primary()?;
        loop {
            let at = self.at();
            if self.eat(".") {
                let optional = self.eat("?");
                let field = self.name()?;
                let open = self.at();
                node = if optional {
                    let field = self.nodes.make(at, NodeKind::Literal(Literal::String(field)))?;
                    self.nodes.call(at, "_?._", vec![node, field])?
                } else if self.eat("(") {
                    let args = self.arguments()?;
                    self.call(open, Some(node), &field, args)?
                } else {
                    let select = Select { operand: node, field, test: false };
                    self.nodes.make(at, NodeKind::Select(Box::new(select)))?
                };
            } else if self.eat("[") {
                let function = if self.eat("?") { "_[?_]" } else { "_[_]" };
                let index = self.expression()?;
                self.expect("]")?;
                node = self.nodes.call(at, function, vec![node, index])?;
            } else if let (true, Some(name)) = (self.sees("{"), node.qualified_name()) {
                // A message literal; messages are not supported.
                return Err((at, Problem::Undeclared(name)));
            } else {
                return Ok(node);
            }
        }
    }

    /// Parses a name after a dot. Reserved words are allowed, except keywords of the lexer.
    fn name(&mut self) -> Parsed<Arc<str>> {
        match self.peek() {
            Token::Ident(word) if !matches!(word.as_str(), "in" | "true" | "false" | "null") => {
                let name = word.as_str().into();
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// Parses the remaining arguments and the closing mark.
    fn arguments(&mut self) -> Parsed<Vec<Node>> {
        let mut args = Vec::new();
        if self.eat(")") {
            return Ok(args);
        }
        loop {
            args.push(self.expression()?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(args)
    }

    fn call(&mut self, at: u32, target: Option<Node>, function: &str, args: Vec<Node>) -> Parsed {
        match macros::expand(&mut self.nodes, at, target, function, args)? {
            macros::Expanded::Node(node) => Ok(node),
            macros::Expanded::No { target: None, args } => self.nodes.call(at, function, args),
            macros::Expanded::No { target: Some(target), args } => {
                self.nodes.member(at, target, function, args)
            }
        }
    }

    fn primary(&mut self) -> Parsed {
        let at = self.at();
        if self.eat("(") {
            let node = self.expression()?;
            self.expect(")")?;
            return Ok(node);
        }
        if self.eat("[") {
            return self.list(at);
        }
        if self.eat("{") {
            return self.map(at);
        }
        if self.eat(".") {
            let name = self.name()?;
            return self.named(at, &format!(".{name}"));
        }
        let negative = self.eat("-");
        let token = self.peek().clone();
        let literal = match &token {
            Token::Int(digits) => literal::int(digits, negative),
            Token::Double(digits) => literal::double(digits, negative),
            Token::Uint(digits) => literal::uint(digits),
            Token::Value(value) => Ok(value.clone()),
            Token::Ident(word) => match word.as_str() {
                "true" => Ok(Literal::Bool(true)),
                "false" => Ok(Literal::Bool(false)),
                "null" => Ok(Literal::Null),
                "in" => return Err(self.unexpected("an expression")),
                name => {
                    self.next += 1;
                    return self.named(at, name);
                }
            },
            _ => return Err(self.unexpected("an expression")),
        };
        self.next += 1;
        let literal = literal.map_err(|problem| (at, problem))?;
        self.nodes.make(at, NodeKind::Literal(literal))
    }

    /// Parses a variable or a global call.
    fn named(&mut self, at: u32, name: &str) -> Parsed {
        let open = self.at();
        if self.eat("(") {
            let args = self.arguments()?;
            return self.call(open, None, name.trim_start_matches('.'), args);
        }
        if RESERVED.contains(&name.trim_start_matches('.')) {
            return Err((at, Problem::Other(format!("reserved identifier: {name}"))));
        }
        self.nodes.make(at, NodeKind::Ident(name.into()))
    }

    fn list(&mut self, at: u32) -> Parsed {
        let mut list = ListLiteral { items: Vec::new(), optional: Vec::new() };
        while !self.eat("]") {
            list.optional.push(self.eat("?"));
            list.items.push(self.expression()?);
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        self.nodes.make(at, NodeKind::List(list))
    }

    fn map(&mut self, at: u32) -> Parsed {
        let mut entries = Vec::new();
        while !self.eat("}") {
            let optional = self.eat("?");
            let key = self.expression()?;
            self.expect(":")?;
            entries.push(Entry { key, value: self.expression()?, optional });
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        self.nodes.make(at, NodeKind::Map(entries))
    }
}
