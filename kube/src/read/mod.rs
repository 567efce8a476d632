//! The read side: pages, watches and their decoding.

mod event;
mod lines;
mod object;
mod page;
mod source;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use event::BookmarkMode;
pub(crate) use object::object;
pub(crate) use watch::read_events;
