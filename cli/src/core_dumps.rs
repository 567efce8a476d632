//! Disables core dumps of the server.

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Disables core dumps, which would contain keys and decrypted values. `prlimit --core=unlimited`
/// enables them for a running process.
pub(crate) fn disable() -> anyhow::Result<()> {
    let limit = Rlimit { current: Some(0), ..getrlimit(Resource::Core) };
    setrlimit(Resource::Core, limit).context("cannot set the limit of core dumps to 0")
}
