//! Names of network namespaces below `/run/netns`, with the mark of their owner.
//!
//! The mark is the alias of the loopback interface: it lives and dies with the namespace, whatever
//! happens to the name. The file below the mount has the mark as its content, so that a name
//! without a namespace has an owner too. Neither can exist without the mark, at no point of a
//! crash.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FsWord, Mode, OFlags, fstatfs, linkat, open};
use rustix::io::Errno;
use rustix::mount::{
    MountPropagationFlags, UnmountFlags, mount_bind, mount_bind_recursive, mount_change, unmount,
};

use crate::drive::ovs::links::{LinkError, NamespaceName};

/// The directory of named network namespaces, as of iproute2.
pub const NAMESPACES: &str = "/run/netns";

/// `NSFS_MAGIC` of Linux: the file system of namespaces.
const NSFS: FsWord = 0x6e73_6673;

/// An entry below `/run/netns`.
#[derive(Debug)]
pub(super) enum NamedFile {
    /// A namespace, of any owner.
    Namespace(OwnedFd),
    /// A name without a namespace, with the content of the file.
    NameOnly(String),
    /// No entry.
    Missing,
}

/// Opens a file of a namespace, with the descriptor closed on exec.
pub(super) fn open_namespace(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?)
}

/// Returns the path of a name.
pub(super) fn path_of(name: &NamespaceName) -> PathBuf {
    Path::new(NAMESPACES).join(name.as_str())
}

/// Returns all names, in order. Names that are no UTF-8 belong to nobody here.
pub(super) fn names() -> Result<Vec<NamespaceName>, LinkError> {
    let entries = match fs::read_dir(NAMESPACES) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LinkError::of_io("listing /run/netns", &error)),
    };
    let name = |entry: io::Result<fs::DirEntry>| {
        NamespaceName::new(entry.ok()?.file_name().into_string().ok()?).ok()
    };
    let mut names: Vec<_> = entries.filter_map(name).collect();
    names.sort_unstable();
    Ok(names)
}

/// Opens a name.
pub(super) fn open_named(name: &NamespaceName) -> Result<NamedFile, LinkError> {
    let failed = |error: &io::Error| LinkError::of_io(format!("opening the network namespace {name}"), error);
    let file = match open_namespace(&path_of(name)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(NamedFile::Missing),
        Err(error) => return Err(failed(&error)),
    };
    let system = fstatfs(&file).map_err(|errno| failed(&errno.into()))?;
    if system.f_type == NSFS {
        return Ok(NamedFile::Namespace(file));
    }
    let mut content = String::new();
    // A directory, or bytes that are no text, are nobody's mark.
    let read = File::from(file).take(4096).read_to_string(&mut content);
    Ok(NamedFile::NameOnly(if read.is_ok() { content } else { String::new() }))
}

/// Creates the directory, if it is missing.
pub(super) fn create_directory() -> Result<(), LinkError> {
    let create = DirBuilder::new().recursive(true).mode(0o755).create(NAMESPACES);
    create.map_err(|error| LinkError::of_io("creating /run/netns", &error))
}

/// Creates the directory, and makes it a shared mount as `ip netns` does: processes in other mount
/// namespaces then see unmounts, and do not keep deleted namespaces alive.
pub(super) fn prepare() -> Result<(), LinkError> {
    create_directory()?;
    let share = || mount_change(NAMESPACES, MountPropagationFlags::SHARED | MountPropagationFlags::REC);
    let shared = match share() {
        Err(Errno::INVAL) => mount_bind_recursive(NAMESPACES, NAMESPACES).and_then(|()| share()),
        shared => shared,
    };
    shared.map_err(|errno| LinkError::of_io("mounting /run/netns", &errno.into()))
}

/// Creates a name with the mark as content, in one step. Returns whether the name was free.
pub(super) fn create_name(name: &NamespaceName, mark: &str) -> Result<bool, LinkError> {
    let failed = |error: &io::Error| LinkError::of_io(format!("creating {}", path_of(name).display()), error);
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = open(NAMESPACES, flags, Mode::RUSR).map_err(|errno| failed(&errno.into()))?;
    let mut file = File::from(file);
    file.write_all(mark.as_bytes()).map_err(|error| failed(&error))?;
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, nameless, CWD, path_of(name), AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(errno) => Err(failed(&errno.into())),
    }
}

/// Mounts a namespace on its name.
pub(super) fn mount(namespace: &OwnedFd, name: &NamespaceName) -> Result<(), LinkError> {
    let source = format!("/proc/self/fd/{}", namespace.as_raw_fd());
    mount_bind(source, path_of(name))
        .map_err(|errno| LinkError::of_io(format!("mounting the network namespace {name}"), &errno.into()))
}

/// Unmounts a namespace. It lives on while it has processes or sockets.
pub(super) fn unmount_named(name: &NamespaceName) -> Result<(), LinkError> {
    unmount(path_of(name), UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
        .map_err(|errno| LinkError::of_io(format!("unmounting the network namespace {name}"), &errno.into()))
}

/// Removes a name without a namespace.
pub(super) fn remove_name(name: &NamespaceName) -> Result<(), LinkError> {
    match fs::remove_file(path_of(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LinkError::of_io(format!("removing {}", path_of(name).display()), &error))
        }
        _ => Ok(()),
    }
}
