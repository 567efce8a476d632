//! The store as the server uses it, with its errors as refusals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use machinery_objects::Revision;
use machinery_store::{
    Backend, CommitError, Conflict, Cursor, Entry, Key, KeySpan, Page, Range, ReadError, Transaction, Watch,
    WatchError,
};

use tokio::time::Instant;

use crate::refusal::{Cause, Refusal};
use crate::request::GetOptions;

/// How long a read waits for a revision that has not happened yet.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
/// Milliseconds for which the answer of a commit shows whether the store accepts writes.
const FRESH: u64 = 1000;
/// The polling interval of the wait.
const LOOK: Duration = Duration::from_millis(10);
/// The maximum of the interval, which doubles: many clients may wait for a distant future.
const LONGEST_LOOK: Duration = Duration::from_millis(100);

/// The store, as the server uses it.
#[derive(Clone)]
pub(crate) struct Objects {
    backend: Arc<dyn Backend>,
    /// Whether the store refused the last commit.
    refused: Arc<AtomicBool>,
    began: Instant,
    /// The time of the last answer of a commit, in milliseconds after `began`.
    answered: Arc<AtomicU64>,
}

/// How new a read must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Newest,
    AtLeast(Revision),
    Exactly(Revision),
}

impl Moment {
    /// Options for a get.
    pub(crate) fn of_get(options: &GetOptions) -> Self {
        match options.revision {
            None | Some(0) => Self::Newest,
            Some(least) => Self::AtLeast(Revision(least)),
        }
    }
}

/// A part of a list.
pub(crate) struct Listed {
    pub(crate) at: Revision,
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) next: Option<Cursor>,
    pub(crate) remaining: Option<u64>,
}

/// The result of a transaction.
pub(crate) enum Committed {
    Done(Revision),
    /// Nothing was committed: a condition failed.
    Lost(Box<Conflict>),
}

impl Objects {
    pub(crate) fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, refused: Arc::default(), began: Instant::now(), answered: Arc::default() }
    }

    /// The newest revision.
    pub(crate) async fn revision(&self) -> Result<Revision, Refusal> {
        self.backend.revision().await.map_err(unreadable)
    }

    /// Returns one object.
    pub(crate) async fn get(&self, key: &Key, moment: Moment) -> Result<Option<Arc<Entry>>, Refusal> {
        let range = Range::of(KeySpan::One(key.clone()));
        Ok(self.read(range, moment).await?.entries.pop())
    }

    /// Objects in the order of their keys.
    pub(crate) async fn list(&self, range: Range, moment: Moment) -> Result<Listed, Refusal> {
        let Page { at, entries, next, remaining, .. } = self.read(range, moment).await?;
        Ok(Listed { at, entries, next, remaining })
    }

    async fn read(&self, mut range: Range, moment: Moment) -> Result<Page, Refusal> {
        match moment {
            Moment::Newest => {}
            Moment::AtLeast(least) => self.reach(least).await?,
            Moment::Exactly(at) => {
                self.reach(at).await?;
                range.at = Some(at);
            }
        }
        self.backend.range(range).await.map_err(unreadable)
    }

    /// Waits until the store has reached a revision, up to a timeout.
    pub(crate) async fn reach(&self, least: Revision) -> Result<(), Refusal> {
        let until = tokio::time::Instant::now() + PATIENCE;
        let mut look = LOOK;
        loop {
            let current = self.revision().await?;
            if current >= least {
                return Ok(());
            }
            if tokio::time::Instant::now() >= until {
                return Err(too_large(least, current));
            }
            crate::flowcontrol::without_seat(tokio::time::sleep(look)).await;
            look = LONGEST_LOOK.min(look * 2);
        }
    }

    /// Watches changes after a revision.
    pub(crate) async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        self.backend.watch(span, after).await
    }

    /// Returns whether the store accepts writes, judged by the last one. If it failed or was more
    /// than a second ago, this commits a transaction without changes as a probe: there may be no
    /// other writer.
    pub(crate) async fn takes_writes(&self) -> Result<(), Refusal> {
        if !self.refused.load(Relaxed) && self.since_began() < self.answered.load(Relaxed) + FRESH {
            return Ok(());
        }
        self.commit(Transaction::new()).await.map(drop)
    }

    /// Commits a transaction, if all its conditions hold.
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Committed, Refusal> {
        let answer = self.backend.commit(transaction).await;
        let refused = matches!(answer, Err(CommitError::Refused { .. } | CommitError::Unknown { .. }));
        // Relaxed: only a hint for health checks, which orders nothing else.
        self.refused.store(refused, Relaxed);
        self.answered.store(self.since_began(), Relaxed);
        match answer {
            Ok(commit) => Ok(Committed::Done(commit.revision)),
            Err(CommitError::Conflict(conflict)) => Ok(Committed::Lost(conflict)),
            Err(error) => Err(unwritten(&error)),
        }
    }
}

impl Objects {
    fn since_began(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// 410: too old. Clients list again.
pub(crate) fn expired(message: &str) -> Refusal {
    Refusal::new(410, "Expired", message)
}

pub(crate) fn too_large(asked: Revision, current: Revision) -> Refusal {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let cause = Cause {
        reason: "ResourceVersionTooLarge",
        message: "Too large resource version".into(),
        field: String::new(),
    };
    Refusal { causes: vec![cause], retry_after: Some(1), ..Refusal::new(504, "Timeout", message) }
}

fn unreadable(error: ReadError) -> Refusal {
    match error {
        ReadError::Compacted { .. } => expired("The resourceVersion for the provided list is too old."),
        ReadError::Future { requested, current } => too_large(requested, current),
        other => {
            Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", other.to_string()) }
        }
    }
}

fn unwritten(error: &CommitError) -> Refusal {
    match error {
        CommitError::TooLarge { .. } | CommitError::TooManyOperations { .. } => {
            Refusal::new(413, "RequestEntityTooLarge", error.to_string())
        }
        // Without a time after which to try again: only deletes help.
        CommitError::QuotaExceeded { .. } => Refusal::new(507, "InsufficientStorage", error.to_string()),
        // The outcome is unknown: a client can read the object to find out.
        CommitError::Unknown { .. } => Refusal::new(504, "Timeout", error.to_string()),
        _ => Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", error.to_string()) },
    }
}
