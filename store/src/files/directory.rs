//! A directory of the operating system.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::{File, FileId, Files, HeldLock};

const LOCK: &str = "lock";
/// The system's source of random bytes.
const RANDOM: &str = "/dev/urandom";

/// Attempts to lock it. Each fails only if the file is replaced meanwhile.
const LOCK_ATTEMPTS: usize = 16;

/// Files and directories are private to their owner, since values may be secrets.
const OWNERS_FILE: u32 = 0o600;
const OWNERS_DIRECTORY: u32 = 0o700;

/// A directory of the operating system. Files are created with mode 0600 and directories with 0700;
/// the modes of existing ones are unchanged.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    handles: Arc<Handles>,
}

/// Files that stay open, so that a process without free descriptors can still make a segment
/// durable.
#[derive(Debug, Default)]
struct Handles {
    directory: OnceLock<fs::File>,
    random: OnceLock<fs::File>,
}

impl Directory {
    /// Returns the existing directory at `path`.
    pub fn existing(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), handles: Arc::default() }
    }

    /// Creates the directory at `path` if needed, and makes its name durable.
    pub fn make(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let missing: Vec<PathBuf> =
            path.ancestors().take_while(|path| !path.is_dir()).map(Path::to_owned).collect();
        fs::DirBuilder::new().recursive(true).mode(OWNERS_DIRECTORY).create(&path)?;
        for made in &missing {
            sync_name(made)?;
        }
        if missing.is_empty() {
            // An interrupted creation may not have synced the name. The parent may be unreadable
            // for us.
            let _ = sync_name(&path);
        }
        let directory = Self::existing(path);
        kept_open(&directory.handles.directory, &directory.path)?;
        kept_open(&directory.handles.random, Path::new(RANDOM))?;
        Ok(directory)
    }
}

/// Opens a file at its first use.
fn kept_open<'a>(handle: &'a OnceLock<fs::File>, path: &Path) -> io::Result<&'a fs::File> {
    match handle.get() {
        Some(file) => Ok(file),
        None => {
            let file = fs::File::open(path)?;
            Ok(handle.get_or_init(|| file))
        }
    }
}

/// Makes the name of a directory durable.
fn sync_name(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => fs::File::open(".")?.sync_all(),
        Some(parent) => fs::File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

impl Files for Directory {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(OWNERS_FILE);
        Ok(Box::new(DirectoryFile(options.open(self.path(name))?)))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(Box::new(DirectoryFile(fs::OpenOptions::new().read(true).write(true).open(self.path(name))?)))
    }

    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(Box::new(DirectoryFile(fs::File::open(self.path(name))?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }

    fn sync(&self) -> io::Result<()> {
        kept_open(&self.handles.directory, &self.path)?.sync_all()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn HeldLock>>> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(OWNERS_FILE);
        for _ in 0..LOCK_ATTEMPTS {
            let file = options.open(self.path(LOCK))?;
            if !try_lock(&file)? {
                return Ok(None);
            }
            let lock = DirectoryLock { id: id_of(&file.metadata()?), file };
            // A file that was removed in between locks nothing.
            match self.id(LOCK) {
                Ok(id) if id == lock.id => return Ok(Some(Box::new(lock))),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Err(io::Error::other("the lock file is replaced again and again"))
    }

    fn id(&self, name: &str) -> io::Result<FileId> {
        fs::metadata(self.path(name)).map(|found| id_of(&found))
    }

    fn salt(&self) -> io::Result<u64> {
        let mut salt = [0; 8];
        io::Read::read_exact(&mut kept_open(&self.handles.random, Path::new(RANDOM))?, &mut salt)?;
        Ok(u64::from_le_bytes(salt))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Returns whether the file was locked; false if another process has it.
fn try_lock(file: &fs::File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(fs::TryLockError::WouldBlock) => Ok(false),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

fn id_of(found: &fs::Metadata) -> FileId {
    FileId { device: found.dev(), number: found.ino() }
}

struct DirectoryLock {
    file: fs::File,
    id: FileId,
}

impl HeldLock for DirectoryLock {
    fn id(&self) -> FileId {
        self.id
    }
}

/// Unlocks explicitly: a child process being spawned may briefly share the file.
impl Drop for DirectoryLock {
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

struct DirectoryFile(fs::File);

/// Unlocks explicitly, as [`DirectoryLock`] does. A file that is not locked is left alone.
impl Drop for DirectoryFile {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl File for DirectoryFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        // `fdatasync` includes the length, and omits only times.
        self.0.sync_data()
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn id(&self) -> io::Result<FileId> {
        self.0.metadata().map(|found| id_of(&found))
    }

    fn lock(&self) -> io::Result<bool> {
        try_lock(&self.0)
    }
}
