//! Who holds an object of a name, where several could: told apart, and told of.

mod holders;
mod map;
mod names;
#[cfg(all(test, not(machinery_loom)))]
mod tests;

pub(crate) use holders::NameHolders;
pub use map::LookupMap;
pub use names::LookupSnapshot;
#[cfg(feature = "tokio")]
pub(crate) use names::NamesTransaction;
pub(crate) use names::{NameChange, NameTable};

/// Who has an object of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup<F, T> {
    /// Nobody.
    Absent,
    /// This one, and this is the object.
    Unique(F, T),
    /// Several do, in this order: it goes from one to another, and the news is on its way. Let it rest; the end of this
    /// is told.
    Ambiguous(Vec<F>),
}
