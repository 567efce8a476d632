//! The identity of an informer.

/// The identity of an informer: clones of one are equal, and two informers that exist are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InformerId(usize);

impl InformerId {
    /// Creates the identity of a cache from the address of its state.
    #[must_use]
    pub const fn of_address(address: usize) -> Self {
        Self(address)
    }
}
