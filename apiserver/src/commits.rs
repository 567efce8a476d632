//! The commits of a server: every change of every kind, in the order of the store.

use std::future::Future;
use std::sync::Arc;

use machinery_objects::{ObjectKey, Revision};
use machinery_store::{Entry, KeySpan, Range, Watch, WatchError, WatchItem};
use serde_json::Value;
use thiserror::Error;

use crate::server::ApiServer;
use crate::storage::{Moment, Place, Stored};

/// A commit: the changes of one transaction of the store.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerCommit {
    /// The revision of the commit.
    pub revision: Revision,
    /// The changed objects, in the order of the transaction.
    pub changes: Vec<CommittedChange>,
}

/// The change of an object by a commit.
#[derive(Clone, Debug, PartialEq)]
pub struct CommittedChange {
    /// API group of the object; empty for the core group.
    pub group: String,
    /// Plural name of the kind.
    pub plural: String,
    /// Key of the object.
    pub key: ObjectKey,
    /// The object after the commit; `None` if the commit deleted it.
    pub after: Option<Arc<Value>>,
    before: Option<Arc<Entry>>,
}

/// An item of [`Commits`].
#[derive(Clone, Debug, PartialEq)]
pub enum CommitItem {
    /// The next commit that changed objects.
    Commit(ServerCommit),
    /// All commits up to this revision have been returned.
    Progress(Revision),
}

/// The commits of a server, without gaps. Dropping it ends the watch.
#[derive(Debug)]
pub struct Commits {
    watch: Watch,
}

/// The commits of a server cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommitsError {
    /// The store is unavailable, or its history was compacted before it was read.
    #[error("commits may have been missed: {reason}; start again from the present state")]
    Lost {
        /// The error of the store.
        reason: String,
    },
    /// A stored object is invalid.
    #[error("the object stored as {key:?} is invalid: {reason}")]
    Invalid {
        /// Its key in the store.
        key: String,
        /// The reason.
        reason: String,
    },
}

impl ApiServer {
    /// Returns the present state, as one commit that creates all objects, and the commits after it:
    /// of all kinds, by any server on the store, also of server-side controllers. Objects are as
    /// stored, decrypted. Authorization does not apply.
    ///
    /// For checks of invariants: `machinery::testing::InvariantChecker`. Informers are cheaper for
    /// everything else, and merge changes.
    ///
    /// # Errors
    /// The store is unavailable, or a stored object is invalid.
    pub fn commits(
        &self,
    ) -> impl Future<Output = Result<(ServerCommit, Commits), CommitsError>> + Send + use<> {
        let shared = self.shared().clone();
        async move {
            let listed = shared.objects.list(Range::of(KeySpan::all()), Moment::Newest).await;
            let listed = listed.map_err(|refusal| CommitsError::Lost { reason: refusal.message })?;
            let watch = shared.objects.watch(KeySpan::all(), listed.at).await.map_err(lost)?;
            let created =
                listed.entries.iter().map(|entry| change(&entry.key, None, Some(entry), entry.modified));
            let changes = created.filter_map(Result::transpose).collect::<Result<_, _>>()?;
            Ok((ServerCommit { revision: listed.at, changes }, Commits { watch }))
        }
    }
}

impl CommittedChange {
    /// Returns the object before the commit; `None` if the commit created it.
    ///
    /// # Errors
    /// The stored object is invalid.
    pub fn before(&self) -> Result<Option<Value>, CommitsError> {
        self.before.as_deref().map(|entry| decode(entry, entry.modified)).transpose()
    }
}

impl Commits {
    /// Waits for the next item. Cancel safe. Not to be called again after an error.
    ///
    /// # Errors
    /// The watch is lost, or a stored object is invalid.
    pub async fn next(&mut self) -> Result<CommitItem, CommitsError> {
        loop {
            let (revision, events) = match self.watch.next().await.map_err(lost)? {
                WatchItem::Changes { revision, events } => (revision, events),
                WatchItem::Progress(revision) => return Ok(CommitItem::Progress(revision)),
            };
            let changes = events
                .iter()
                .map(|event| change(event.key(), event.before.as_ref(), event.after(), revision));
            let changes = changes.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
            if !changes.is_empty() {
                return Ok(CommitItem::Commit(ServerCommit { revision, changes }));
            }
        }
    }

    /// Requests one [`CommitItem::Progress`], after all commits that were acknowledged before this
    /// call.
    pub fn request_progress(&mut self) {
        self.watch.request_progress();
    }
}

fn lost(error: WatchError) -> CommitsError {
    CommitsError::Lost { reason: error.to_string() }
}

/// Decodes a change. `None`: the key is that of no object, but of a record of the server.
fn change(
    key: &str,
    before: Option<&Arc<Entry>>,
    after: Option<&Arc<Entry>>,
    revision: Revision,
) -> Result<Option<CommittedChange>, CommitsError> {
    let Some((group, plural)) = Place::resource(key) else { return Ok(None) };
    let place = Place::of(group, plural);
    let (namespace, name) = place.names(key);
    let object_key = ObjectKey::new(namespace, name)
        .map_err(|error| CommitsError::Invalid { key: key.into(), reason: error.to_string() })?;
    Ok(Some(CommittedChange {
        group: group.into(),
        plural: plural.into(),
        key: object_key,
        after: after.map(|entry| decode(entry, revision)).transpose()?.map(Arc::new),
        before: before.cloned(),
    }))
}

fn decode(entry: &Entry, revision: Revision) -> Result<Value, CommitsError> {
    let object = Stored::of(&entry.value).and_then(|stored| stored.read(revision));
    object.map_err(|error| CommitsError::Invalid { key: (*entry.key).into(), reason: error.to_string() })
}
