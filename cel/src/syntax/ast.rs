//! The syntax tree. Macros are expanded, so there are eight kinds of nodes.

use std::sync::Arc;

/// The index of a node in the checker's tables. Unique within one expression.
pub(crate) type Id = u32;

/// A part of an expression.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: Id,
    /// The offset in the text, in characters.
    pub(crate) at: u32,
    /// The height of the tree below, including the node. Bounded, which bounds recursion.
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
    /// Whether this is `has(operand.field)`, a test of presence.
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
    /// Whether each item was written `?item`, and is present only if the optional has a value.
    pub(crate) optional: Vec<bool>,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Node,
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

/// The expansion of a macro over a list or map: a loop with one accumulator.
#[derive(Debug, Clone)]
pub(crate) struct Comprehension {
    pub(crate) range: Node,
    pub(crate) var: Arc<str>,
    /// The second variable: the value, if the first is the index or key.
    pub(crate) var2: Option<Arc<str>>,
    pub(crate) accu: Arc<str>,
    pub(crate) init: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
}

impl Node {
    /// Returns the child nodes.
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

    /// Returns the child nodes, mutable.
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

    /// Returns `a.b.c` if the node consists of names only.
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
