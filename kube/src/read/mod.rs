//! Reading: pages, watches, and what they are made of.

mod event;
mod lines;
mod object;
mod page;
mod source;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use event::Marks;
pub(crate) use object::object;
pub(crate) use watch::follow;
