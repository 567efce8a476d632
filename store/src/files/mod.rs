//! The port to the disk: one flat directory of files. All disk access of a store goes through it,
//! so that a test can substitute a failing one ([`FaultyDisk`](crate::faulty)).

mod directory;

use std::io;
use std::path::PathBuf;

pub use directory::Directory;

/// A directory of files, without subdirectories.
///
/// The content of a file is durable after [`File::sync`]; the creation, removal or rename of a name
/// is durable after [`Files::sync`]. Until then a power cut may undo any part of it, in any order.
pub trait Files: Send + Sync + 'static {
    /// Creates an empty file for reading and writing. Fails if the name exists.
    fn create(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Opens a file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Opens a file for reading only, which works on a read-only file system.
    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Renames a file, replacing an existing file of that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Returns the names of all files, in no particular order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes creations, removals and renames durable.
    fn sync(&self) -> io::Result<()>;

    /// Locks the directory for this process until the returned lock is dropped; `None` if another
    /// process has it.
    fn lock(&self) -> io::Result<Option<Box<dyn HeldLock>>>;

    /// Returns the identity of the file that has this name now.
    fn id(&self, name: &str) -> io::Result<FileId>;

    /// Returns an unpredictable number.
    fn salt(&self) -> io::Result<u64>;

    /// Returns the path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;
}

/// The identity of a file, which is independent of its names. No two existing files have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    /// The file system.
    pub device: u64,
    /// The inode.
    pub number: u64,
}

/// A lock on a directory, held until it is dropped.
pub trait HeldLock: Send + Sync {
    /// Returns the identity of the locked file. If its name has another one, a second process can
    /// lock the directory too.
    fn id(&self) -> FileId;
}

/// An open file.
pub trait File: Send + Sync {
    /// Fills `buffer` from `offset` on; fails with [`io::ErrorKind::UnexpectedEof`] if the file is
    /// shorter.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`. A failed write may have written a part.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes the content durable. After a failure the state of all earlier writes is unknown.
    fn sync(&self) -> io::Result<()>;

    /// Returns the size of the file.
    fn size(&self) -> io::Result<u64>;

    /// Returns the identity of the file.
    fn id(&self) -> io::Result<FileId>;

    /// Locks the file for this process until it is dropped. Returns false if another process has
    /// it.
    fn lock(&self) -> io::Result<bool>;
}
