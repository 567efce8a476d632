//! The port to the disk: one flat directory of files. All that a store does to a disk goes through here, so a test can
//! put a disk that fails under it ([`faulty::FaultyDisk`](crate::faulty)).

mod directory;

use std::io;
use std::path::PathBuf;

pub use directory::Directory;

/// A directory, with files by name and no directories in it.
///
/// What a file holds is durable after [`File::sync`]; that a name exists, is gone or means another file is durable after
/// [`Files::sync`]. Before that a power cut may undo any part of it, in any order.
pub trait Files: Send + Sync + 'static {
    /// Makes a new, empty file that can be read and written. Fails if the name is taken.
    fn create(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Opens a file to be read and written.
    fn open(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Opens a file to be read only, which works where nothing can be written.
    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Gives a file another name, and takes that name from whatever had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files, in no order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes names durable.
    fn sync(&self) -> io::Result<()>;

    /// Takes the directory for this process until what is returned is dropped; none if another one has it.
    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>>;

    /// A number that nobody can foresee.
    fn salt(&self) -> io::Result<u64>;

    /// Where a file is, for people.
    fn path(&self, name: &str) -> PathBuf;
}

/// An open file.
pub trait File: Send + Sync {
    /// Reads into all of `buffer` from `offset` on; fails with [`io::ErrorKind::UnexpectedEof`] where the file is shorter.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`. May have written a part when it fails.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes what was written durable. After it has failed once, nothing is known of what was written before.
    fn sync(&self) -> io::Result<()>;

    /// How many bytes the file has.
    fn size(&self) -> io::Result<u64>;
}
