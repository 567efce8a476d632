//! The file of a CNF's state: replaced as a whole, durable before the data path changes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::state::CnfState;

/// The name of the file in its directory.
const FILE: &str = "config.json";
/// The next state, before it is in place.
const STAGED: &str = "config.json.new";

/// The state cannot be kept.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("{path}: {error}; the directory has to be writable, and its disk not full")]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The file is not of a CNF.
    #[error("{path}: {reason}; remove it to start without a configuration")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The system gives no random numbers.
    #[error("no randomness for the name of this start")]
    NoRandomness,
}

/// Keeps states in a directory, or nowhere.
#[derive(Debug)]
pub(super) struct ConfigStore(Option<PathBuf>);

impl ConfigStore {
    /// Opens the directory, which is created if it is missing, and returns the state in it.
    ///
    /// # Errors
    /// The directory or its file cannot be used.
    pub(super) fn open(directory: Option<PathBuf>) -> Result<(Self, CnfState), StoreError> {
        let mut bytes = [0; 6];
        getrandom::fill(&mut bytes).map_err(|_| StoreError::NoRandomness)?;
        let boot: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let Some(directory) = directory else {
            return Ok((Self(None), CnfState { boot, ..CnfState::default() }));
        };
        fs::create_dir_all(&directory).map_err(|error| at(&directory, error))?;
        let path = directory.join(FILE);
        let state = match fs::read(&path) {
            Ok(bytes) => CnfState::decode(&bytes, boot)
                .map_err(|reason| StoreError::Unreadable { path: path.clone(), reason })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => CnfState { boot, ..CnfState::default() },
            Err(error) => return Err(at(&path, error)),
        };
        Ok((Self(Some(directory)), state))
    }

    /// Writes a state beside the present one, durably.
    pub(super) fn stage(&self, state: &CnfState) -> Result<StagedState<'_>, StoreError> {
        let Some(directory) = &self.0 else { return Ok(StagedState(None)) };
        let path = directory.join(STAGED);
        let write = || {
            // It has secrets.
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all(&state.encode())?;
            file.sync_all()
        };
        write().map_err(|error| at(&path, error))?;
        Ok(StagedState(Some(directory)))
    }
}

/// A written state that is not in place yet.
pub(super) struct StagedState<'a>(Option<&'a Path>);

impl StagedState<'_> {
    /// Puts the state in place.
    pub(super) fn place(self) -> Result<(), StoreError> {
        let Some(directory) = self.0 else { return Ok(()) };
        let path = directory.join(FILE);
        let place = || {
            fs::rename(directory.join(STAGED), &path)?;
            File::open(directory)?.sync_all()
        };
        place().map_err(|error| at(&path, error))
    }
}

fn at(path: &Path, error: io::Error) -> StoreError {
    StoreError::File { path: path.to_owned(), error }
}
