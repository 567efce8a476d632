//! What an expression costs: [`actual`] while it runs, [`estimate`] before, from what its schema allows. Both are
//! upstream's arithmetic, since both decide what is accepted.

pub(crate) mod actual;
pub(crate) mod estimate;
mod library;
mod size;
