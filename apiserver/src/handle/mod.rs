//! The server for the program that it is in: objects of a type go in and come out, and nothing is made into text on the way
//! but what is stored.

mod apply;
mod decoded;
mod interest;
mod read;
mod refused;
mod typed;
mod watch;
mod write;

pub(crate) use decoded::Caches;
pub use typed::Handle;
