//! State shared by readers, watches and the writer: only published commits.

mod publish;
mod read;
mod watch;

pub(crate) use publish::Shared;
