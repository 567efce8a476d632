//! Reloads certificates and tokens at run time.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinery_sync::Mutex;

use crate::auth::authenticate::Authenticator;
use crate::auth::private::{self, Stamp};
use crate::auth::token_file::TokenFile;
use crate::server::Shared;
use crate::tls::serving::Serving;

/// The result of a reload, as messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Created or expiring certificates.
    pub notes: Vec<String>,
    /// Rejected files, each with a remedy. Their previous versions stay in use.
    pub refused: Vec<String>,
}

/// The reloadable files of a listening server.
pub(super) struct Reloads {
    shared: Arc<Shared>,
    tokens: TokenFile,
    serving: Option<Arc<Serving>>,
    seen: Mutex<FileStamps>,
}

/// The state of the files at the last reload.
struct FileStamps {
    files: Vec<(PathBuf, Stamp)>,
    at: Timestamp,
}

impl Reloads {
    /// Activates the tokens.
    pub(super) fn new(shared: Arc<Shared>, tokens: TokenFile, serving: Option<Arc<Serving>>) -> Self {
        let mut files = vec![tokens.path().to_owned()];
        files.extend(serving.iter().flat_map(|serving| serving.paths()));
        let files = files.into_iter().map(|path| (private::stamp(&path), path)).map(|(s, path)| (path, s));
        let seen = Mutex::new(FileStamps { files: files.collect(), at: shared.world.now() });
        let this = Self { shared, tokens, serving, seen };
        this.let_in();
        this
    }

    pub(super) fn is_outdated(&self) -> bool {
        let seen = self.seen.lock();
        let day = SignedDuration::from_hours(24);
        self.shared.world.now().duration_since(seen.at) >= day
            || seen.files.iter().any(|(path, stamp)| private::stamp(path) != *stamp)
    }

    pub(super) fn reload(&self) -> Reloaded {
        let now = self.shared.world.now();
        // Stamps are recorded before reading, so that a concurrent change causes another reload.
        self.look(now);
        let mut reloaded = Reloaded::default();
        match self.tokens.reload() {
            Ok(()) => self.let_in(),
            Err(error) => reloaded.refused.push(error.to_string()),
        }
        match self.serving.as_ref().map(|serving| serving.reload(now)) {
            Some(Ok(notes)) => {
                if !notes.is_empty() {
                    // Files that the reload itself wrote are not outdated.
                    self.look(now);
                }
                reloaded.notes = notes;
            }
            Some(Err(error)) => reloaded.refused.push(error.to_string()),
            None => {}
        }
        reloaded
    }

    fn look(&self, now: Timestamp) {
        let mut seen = self.seen.lock();
        seen.at = now;
        for (path, stamp) in &mut seen.files {
            *stamp = private::stamp(Path::new(path));
        }
    }

    fn let_in(&self) {
        let tokens = self.tokens.tokens();
        self.shared.authenticator.swap(Arc::new(Authenticator { tokens }));
    }
}

impl fmt::Debug for Reloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloads").finish_non_exhaustive()
    }
}
