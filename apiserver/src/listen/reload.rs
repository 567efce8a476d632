//! Reloads certificates and tokens at run time.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinery_sync::Mutex;
use tokio::time::Instant;

use crate::auth::authenticate::Authenticator;
use crate::auth::private::{self, Stamp};
use crate::auth::token_file::TokenFile;
use crate::server::Shared;
use crate::steady_clock::SteadyClock;
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
    clock: Mutex<SteadyClock>,
    stamps: Mutex<FileStamps>,
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
        let now = shared.environment.now();
        let stamps = Mutex::new(FileStamps { files: files.collect(), at: now });
        let clock = Mutex::new(SteadyClock::new(now, Instant::now()));
        let this = Self { shared, tokens, serving, clock, stamps };
        this.activate_tokens();
        this
    }

    pub(super) fn is_outdated(&self) -> bool {
        let now = self.now();
        let stamps = self.stamps.lock();
        let day = SignedDuration::from_hours(24);
        now.duration_since(stamps.at) >= day
            || stamps.files.iter().any(|(path, stamp)| private::stamp(path) != *stamp)
    }

    pub(super) fn reload(&self) -> Reloaded {
        let now = self.now();
        // Stamps are recorded before reading, so that a concurrent change causes another reload.
        self.record_stamps(now);
        let mut reloaded = Reloaded::default();
        match self.tokens.reload() {
            Ok(()) => self.activate_tokens(),
            Err(error) => reloaded.refused.push(error.to_string()),
        }
        match self.serving.as_ref().map(|serving| serving.reload(now)) {
            Some(Ok(notes)) => {
                if !notes.is_empty() {
                    // Files that the reload itself wrote are not outdated.
                    self.record_stamps(now);
                }
                reloaded.notes = notes;
            }
            Some(Err(error)) => reloaded.refused.push(error.to_string()),
            None => {}
        }
        reloaded
    }

    /// The time, without a short jump of the clock.
    fn now(&self) -> Timestamp {
        self.clock.lock().now(self.shared.environment.now(), Instant::now())
    }

    fn record_stamps(&self, now: Timestamp) {
        let mut stamps = self.stamps.lock();
        stamps.at = now;
        for (path, stamp) in &mut stamps.files {
            *stamp = private::stamp(Path::new(path));
        }
    }

    fn activate_tokens(&self) {
        let tokens = self.tokens.tokens();
        self.shared.authenticator.swap(Arc::new(Authenticator { tokens }));
    }
}

impl fmt::Debug for Reloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloads").finish_non_exhaustive()
    }
}
