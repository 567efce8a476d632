//! Macros: calls that transform the syntax tree. Each becomes the loop that cel-go expands it to,
//! so that costs agree.

use std::sync::Arc;

use super::ast::{Comprehension, ListLiteral, Literal, Node, NodeKind, Select};
use super::parser::{Nodes, Parsed};
use crate::error::Problem;

/// The accumulator variable of loops. Expressions cannot name it.
pub(crate) const ACCU: &str = "@result";

/// The variable of a loop without iterations, which only binds its accumulator.
pub(crate) const UNUSED: &str = "#unused";

pub(crate) enum Expanded {
    Node(Node),
    /// Not a macro; returns the call's parts.
    No {
        target: Option<Node>,
        args: Vec<Node>,
    },
}

/// Expands a call if it is a macro.
pub(crate) fn expand(
    nodes: &mut Nodes,
    at: u32,
    target: Option<Node>,
    function: &str,
    args: Vec<Node>,
) -> Parsed<Expanded> {
    let mut it = Macro { nodes, at };
    let Some(target) = target else {
        return match (function, args.len()) {
            ("has", 1) => it.has(args).map(Expanded::Node),
            _ => Ok(Expanded::No { target: None, args }),
        };
    };
    let node = match (function, args.len()) {
        ("all" | "exists" | "exists_one" | "filter", 2) | ("map", 2 | 3) => it.one(target, function, args)?,
        ("all" | "exists" | "existsOne" | "exists_one", 3)
        | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => {
            it.two(target, function, args)?
        }
        ("optMap" | "optFlatMap", 2) => it.optional(target, function, args)?,
        ("sortBy", 2) => it.sort_by(target, args)?,
        _ => return Ok(Expanded::No { target: Some(target), args }),
    };
    Ok(Expanded::Node(node))
}

/// The parts of a loop that differ between macros.
struct LoopParts {
    init: Node,
    condition: Node,
    step: Node,
    result: Node,
}

struct Macro<'n> {
    nodes: &'n mut Nodes,
    at: u32,
}

