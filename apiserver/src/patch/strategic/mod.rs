//! Strategic merge patches: merge patches that know which lists are merged, and by what.

mod directive;
mod list;
mod map;
mod order;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;

pub(super) use map::apply;
