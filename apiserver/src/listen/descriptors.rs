//! File descriptors: the number that connections may take.

use rustix::process::{Resource, getrlimit};

/// Least and most descriptors that connections do not take.
const RESERVED: (u64, u64) = (64, 1024);

/// Returns the number of connections that the limits allow, of the server and of the process.
pub(super) fn connections(limit: usize) -> usize {
    of(limit, getrlimit(Resource::Nofile).current)
}

/// A quarter of the process's descriptors is reserved for the store, the audit log, certificates
/// and calls of webhooks.
fn of(limit: usize, descriptors: Option<u64>) -> usize {
    let Some(all) = descriptors else { return limit };
    let left = all.saturating_sub((all / 4).clamp(RESERVED.0, RESERVED.1));
    limit.min(usize::try_from(left).unwrap_or(usize::MAX)).max(1)
}

/// Returns whether the process or the system has no descriptor left, which is temporary.
pub(super) fn are_exhausted(error: &std::io::Error) -> bool {
    let errors = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    error.raw_os_error().is_some_and(|code| errors.iter().any(|errno| errno.raw_os_error() == code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_reserved_that_connections_cannot_take() {
        for (limit, descriptors, expected) in [
            (20_000, None, 20_000),
            (20_000, Some(u64::MAX), 20_000),
            (20_000, Some(20_000), 18_976),
            (20_000, Some(1024), 768),
            (100, Some(1024), 100),
            (20_000, Some(128), 64),
            (20_000, Some(3), 1),
        ] {
            assert_eq!(of(limit, descriptors), expected, "{limit} {descriptors:?}");
        }
    }
}
