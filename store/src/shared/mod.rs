//! What readers and watches share with the writer: everything that is published, and nothing that is not.

mod publish;
mod read;
mod watch;

pub(crate) use publish::Shared;
