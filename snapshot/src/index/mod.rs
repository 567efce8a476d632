//! Indexes: the entries by each value of a function.

mod change;
mod keys;
mod label;
mod members;
mod text;

pub use label::Label;

pub(crate) use change::{FunctionIndex, IndexChange, IndexFunction, Risk};
pub(crate) use keys::KeyIndex;
pub(crate) use label::LabelIndex;
pub(crate) use members::{Members, MembersIter};
pub(crate) use text::TextIndex;

use crate::Tree;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

/// Identifies an index of a map (client-go: indexer), and the type of its values. Created by
/// [`Builder`](crate::Builder).
pub struct Index<I> {
    pub(crate) at: usize,
    values: PhantomData<fn() -> I>,
}

impl<I> Index<I> {
    pub(crate) const fn new(at: usize) -> Self {
        Self { at, values: PhantomData }
    }
}

impl<I> Clone for Index<I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for Index<I> {}

impl<I> fmt::Debug for Index<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Index").field(&self.at).finish()
    }
}

/// One index in one version of a map: the values, and the slots of their entries.
pub(crate) type Values<I> = Tree<I, Members>;

/// [`Values`] of any type.
pub(crate) trait Column: Any + Send + Sync {
    fn copy(&self) -> Box<dyn Column>;
}

impl<I: Send + Sync + 'static> Column for Values<I> {
    fn copy(&self) -> Box<dyn Column> {
        Box::new(self.clone())
    }
}

const OF_ANOTHER_MAP: &str = "an Index is for the map whose Builder made it";

pub(crate) fn values<'a, I: 'static>(columns: &'a [Box<dyn Column>], index: &Index<I>) -> &'a Values<I> {
    let column = columns.get(index.at).map(|column| &**column as &dyn Any);
    column.and_then(|column| column.downcast_ref()).expect(OF_ANOTHER_MAP)
}

fn values_mut<I: 'static>(column: &mut dyn Column) -> &mut Values<I> {
    (column as &mut dyn Any).downcast_mut().expect(OF_ANOTHER_MAP)
}
