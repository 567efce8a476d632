//! The position in an object: a linked list on the stack, so that valid values cost no text.

use std::fmt;

use crate::bounded::short;

/// A place, as the way there. In its text long names are shortened.
#[derive(Clone, Copy)]
pub(super) struct ValuePath<'a> {
    parent: Option<&'a ValuePath<'a>>,
    step: ValuePathStep<'a>,
}

#[derive(Clone, Copy)]
enum ValuePathStep<'a> {
    Start(&'a str),
    Field(&'a str),
    Entry(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> ValuePath<'a> {
    /// The root, or a position within a larger object.
    pub(super) const fn start(at: &'a str) -> Self {
        Self { parent: None, step: ValuePathStep::Start(at) }
    }

    /// `a.b`
    pub(super) const fn field(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: ValuePathStep::Field(name) }
    }

    /// `a.b`, and `.b` at the start: the validator's form of fields without a property.
    pub(super) const fn entry(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: ValuePathStep::Entry(name) }
    }

    /// `a[b]`
    pub(super) const fn key(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: ValuePathStep::Key(name) }
    }

    /// `a[0]`
    pub(super) const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: ValuePathStep::Index(index) }
    }

    /// Returns whether nothing stands before a field here.
    pub(super) const fn is_empty(&self) -> bool {
        matches!(self.step, ValuePathStep::Start(at) if at.is_empty())
    }

    /// Returns whether this is `apiVersion` or `kind` of an object.
    pub(super) fn is_type_meta(&self) -> bool {
        matches!(self.step, ValuePathStep::Field("apiVersion" | "kind"))
            && self.parent.is_some_and(ValuePath::is_empty)
    }
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}")?;
        }
        match self.step {
            ValuePathStep::Start(at) => f.write_str(at),
            ValuePathStep::Field(name) if self.parent.is_some_and(ValuePath::is_empty) => {
                write!(f, "{}", short(name))
            }
            ValuePathStep::Field(name) | ValuePathStep::Entry(name) => write!(f, ".{}", short(name)),
            ValuePathStep::Key(name) => write!(f, "[{}]", short(name)),
            ValuePathStep::Index(index) => write!(f, "[{index}]"),
        }
    }
}
