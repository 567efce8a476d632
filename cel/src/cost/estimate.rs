//! Cost estimates from the types and size limits of variables. The algorithm is that of Kubernetes
//! in every step, even where a tighter bound is possible: the estimate decides whether a
//! CustomResourceDefinition is accepted.

use std::sync::Arc;

use super::size::{Cost, Entries, Size};
use crate::check::Checked;
use crate::cost::actual;
use crate::env::Variable;
use crate::syntax::ast::{Call, Comprehension, Literal, Node, NodeKind};
use crate::types::Type;

/// The range of a program's cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// The minimum.
    pub min: u64,
    /// The maximum; `u64::MAX` if unbounded.
    pub max: u64,
}

pub(crate) fn estimate(checked: &Checked, variables: &[Variable]) -> Estimate {
    let mut coster = Coster {
        checked,
        variables,
        locals: Vec::new(),
        paths: vec![None; checked.types.len()],
        sizes: vec![None; checked.types.len()],
        entries: vec![None; checked.types.len()],
    };
    let cost = coster.cost(&checked.node);
    Estimate { min: cost.min, max: cost.max }
}

type Path = Vec<Arc<str>>;

struct Local {
    name: Arc<str>,
    path: Path,
    size: Option<Size>,
    entries: Option<Entries>,
}

pub(super) struct Coster<'c> {
    checked: &'c Checked,
    variables: &'c [Variable],
    locals: Vec<Local>,
    /// The path of each node from its variable, with the steps of [`crate::DeclaredType`].
    paths: Vec<Option<Path>>,
    sizes: Vec<Option<Size>>,
    entries: Vec<Option<Entries>>,
}

