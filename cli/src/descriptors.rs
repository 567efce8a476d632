//! File descriptors of the server.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of file descriptors to the hard one. The soft limit is low for the sake of
/// programs that use `select`. If the system refuses, the server keeps the soft limit, and accepts
/// fewer connections.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
