//! Who holds an object of a name, where several could: told apart, and told of.

mod held;
mod map;
mod names;
#[cfg(all(test, not(machinery_loom)))]
mod tests;

pub(crate) use held::Held;
pub use map::LookupMap;
#[cfg(feature = "tokio")]
pub(crate) use names::Change;
pub use names::LookupSnapshot;
pub(crate) use names::{Changed, Names};

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
