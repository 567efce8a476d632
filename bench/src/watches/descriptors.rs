//! File descriptors: each connection takes one, here and in the server, which inherits the limit.

use anyhow::ensure;
use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit of open files, and fails if `connections` do not fit.
pub(crate) fn allow(connections: usize) -> anyhow::Result<()> {
    const BESIDES: u64 = 200;
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    let enough = limit.maximum.is_none_or(|maximum| maximum >= connections as u64 + BESIDES);
    ensure!(enough, "{connections} connections need as many open files: raise the hard limit, `ulimit -Hn`");
    Ok(())
}
