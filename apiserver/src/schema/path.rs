//! The position in an object: a linked list on the stack, so that valid values cost no text.

use std::fmt;

/// A place, as the way there.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Start(&'a str),
    Field(&'a str),
    Entry(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The root, or a position within a larger object.
    pub(super) const fn start(at: &'a str) -> Self {
        Self { parent: None, step: Step::Start(at) }
    }

    /// `a.b`
    pub(super) const fn field(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Field(name) }
    }

    /// `a.b`, and `.b` at the start: the validator's form of fields without a property.
    pub(super) const fn entry(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Entry(name) }
    }

    /// `a[b]`
    pub(super) const fn key(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(name) }
    }

    /// `a[0]`
    pub(super) const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    /// Whether nothing stands before a field here.
    pub(super) const fn is_empty(&self) -> bool {
        matches!(self.step, Step::Start(at) if at.is_empty())
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}")?;
        }
        match self.step {
            Step::Start(at) => f.write_str(at),
            Step::Field(name) if self.parent.is_some_and(Path::is_empty) => f.write_str(name),
            Step::Field(name) | Step::Entry(name) => write!(f, ".{name}"),
            Step::Key(name) => write!(f, "[{name}]"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}
