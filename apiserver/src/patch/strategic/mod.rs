//! Strategic merge patches: merge patches that use the merge keys of lists.

mod directive;
mod list;
mod map;
mod order;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;

pub(super) use map::apply;
