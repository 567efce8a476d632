//! What a crash leaves behind.

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Forbids core dumps: they have all that is in memory, with the keys and what was decrypted. Whoever needs one sets the limit of the process that
/// runs, as by `prlimit --core=unlimited`.
pub(crate) fn disable() -> anyhow::Result<()> {
    let limit = Rlimit { current: Some(0), ..getrlimit(Resource::Core) };
    setrlimit(Resource::Core, limit).context("cannot set the limit of core dumps to 0")
}