impl Coster<'_> {
    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|it| &*it.name == name)
    }

    pub(super) fn ty(&self, node: &Node) -> &Type {
        self.checked.ty(node)
    }

    fn cost(&mut self, node: &Node) -> Cost {
        match &node.kind {
            NodeKind::Literal(_) => Cost::default(),
            NodeKind::Ident(name) => {
                let path = self.local(name).map(|it| it.path.clone());
                self.set_path(node, path.unwrap_or_else(|| vec![name.clone()]));
                Cost::fixed(actual::IDENT)
            }
            NodeKind::Select(it) => {
                let mut sum = self.cost(&it.operand);
                if it.test {
                    return sum;
                }
                if matches!(self.ty(&it.operand), Type::Map(..) | Type::Object(_)) {
                    sum = sum.add(Cost::fixed(actual::SELECT));
                }
                let mut path = self.path(&it.operand);
                path.push(it.field.clone());
                self.set_path(node, path);
                sum
            }
            NodeKind::Call(call) => self.call(node, call),
            NodeKind::List(list) => {
                let mut sum = Cost::fixed(actual::LIST);
                let mut item = Size::none(list.items.is_empty());
                for it in &list.items {
                    sum = sum.add(self.cost(it));
                    item = item.union(self.size_of(it));
                }
                self.set_entries(node, Some(Entries { list: true, key: Size::fixed(1), value: item }));
                sum
            }
            NodeKind::Map(entries) => {
                let mut sum = Cost::fixed(actual::MAP);
                let (mut key, mut value) = (Size::none(entries.is_empty()), Size::none(entries.is_empty()));
                for it in entries {
                    sum = sum.add(self.cost(&it.key)).add(self.cost(&it.value));
                    key = key.union(self.size_of(&it.key));
                    value = value.union(self.size_of(&it.value));
                }
                self.set_entries(node, Some(Entries { list: false, key, value }));
                sum
            }
            NodeKind::Comprehension(it) => self.comprehension(node, it),
        }
    }

    #[inline(never)]
    fn call(&mut self, node: &Node, call: &Call) -> Cost {
        if let ("dyn", [arg]) = (&*call.function, call.args.as_slice()) {
            let cost = self.cost(arg);
            self.copy_sizes(node, arg);
            return cost.add(Cost::fixed(1));
        }
        let args: Vec<Cost> = call.args.iter().map(|it| self.cost(it)).collect();
        let overloads = self.checked.overloads(node);
        if overloads.is_empty() {
            return Cost::default();
        }
        let target = call.target.as_ref().map_or(Cost::default(), |it| self.cost(it));
        let mut function: Option<Cost> = None;
        let mut result: Option<Size> = None;
        for overload in overloads {
            let (cost, size) = self.function(node, call, overload, &args);
            function = Some(function.map_or(cost, |it| it.union(cost)));
            result = match (result, size) {
                (Some(before), Some(size)) => Some(before.union(size)),
                (before, size) => before.or(size),
            };
            let step = match *overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(step), Some(operand)) = (step, call.args.first()) {
                result = self.entries_of(operand).map(|it| it.value);
                let mut path = self.path(operand);
                path.push(step.into());
                self.set_path(node, path);
            }
            result = result.or_else(|| self.known_size(node));
        }
        if let Some(size) = result {
            self.sizes[node.id as usize] = Some(size);
        }
        target.add(function.unwrap_or_default())
    }

    /// Returns the cost of an overload with its arguments, and the size of its result if known.
    fn function(&mut self, node: &Node, call: &Call, overload: &str, costs: &[Cost]) -> (Cost, Option<Size>) {
        let args = costs.iter().fold(Cost::default(), |sum, it| sum.add(*it));
        if let Some((cost, size)) = self.library(call, overload) {
            return (cost.add(args), size);
        }
        match (overload, call.args.as_slice(), costs) {
            ("logical_or" | "logical_and", _, [left, right]) => {
                // The left operand alone may decide.
                (Cost { min: left.min, max: left.add(*right).max }, None)
            }
            ("conditional", [_, then, other], [condition, first, second]) => {
                let size = self.size_of(then).union(self.size_of(other));
                let entries = self.entries_of(then).zip(self.entries_of(other));
                self.set_entries(node, entries.map(|(a, b)| a.union(b)));
                (condition.add(first.union(*second)), Some(size))
            }
            ("add_string" | "add_bytes" | "add_list", [left, right], _) => {
                let size = self.size_of(left).add(self.size_of(right));
                let entries = self.entries_of(left).zip(self.entries_of(right));
                self.set_entries(node, entries.map(|(a, b)| a.union(b)));
                let cost = if overload == "add_list" { Cost::fixed(1) } else { size.cost(actual::PER_CHAR) };
                (cost.add(args), Some(size))
            }
            _ => (Cost::fixed(1).add(args), None),
        }
    }

    #[inline(never)]
    fn comprehension(&mut self, node: &Node, it: &Comprehension) -> Cost {
        let mut sum = self.cost(&it.range).add(self.cost(&it.init));
        let outside = self.locals.len();
        let accu = Local {
            name: it.accu.clone(),
            path: self.path(&it.init),
            size: self.known_size(&it.init),
            entries: self.entries_of(&it.init),
        };
        self.locals.push(accu);
        if &*it.var == crate::syntax::UNUSED {
            // A binding: the loop does not run.
            sum = sum.add(self.cost(&it.result));
            self.locals.truncate(outside);
            self.copy_sizes(node, &it.result);
            return sum;
        }
        match &it.var2 {
            Some(second) => {
                self.push_var(&it.var, &it.range, true);
                self.push_var(second, &it.range, false);
            }
            None => {
                let list = self.is_list(&it.range);
                self.push_var(&it.var, &it.range, !list);
            }
        }
        let round = self.cost(&it.condition).add(self.cost(&it.step));
        self.locals.truncate(outside + 1);
        sum = sum.add(self.cost(&it.result));
        self.locals.truncate(outside);
        let count = self.size_of(&it.range);
        sum = sum.add(count.cost(1.0).multiply(round));
        match &it.init.kind {
            NodeKind::Literal(_) => {
                if let Some(size) = self.known_size(&it.init) {
                    self.sizes[node.id as usize] = Some(size);
                }
            }
            NodeKind::List(_) | NodeKind::Map(_) => {
                self.sizes[node.id as usize] = Some(count);
                let entries = self.entries_of(&it.step);
                self.set_entries(node, entries);
            }
            _ => {}
        }
        sum
    }

    fn is_list(&self, range: &Node) -> bool {
        self.entries_of(range).map_or(matches!(self.ty(range), Type::List(_)), |it| it.list)
    }

    fn push_var(&mut self, name: &Arc<str>, range: &Node, key: bool) {
        let entries = self.entries_of(range);
        let size = entries.map(|it| if key { it.key } else { it.value });
        let step = match (key, self.is_list(range)) {
            (true, true) => "@indices",
            (true, false) => "@keys",
            (false, true) => "@items",
            (false, false) => "@values",
        };
        let mut path = self.path(range);
        path.push(step.into());
        self.locals.push(Local { name: name.clone(), path, size, entries: None });
    }

    pub(super) fn path(&self, node: &Node) -> Path {
        if let NodeKind::Ident(name) = &node.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths[node.id as usize].clone().unwrap_or_default()
    }

    fn set_path(&mut self, node: &Node, path: Path) {
        self.paths[node.id as usize] = Some(path);
    }

    fn set_entries(&mut self, node: &Node, entries: Option<Entries>) {
        if entries.is_some() {
            self.entries[node.id as usize] = entries;
        }
    }

    fn copy_sizes(&mut self, to: &Node, from: &Node) {
        if let Some(size) = self.known_size(from) {
            self.sizes[to.id as usize] = Some(size);
        }
        let entries = self.entries_of(from);
        self.set_entries(to, entries);
    }

    fn entries_of(&self, node: &Node) -> Option<Entries> {
        if let Some(entries) = self.entries[node.id as usize] {
            return Some(entries);
        }
        match &node.kind {
            NodeKind::Ident(name) => self.local(name).and_then(|it| it.entries),
            _ => None,
        }
    }

    /// Returns the size range of a value; unbounded if unknown.
    pub(super) fn size_of(&mut self, node: &Node) -> Size {
        self.known_size(node).unwrap_or(Size::UNKNOWN)
    }

    fn known_size(&mut self, node: &Node) -> Option<Size> {
        if let Some(size) = self.sizes[node.id as usize] {
            return Some(size);
        }
        let written = match &node.kind {
            NodeKind::Literal(Literal::String(it)) => Some(it.chars().count()),
            NodeKind::Literal(Literal::Bytes(it)) => Some(it.len()),
            NodeKind::Literal(_) => Some(1),
            NodeKind::List(it) => Some(it.items.len()),
            NodeKind::Map(it) => Some(it.len()),
            _ => None,
        };
        if let Some(size) = written {
            return Some(Size::fixed(size as u64));
        }
        if let Some(size) = self.declared_size(&self.path(node)) {
            self.sizes[node.id as usize] = Some(size);
            return Some(size);
        }
        if self.ty(node).is_scalar() {
            return Some(Size::fixed(1));
        }
        match &node.kind {
            NodeKind::Ident(name) => self.local(name).and_then(|it| it.size),
            _ => None,
        }
    }

    /// Returns the declared size of a path. Upstream resolves every path from `self`.
    pub(super) fn declared_size(&self, path: &[Arc<str>]) -> Option<Size> {
        let (first, steps) = path.split_first()?;
        let named = self.variables.iter().find(|it| *it.name == **first);
        let mut at = &*named.or(self.variables.first())?.declared;
        for step in steps {
            if &**step == "@keys" && at.step("@values").is_some() {
                return Some(Size { min: 0, max: 0 });
            }
            at = at.step(step)?;
        }
        Some(Size { min: 0, max: at.max })
    }
}
