//! The network namespace of the switch, found by its process.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::{fs, io};

use rustix::fs::{Mode, OFlags, fstat, open, openat};

use crate::drive::ovs::links::LinkError;

/// An open namespace, and its identity.
#[derive(Debug)]
pub(super) struct SwitchNamespace {
    pub(super) file: OwnedFd,
    pub(super) identity: NamespaceIdentity,
}

/// Device and inode of a namespace: unique while somebody refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamespaceIdentity {
    device: u64,
    inode: u64,
}

/// The name of the process, as in `/proc/PID/comm`. A stale pid file may name another's process.
const PROCESS: &str = "ovs-vswitchd";

/// Opens the namespace of the process in a pid file.
pub(super) fn open_switch(pid_file: &Path) -> Result<SwitchNamespace, LinkError> {
    let unknown = |reason: String| LinkError::SwitchUnknown { reason };
    let unreadable = |path: &dyn std::fmt::Display, error: io::Error| unknown(format!("{path}: {error}"));
    let text = fs::read_to_string(pid_file).map_err(|error| unreadable(&pid_file.display(), error))?;
    let pid: u32 =
        text.trim().parse().map_err(|_| unknown(format!("{} holds no pid", pid_file.display())))?;
    let failed = |errno: rustix::io::Errno| unreadable(&format_args!("/proc/{pid}"), errno.into());
    // One directory for both files, so that they are of one process.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let process = open(format!("/proc/{pid}"), flags | OFlags::DIRECTORY, Mode::empty()).map_err(failed)?;
    let mut name = String::new();
    let comm = openat(&process, "comm", flags, Mode::empty()).map_err(failed)?;
    let read = fs::File::from(comm).read_to_string(&mut name);
    read.map_err(|error| unreadable(&format_args!("/proc/{pid}/comm"), error))?;
    if name.trim_end() != PROCESS {
        return Err(unknown(format!("process {pid} is {}, not {PROCESS}", name.trim_end())));
    }
    let file = openat(&process, "ns/net", flags, Mode::empty()).map_err(failed)?;
    let stat = fstat(&file).map_err(failed)?;
    Ok(SwitchNamespace { file, identity: NamespaceIdentity { device: stat.st_dev, inode: stat.st_ino } })
}
