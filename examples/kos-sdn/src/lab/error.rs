//! Errors of a lab.

use std::path::PathBuf;

use crate::drive::ovs::links::LinkError;

/// The reason why a lab operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// This machine, or this user, lacks something.
    #[error("a lab needs {}", .missing.join("; "))]
    Missing {
        /// Each missing thing, with its remedy.
        missing: Vec<String>,
    },
    /// The number of hosts is zero or too large.
    #[error("a lab has 1 to {limit} hosts, not {nodes}")]
    Hosts {
        /// The number of hosts.
        nodes: usize,
        /// The largest possible number.
        limit: usize,
    },
    /// A socket path in the directory would be too long for Linux.
    #[error("{} is longer than {limit} bytes, the limit of socket paths: choose a shorter directory with --lab-dir", .path.display())]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// Maximum number of bytes.
        limit: usize,
    },
    /// The directory has a lab already.
    #[error("{} has a lab already, or the rest of one: `kos lab down` removes it, and --lab-dir names another directory", .directory.display())]
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory has other files.
    #[error("{} has files that are no lab: --lab-dir names another directory", .directory.display())]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory has no lab.
    #[error("there is no lab in {}: `kos lab up` makes one", .directory.display())]
    None {
        /// The directory.
        directory: PathBuf,
    },
    /// Another process changes the lab.
    #[error("another command is working on the lab in {}: end it first", .directory.display())]
    Busy {
        /// The directory.
        directory: PathBuf,
    },
    /// The host does not exist.
    #[error("there is no host {node}: there are {}", .hosts.join(", "))]
    NoHost {
        /// The name.
        node: String,
        /// The names of hosts.
        hosts: Vec<String>,
    },
    /// A line of the journal is malformed.
    #[error("line {line} of {} is malformed: {reason}", .path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The cause.
        reason: String,
    },
    /// A namespace operation failed.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A tool failed.
    #[error("`{command}` failed: {output}")]
    Tool {
        /// The command line.
        command: String,
        /// Its output.
        output: String,
    },
    /// A daemon did not come up.
    #[error("{program} of {node} did not come up: {reason}; its output is {}", .log.display())]
    Daemon {
        /// The host.
        node: String,
        /// The program.
        program: String,
        /// The cause.
        reason: String,
        /// The log file.
        log: PathBuf,
    },
    /// A killed process did not end.
    #[error("process {pid} was killed, and has not ended within {seconds} s: run `kos lab down` again")]
    Survives {
        /// The process.
        pid: u32,
        /// The time limit.
        seconds: u64,
    },
    /// A file operation failed.
    #[error("{operation} {} failed: {reason}", .path.display())]
    Io {
        /// The operation.
        operation: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// A test stopped the lab here, in place of a kill.
    #[error("the lab was stopped by a test")]
    Stopped,
}

impl LabError {
    /// Returns a closure that makes an error of a file operation.
    pub(super) fn io<'a>(
        operation: &'static str,
        path: &'a std::path::Path,
    ) -> impl Fn(std::io::Error) -> Self + 'a {
        move |error| Self::Io { operation, path: path.into(), reason: error.to_string() }
    }
}
