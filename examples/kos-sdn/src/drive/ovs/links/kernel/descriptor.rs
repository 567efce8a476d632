//! Descriptors that tokio waits for.

use std::io;
use std::os::fd::OwnedFd;

use machinery::tokio::io::unix::AsyncFd;

/// Registers a descriptor with the current runtime.
pub(super) fn async_descriptor(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    #[expect(
        deprecated,
        reason = "unsound for types that close or replace their descriptor, which `OwnedFd` cannot"
    )]
    AsyncFd::new(descriptor)
}
