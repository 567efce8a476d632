//! Lookup maps: find the informer that holds the object with a given name.

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

/// The result of looking up a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup<F, T> {
    /// No informer holds the name.
    Absent,
    /// The informer with this key holds this object.
    Unique(F, T),
    /// Several informers hold the name, with these keys in order: the object moves from one to
    /// another, and an event is in flight. The end of the ambiguity is a change of the name too.
    Ambiguous(Vec<F>),
}
