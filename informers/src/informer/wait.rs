//! Read your writes: waiting until a cache shows a write.

use std::sync::Arc;
use std::time::Duration;

use machinery_objects::{
    FieldTerm, Filter, Freshness, ListAt, ListError, ListRequest, ListWatch, NAME, Object, ObjectKey,
    ResourceVersion, SourceError, WriteOutcome, WriteToken,
};
use tokio::time::{Instant, timeout, timeout_at};

use super::shared::{Informer, InformerShared};
use crate::reflect::{ReflectorLimits, SourceObject, objects_of_page};

/// The reason why a wait for a write failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The cache does not show the write in time.
    #[error("the cache does not show the write of {key} yet: wait longer, or check the informer's state")]
    Behind {
        /// The written object.
        key: ObjectKey,
    },
    /// The cache does not show the write, and the source could not be read.
    #[error("the cache does not show the write of {key}, and the source cannot be read: {error}")]
    Unknown {
        /// The written object.
        key: ObjectKey,
        /// The error of the source.
        error: SourceError,
    },
    /// The informer has stopped.
    #[error("the informer has stopped, and its cache no longer changes")]
    Closed,
}

/// Upper bound of timeouts.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(365 * 24 * 3600);

impl<T: Object> Informer<T> {
    /// Waits until the cache shows a write: until it holds the written version of the object, or is
    /// current up to a later version, as when the write made the object leave the filter.
    ///
    /// So a client can *read its writes*. Where versions are ordered, bookmarks advance the cache
    /// also without a matching event. If the timeout passes, the source is read once, as the cache
    /// may already show its state. Afterwards the events of the write are in the queues of all
    /// handlers. Cancel safe.
    ///
    /// # Errors
    /// The cache does not show the write, even compared with the source; or the informer has
    /// stopped.
    pub async fn wait_for(&self, token: &WriteToken, timeout_after: Duration) -> Result<(), WaitError> {
        // Bounded, because the sum of an instant and a long duration panics.
        let until = Instant::now() + timeout_after.min(MAX_WAIT);
        loop {
            let listener = self.0.progress.listen();
            if self.shows(token) {
                // The cache shows a change before its notifications are queued.
                self.0.hub.settle();
                return Ok(());
            }
            if self.0.progress.now().closed {
                return Err(WaitError::Closed);
            }
            if timeout_at(until, listener).await.is_err() {
                return self.check_source(token).await;
            }
        }
    }

    fn shows(&self, token: &WriteToken) -> bool {
        let past = |version: &ResourceVersion| {
            let ordered = self.0.source.capabilities().versions_are_ordered;
            let now = self.0.progress.now();
            // While the source is behind, the version of the cache may have been lost in a restore.
            ordered && !now.doubtful && now.version.is_some_and(|progress| progress >= *version)
        };
        let there = self.get(&token.key);
        match &token.wrote {
            WriteOutcome::Stored(version) | WriteOutcome::Observed(version) => {
                there.and_then(|there| there.version()).is_some_and(|there| there == *version)
                    || past(version)
            }
            WriteOutcome::Removed(Some(version)) if self.0.source.capabilities().versions_are_ordered => {
                past(version)
            }
            // A deletion is confirmed neither by a later object of the name nor by a cache that
            // never synced.
            WriteOutcome::Removed(_) if !self.is_synced() => false,
            WriteOutcome::Removed(_) => there.is_none_or(|there| match (&token.uid, there.uid()) {
                (Some(gone), Some(there)) => gone.as_str() != there,
                _ => false,
            }),
        }
    }

    /// Compares the cache with a live read of the object.
    async fn check_source(&self, token: &WriteToken) -> Result<(), WaitError> {
        let key = &token.key;
        let newest = match self.0.source_version(key).await {
            Ok(newest) => newest,
            Err(error) => return Err(WaitError::Unknown { key: key.clone(), error }),
        };
        let here = self.get(key).and_then(|object| object.version());
        // The cache may have caught up during the read.
        if newest == here || self.shows(token) {
            return Ok(());
        }
        Err(WaitError::Behind { key: key.clone() })
    }
}

impl<T: Object> InformerShared<T> {
    /// Returns the object's version at the source, `None` if there is none that matches the filter.
    pub(crate) async fn source_version(
        &self,
        key: &ObjectKey,
    ) -> Result<Option<ResourceVersion>, SourceError> {
        let object = fetch_named(&*self.source, &self.filter, &self.limits, key).await?;
        Ok(object.and_then(|found| found.version))
    }
}

/// Reads an object live from a source; `None` if it does not exist or does not match the filter.
pub(crate) async fn fetch_named<T: Object>(
    source: &dyn ListWatch<Arc<T>>,
    own: &Filter,
    limits: &ReflectorLimits,
    key: &ObjectKey,
) -> Result<Option<SourceObject<Arc<T>>>, SourceError> {
    let term = FieldTerm::equals(NAME, key.name()).expect("a name can stand in a selector");
    let filter = Filter {
        namespace: key.namespace().map(Into::into).or_else(|| own.namespace.clone()),
        labels: own.labels.clone(),
        fields: own.fields.terms().iter().cloned().chain([term]).collect(),
    };
    if own.namespace.is_some() && own.namespace != filter.namespace {
        return Ok(None); // outside the namespace of the filter
    }
    // A list, because a get would also return an object that the filter excludes.
    let request = ListRequest { filter, at: ListAt::Fresh(Freshness::Newest), ..ListRequest::default() };
    let source_version = timeout(limits.answer_time, source.list(request)).await;
    match source_version.map(|source_version| source_version.map(objects_of_page)) {
        Err(_) => Err(SourceError::TimedOut),
        Ok(Ok(page)) => {
            // Cluster-scoped kinds cannot be selected by namespace, so the list may hold namesakes.
            let is_it = |one: &ObjectKey| one == key || one.is_unnamed();
            match page.unreadable.iter().find(|unreadable| is_it(&unreadable.key)) {
                Some(unreadable) => Err(SourceError::Malformed { reason: unreadable.to_string() }),
                None => Ok(page.items.into_iter().find(|found| found.key == *key)),
            }
        }
        Ok(Err(ListError::Source(error))) => Err(error),
        Ok(Err(error)) => {
            let reason = error.to_string();
            Err(SourceError::Unavailable { reason, retry_after: None })
        }
    }
}
