//! Reading and changing objects: every change is one transaction that rests on what it was worked out from.

use std::sync::Arc;
use std::time::Duration;

use machinery_objects::Revision;
use machinery_store::{
    Backend, CommitError, Condition, Conflict, Cursor, Entry, Key, Page, Range, ReadError, Span, Transaction,
    Watch, WatchError,
};

use crate::refusal::{Cause, Refusal};
use crate::request::GetOptions;

/// How long a read waits for a revision that has not happened yet.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it looks meanwhile.
const LOOK: Duration = Duration::from_millis(10);
/// How often a change is worked out anew because another came before it. Each time somebody else's change has happened.
const TRIES: usize = 100;

/// The store, as the server uses it.
#[derive(Clone)]
pub(crate) struct Objects {
    backend: Arc<dyn Backend>,
}

/// How new a read must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Newest,
    AtLeast(Revision),
    Exactly(Revision),
}

impl Moment {
    /// As a get asks for it.
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

/// What a change is to do.
pub(crate) enum Write {
    /// Nothing: the object is as it should be.
    Keep,
    Put(machinery_store::Value),
    Delete,
}

/// What a change did.
pub(crate) struct Outcome {
    /// Of the object: unchanged, if nothing was done.
    pub(crate) revision: Revision,
}

/// A condition on another key did not hold.
pub(crate) enum Lost {
    Guard(Box<Conflict>),
    Refused(Box<Refusal>),
}

impl From<Refusal> for Lost {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl Objects {
    pub(crate) fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend }
    }

    /// The newest revision.
    pub(crate) async fn revision(&self) -> Result<Revision, Refusal> {
        self.backend.revision().await.map_err(unreadable)
    }

    /// One object.
    pub(crate) async fn get(&self, key: &Key, moment: Moment) -> Result<Option<Arc<Entry>>, Refusal> {
        let range = Range::of(Span::One(key.clone()));
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

    /// Waits until the store has come to a revision, for a while.
    pub(crate) async fn reach(&self, least: Revision) -> Result<(), Refusal> {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let current = self.revision().await?;
            if current >= least {
                return Ok(());
            }
            if tokio::time::Instant::now() >= until {
                return Err(too_large(least, current));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What becomes of objects after a revision.
    pub(crate) async fn watch(&self, span: Span, after: Revision) -> Result<Watch, WatchError> {
        self.backend.watch(span, after).await
    }

    /// Changes one object, by a step from what is there to what is to be. The step is made again if another change came
    /// before it; `guards` are conditions on other objects, which the caller has to look at again then.
    pub(crate) async fn change(
        &self,
        key: &Key,
        mut current: Option<Arc<Entry>>,
        guards: &[Condition],
        mut step: impl FnMut(Option<&Entry>) -> Result<Write, Refusal>,
    ) -> Result<Outcome, Lost> {
        for _ in 0..TRIES {
            let mut transaction = Transaction { conditions: guards.to_vec(), operations: Vec::new() };
            transaction = match &current {
                Some(entry) => transaction.if_at(key.clone(), entry.modified),
                None => transaction.if_absent(key.clone()),
            };
            transaction = match step(current.as_deref())? {
                Write::Keep => {
                    let revision = current.as_ref().map_or(Revision::ZERO, |entry| entry.modified);
                    return Ok(Outcome { revision });
                }
                Write::Put(bytes) => transaction.put(key.clone(), bytes),
                Write::Delete => transaction.delete(key.clone()),
            };
            match self.backend.commit(transaction).await {
                Ok(commit) => return Ok(Outcome { revision: commit.revision }),
                Err(CommitError::Conflict(conflict)) if conflict.key == *key => current = conflict.current,
                Err(CommitError::Conflict(conflict)) => return Err(Lost::Guard(conflict)),
                Err(error) => return Err(unwritten(&error).into()),
            }
        }
        Err(Refusal {
            retry_after: Some(1),
            ..Refusal::new(
                429,
                "TooManyRequests",
                "the object is written so often that this change found no moment: try again",
            )
        }
        .into())
    }
}

/// 410: too old. Clients list again.
pub(crate) fn expired(message: &str) -> Refusal {
    Refusal::new(410, "Expired", message)
}

fn too_large(asked: Revision, current: Revision) -> Refusal {
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
        ReadError::Future { asked, current } => too_large(asked, current),
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
        // Whether it happened is not known: a client that reads first can tell.
        CommitError::Unknown { .. } => Refusal::new(504, "Timeout", error.to_string()),
        _ => Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", error.to_string()) },
    }
}
