//! The declared functions, from `declarations.txt`. One overload per line: name, `m` for a member
//! or `g` for a global, the id used by costs, the argument types in parentheses, the result type.

use std::sync::LazyLock;

use hashbrown::HashMap;

use crate::types::{Type, opaque};

pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) member: bool,
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
    /// Number of type parameters: the first variables in `args` and `result`.
    pub(crate) open: u32,
}

type Table = HashMap<&'static str, Vec<Overload>, foldhash::fast::FixedState>;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    // A constant seed: all names are in the file, and none comes from a client.
    let mut table = Table::with_hasher(foldhash::fast::FixedState::with_seed(0));
    for line in include_str!("declarations.txt").lines() {
        if let Some((name, overload)) = overload(line) {
            table.entry(name).or_default().push(overload);
        }
    }
    table
});

/// Returns the overloads of a function, if it exists.
pub(crate) fn overloads(function: &str) -> Option<&'static [Overload]> {
    TABLE.get(function).map(Vec::as_slice)
}

fn overload(line: &'static str) -> Option<(&'static str, Overload)> {
    let mut words = line.splitn(4, ' ');
    let (name, kind, id, signature) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let mut reader = Reader { rest: signature, open: Vec::new() };
    reader.eat("(");
    let mut args = Vec::new();
    while !reader.eat(")") {
        args.push(reader.ty()?);
        reader.eat(", ");
    }
    reader.eat(" ");
    let result = reader.ty()?;
    Some((name, Overload { id, member: kind == "m", args, result, open: reader.open.len() as u32 }))
}

struct Reader {
    rest: &'static str,
    open: Vec<&'static str>,
}

impl Reader {
    fn eat(&mut self, mark: &str) -> bool {
        let after = self.rest.strip_prefix(mark);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn ty(&mut self) -> Option<Type> {
        if self.eat("<") {
            let (name, rest) = self.rest.split_once('>')?;
            self.rest = rest;
            let known = self.open.iter().position(|it| *it == name);
            let number = known.unwrap_or_else(|| {
                self.open.push(name);
                self.open.len() - 1
            });
            return Some(Type::Var(number as u32));
        }
        let end = self.rest.find(['(', ')', ',', ' ']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let mut parameters = Vec::new();
        if self.eat("(") {
            while !self.eat(")") {
                parameters.push(self.ty()?);
                self.eat(", ");
            }
        }
        let mut parameters = parameters.into_iter();
        let mut next = || parameters.next().map(std::sync::Arc::new);
        Some(match name {
            "list" => Type::List(next()?),
            "map" => Type::Map(next()?, next()?),
            "optional_type" => Type::Optional(next()?),
            "type" => Type::Type(next()?),
            "dyn" => Type::Dyn,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "Timestamp" => Type::Timestamp,
            "Duration" => Type::Duration,
            name => {
                Type::Opaque(opaque::ALL.into_iter().chain(opaque::OF_AUTHORIZER).find(|it| *it == name)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_overload() {
        for line in include_str!("declarations.txt").lines() {
            assert!(overload(line).is_some(), "{line}");
        }
        assert_eq!(overloads("_==_").map(|it| it.len()), Some(1));
    }
}
