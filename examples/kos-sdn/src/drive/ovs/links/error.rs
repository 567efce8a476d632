//! Errors of link operations.

use std::io;

use rustix::io::Errno;

use super::kernel::errno;
use super::{LinkPlace, NamespaceName};

/// The reason why a link operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The text is no name of a namespace.
    #[error(
        "`{name}` cannot name a network namespace: a name is a file name of at most 255 bytes that begins with no dot"
    )]
    Name {
        /// The text.
        name: String,
    },
    /// The owner's mark is too long for the kernel.
    #[error(
        "the mark `{mark}` is longer than {limit} bytes: choose a shorter node name or run directory of Open vSwitch"
    )]
    Mark {
        /// The mark.
        mark: String,
        /// Maximum number of bytes.
        limit: usize,
    },
    /// `ovs-vswitchd` is not running, or its namespace cannot be entered: retry.
    #[error(
        "the network namespace of ovs-vswitchd is unknown: {reason}; is it running, with this run directory?"
    )]
    SwitchUnknown {
        /// The cause.
        reason: String,
    },
    /// The namespace belongs to somebody else, and is left alone.
    #[error(
        "the network namespace {name} belongs to {owner}: delete it (`ip netns delete {name}`), or rename the attachment"
    )]
    NamespaceTaken {
        /// The name.
        name: NamespaceName,
        /// Mark of the owner, or a description.
        owner: String,
    },
    /// The namespace does not exist.
    #[error("the network namespace {name} does not exist")]
    NamespaceMissing {
        /// The name.
        name: NamespaceName,
    },
    /// The link does not exist in that place.
    #[error("there is no link {name} in {place}")]
    LinkMissing {
        /// The namespace.
        place: LinkPlace,
        /// Interface name.
        name: String,
    },
    /// A link of that name has another index, so that it is another link.
    #[error("link {name} in {place} was replaced: its index is {found}, not {expected}")]
    Replaced {
        /// The namespace.
        place: LinkPlace,
        /// Interface name.
        name: String,
        /// The expected index.
        expected: u32,
        /// The present index.
        found: u32,
    },
    /// No permission: the process needs CAP_NET_ADMIN and CAP_SYS_ADMIN.
    #[error("{operation} is not permitted: run the agent as root")]
    Denied {
        /// The operation.
        operation: String,
    },
    /// A limit of the system is reached, such as open files.
    #[error("{operation} failed: {reason}: a limit of this system is reached")]
    Exhausted {
        /// The operation.
        operation: String,
        /// The cause.
        reason: String,
    },
    /// The echo request was not answered.
    #[error("{to} did not answer: {reason}")]
    NoReply {
        /// The destination.
        to: std::net::Ipv4Addr,
        /// The cause.
        reason: String,
    },
    /// Another failure.
    #[error("{operation} failed: {reason}")]
    Failed {
        /// The operation.
        operation: String,
        /// The cause.
        reason: String,
    },
    /// The implementation was shut down.
    #[error("links are shut down")]
    Closed,
}

impl LinkError {
    /// Classifies the error of a system call.
    pub(super) fn of_io(operation: impl Into<String>, error: &io::Error) -> Self {
        let (operation, reason) = (operation.into(), error.to_string());
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::PERM | Errno::ACCESS) => Self::Denied { operation },
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::NOSPC) => {
                Self::Exhausted { operation, reason }
            }
            _ => Self::Failed { operation, reason },
        }
    }

    /// Classifies the error of a netlink request.
    pub(super) fn of_netlink(operation: &str, error: &rtnetlink::Error) -> Self {
        match errno(error) {
            Some(errno) => Self::of_io(operation, &errno.into()),
            None => Self::Failed { operation: operation.into(), reason: error.to_string() },
        }
    }
}

/// A step failed. Earlier steps took effect, later ones were not tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct LinkStepError {
    /// Number of steps that took effect: the index of the failed one.
    pub done: usize,
    /// The cause.
    pub error: LinkError,
}