impl Macro<'_> {
    fn make(&mut self, kind: NodeKind) -> Parsed {
        self.nodes.make(self.at, kind)
    }

    fn literal(&mut self, literal: Literal) -> Parsed {
        self.make(NodeKind::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> Parsed {
        self.make(NodeKind::Ident(name.into()))
    }

    fn accu(&mut self) -> Parsed {
        self.ident(ACCU)
    }

    fn call<const N: usize>(&mut self, function: &str, args: [Node; N]) -> Parsed {
        self.nodes.call(self.at, function, args.into())
    }

    fn list(&mut self, items: Vec<Node>) -> Parsed {
        let optional = vec![false; items.len()];
        self.make(NodeKind::List(ListLiteral { items, optional }))
    }

    fn has(&mut self, args: Vec<Node>) -> Parsed {
        let [Node { kind, at, .. }] =
            args.try_into().map_err(|_| (self.at, other("has() has one argument")))?;
        match kind {
            NodeKind::Select(select) if !select.test => {
                self.make(NodeKind::Select(Box::new(Select { test: true, ..*select })))
            }
            _ => Err((at, other("invalid argument to has() macro"))),
        }
    }

    fn one(&mut self, range: Node, function: &str, args: Vec<Node>) -> Parsed {
        let mut args = args.into_iter();
        let var = self.variable(args.next())?;
        let body: Vec<Node> = args.collect();
        let parts = match (function, <[Node; 1]>::try_from(body)) {
            ("all" | "exists" | "exists_one", Ok([body])) => self.predicate(function, body)?,
            ("filter", Ok([body])) => {
                let item = self.ident(&var)?;
                self.collect(item, Some(body))?
            }
            (_, Ok([body])) => self.collect(body, None)?,
            (_, Err(body)) => {
                let (guard, body) = self.guarded(body)?;
                self.collect(body, guard)?
            }
        };
        self.comprehension(range, var, None, ACCU.into(), parts)
    }

    fn two(&mut self, range: Node, function: &str, args: Vec<Node>) -> Parsed {
        let mut args = args.into_iter();
        let var = self.variable(args.next())?;
        let var2 = self.variable(args.next())?;
        let (guard, body) = self.guarded(args.collect())?;
        let parts = match function {
            "transformList" => self.collect(body, guard)?,
            "transformMap" => {
                let (accu, key) = (self.accu()?, self.ident(&var)?);
                let step = self.call("cel.@mapInsert", [accu, key, body])?;
                self.insert(step, guard)?
            }
            "transformMapEntry" => {
                let accu = self.accu()?;
                let step = self.call("cel.@mapInsert", [accu, body])?;
                self.insert(step, guard)?
            }
            _ => self.predicate(function, body)?,
        };
        if var == var2 {
            let problem = format!("duplicate variable name: {var}");
            return Err((self.at, other(&problem)));
        }
        self.comprehension(range, var, Some(var2), ACCU.into(), parts)
    }

    /// Splits off the last argument, and the condition before it, if any.
    fn guarded(&mut self, mut args: Vec<Node>) -> Parsed<(Option<Node>, Node)> {
        let body = args.pop().ok_or_else(|| (self.at, other("a macro has no body")))?;
        Ok((args.pop(), body))
    }

    fn predicate(&mut self, function: &str, body: Node) -> Parsed<LoopParts> {
        let accu = self.accu()?;
        let (init, condition, step, result) = match function {
            "all" => {
                let init = self.literal(Literal::Bool(true))?;
                let condition = self.call("@not_strictly_false", [accu])?;
                let accu = self.accu()?;
                (init, condition, self.call("_&&_", [accu, body])?, self.accu()?)
            }
            "exists" => {
                let init = self.literal(Literal::Bool(false))?;
                let not = self.call("!_", [accu])?;
                let condition = self.call("@not_strictly_false", [not])?;
                let accu = self.accu()?;
                (init, condition, self.call("_||_", [accu, body])?, self.accu()?)
            }
            _ => {
                let init = self.literal(Literal::Int(0))?;
                let condition = self.literal(Literal::Bool(true))?;
                let one = self.literal(Literal::Int(1))?;
                let more = self.call("_+_", [accu, one])?;
                let same = self.accu()?;
                let step = self.call("_?_:_", [body, more, same])?;
                let (count, one) = (self.accu()?, self.literal(Literal::Int(1))?);
                (init, condition, step, self.call("_==_", [count, one])?)
            }
        };
        Ok(LoopParts { init, condition, step, result })
    }

    fn collect(&mut self, item: Node, guard: Option<Node>) -> Parsed<LoopParts> {
        let (accu, item) = (self.accu()?, self.list(vec![item])?);
        let step = self.call("_+_", [accu, item])?;
        let init = self.list(Vec::new())?;
        self.guard(init, step, guard)
    }

    fn insert(&mut self, step: Node, guard: Option<Node>) -> Parsed<LoopParts> {
        let init = self.make(NodeKind::Map(Vec::new()))?;
        self.guard(init, step, guard)
    }

    fn guard(&mut self, init: Node, step: Node, guard: Option<Node>) -> Parsed<LoopParts> {
        let condition = self.literal(Literal::Bool(true))?;
        let step = match guard {
            None => step,
            Some(guard) => {
                let same = self.accu()?;
                self.call("_?_:_", [guard, step, same])?
            }
        };
        Ok(LoopParts { init, condition, step, result: self.accu()? })
    }

    /// Expands `target.optMap(v, e)` to `target.hasValue() ? optional.of(e with v) :
    /// optional.none()`.
    fn optional(&mut self, target: Node, function: &str, args: Vec<Node>) -> Parsed {
        let mut args = args.into_iter();
        let var = self.variable(args.next())?;
        let (_, body) = self.guarded(args.collect())?;
        // Evaluated twice, as in cel-go: the costs must agree.
        let again = self.nodes.copy(&target)?;
        let present = self.nodes.member(self.at, target, "hasValue", Vec::new())?;
        let value = self.nodes.member(self.at, again, "value", Vec::new())?;
        let mut found = self.bind(var, value, body)?;
        if function == "optMap" {
            found = self.call("optional.of", [found])?;
        }
        let none = self.call("optional.none", [])?;
        self.call("_?_:_", [present, found, none])
    }

    /// Expands `sortBy`: a loop computes the keys of the list's items.
    fn sort_by(&mut self, target: Node, args: Vec<Node>) -> Parsed {
        const INPUT: &str = "@__sortBy_input__";
        let (list, range) = (self.ident(INPUT)?, self.ident(INPUT)?);
        let keys = self.one(range, "map", args)?;
        let sorted = self.nodes.member(self.at, list, "@sortByAssociatedKeys", vec![keys])?;
        self.bind(INPUT.into(), target, sorted)
    }

    /// Binds `name` to `value` in `body`, by a loop without iterations.
    fn bind(&mut self, name: Arc<str>, value: Node, body: Node) -> Parsed {
        let range = self.list(Vec::new())?;
        let condition = self.literal(Literal::Bool(false))?;
        let step = self.ident(&name)?;
        let parts = LoopParts { init: value, condition, step, result: body };
        self.comprehension(range, UNUSED.into(), None, name, parts)
    }

    fn comprehension(
        &mut self,
        range: Node,
        var: Arc<str>,
        var2: Option<Arc<str>>,
        accu: Arc<str>,
        parts: LoopParts,
    ) -> Parsed {
        let LoopParts { init, condition, step, result } = parts;
        let it = Comprehension { range, var, var2, accu, init, condition, step, result };
        self.make(NodeKind::Comprehension(Box::new(it)))
    }

    fn variable(&mut self, arg: Option<Node>) -> Parsed<Arc<str>> {
        match arg {
            Some(Node { kind: NodeKind::Ident(name), .. }) if !name.starts_with('.') => Ok(name),
            Some(node) => Err((node.at, other("argument must be a simple name"))),
            None => Err((self.at, other("a macro has a variable"))),
        }
    }
}

fn other(why: &str) -> Problem {
    Problem::Other(why.to_owned())
}
