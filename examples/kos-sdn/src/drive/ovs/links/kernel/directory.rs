//! The directory of named network namespaces.

use std::path::Path;
use std::{fs, io};

use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use super::named::{NAMESPACES, names};
use crate::drive::ovs::links::LinkError;

/// Parts of `/run/netns` that somebody made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespaceDirectory {
    /// Whether the directory.
    pub created: bool,
    /// Whether the mount of the directory on itself.
    pub mounted: bool,
}

impl NamespaceDirectory {
    /// Returns the parts that are missing, and that the first namespace therefore makes.
    ///
    /// # Errors
    /// The mounts of this process cannot be read.
    pub fn missing() -> Result<Self, LinkError> {
        let mounts = fs::read_to_string("/proc/self/mountinfo");
        let mounts = mounts.map_err(|error| LinkError::of_io("reading the mounts", &error))?;
        // The fifth field is the mount point.
        let is_mounted = mounts.lines().any(|mount| mount.split(' ').nth(4) == Some(NAMESPACES));
        Ok(Self { created: !Path::new(NAMESPACES).exists(), mounted: !is_mounted })
    }

    /// Removes these parts, unless names are left in the directory.
    ///
    /// # Errors
    /// A system call failed.
    pub fn undo(self) -> Result<(), LinkError> {
        if !names()?.is_empty() {
            return Ok(());
        }
        if self.mounted {
            // Without `DETACH`: the kernel refuses if somebody has mounted a namespace since.
            let unmounted = unmount(NAMESPACES, UnmountFlags::NOFOLLOW);
            match unmounted {
                Ok(()) | Err(Errno::BUSY | Errno::INVAL | Errno::NOENT) => {}
                Err(errno) => return Err(LinkError::of_io("unmounting /run/netns", &errno.into())),
            }
        }
        if self.created {
            match fs::remove_dir(NAMESPACES) {
                Ok(()) => {}
                // Another user of the directory keeps it.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound
                            | io::ErrorKind::DirectoryNotEmpty
                            | io::ErrorKind::ResourceBusy
                    ) => {}
                Err(error) => return Err(LinkError::of_io("removing /run/netns", &error)),
            }
        }
        Ok(())
    }
}
