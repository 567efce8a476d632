//! The tree that the parser makes: macros are expanded, so what is left is eight kinds of nodes.

use std::sync::Arc;

/// The place of a node in the tables of the checker. Unique within one expression.
pub(crate) type Id = u32;

/// A part of an expression.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: Id,
    /// Where it is in the text, in characters.
    pub(crate) at: u32,
    /// How many nodes are on the longest way down, itself included. Bounded, so that recursion over a tree is.
    pub(crate) depth: u32,
    pub(crate) kind: NodeKind,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
    Literal(Literal),
    /// A variable. With a leading dot it is never a variable of a macro.
    Ident(Arc<str>),
    Select(Box<Select>),
    Call(Box<Call>),
    List(ListLiteral),
    Map(Vec<Entry>),
    Comprehension(Box<Comprehension>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

#[derive(Debug, Clone)]
pub(crate) struct Select {
    pub(crate) operand: Node,
    pub(crate) field: Arc<str>,
    /// `has(operand.field)`: whether it is there, not what it is.
    pub(crate) test: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) target: Option<Node>,
    pub(crate) function: Arc<str>,
    pub(crate) args: Vec<Node>,
}

#[derive(Debug, Clone)]
pub(crate) struct ListLiteral {
    pub(crate) items: Vec<Node>,
    /// Which of them were written `?item`: in the list only where the optional has a value.
    pub(crate) optional: Vec<bool>,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Node,
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

/// What every macro over a list or map becomes: a loop with one accumulator.
#[derive(Debug, Clone)]
pub(crate) struct Comprehension {
    pub(crate) range: Node,
    pub(crate) var: Arc<str>,
    /// With two variables, the first is the index or key and this the value.
    pub(crate) var2: Option<Arc<str>>,
    pub(crate) accu: Arc<str>,
    pub(crate) init: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
}

impl Node {
    /// The nodes right below.
    pub(crate) fn children(&self) -> Vec<&Node> {
        match &self.kind {
            NodeKind::Literal(_) | NodeKind::Ident(_) => Vec::new(),
            NodeKind::Select(it) => vec![&it.operand],
            NodeKind::Call(it) => it.target.iter().chain(&it.args).collect(),
            NodeKind::List(it) => it.items.iter().collect(),
            NodeKind::Map(entries) => entries.iter().flat_map(|it| [&it.key, &it.value]).collect(),
            NodeKind::Comprehension(it) => vec![&it.range, &it.init, &it.condition, &it.step, &it.result],
        }
    }

    /// The nodes right below, to be changed.
    pub(crate) fn children_mut(&mut self) -> Vec<&mut Node> {
        match &mut self.kind {
            NodeKind::Literal(_) | NodeKind::Ident(_) => Vec::new(),
            NodeKind::Select(it) => vec![&mut it.operand],
            NodeKind::Call(it) => it.target.iter_mut().chain(&mut it.args).collect(),
            NodeKind::List(it) => it.items.iter_mut().collect(),
            NodeKind::Map(entries) => {
                entries.iter_mut().flat_map(|it| [&mut it.key, &mut it.value]).collect()
            }
            NodeKind::Comprehension(it) => {
                vec![&mut it.range, &mut it.init, &mut it.condition, &mut it.step, &mut it.result]
            }
        }
    }

    /// `a.b.c`, if it is nothing but names.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            NodeKind::Ident(name) => Some(name.to_string()),
            NodeKind::Select(it) if !it.test => {
                let mut name = it.operand.qualified_name()?;
                name.push('.');
                name.push_str(&it.field);
                Some(name)
            }
            _ => None,
        }
    }
}
