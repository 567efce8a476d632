//! Reading what one wrote.

use std::sync::Arc;
use std::time::Duration;

use machinery_objects::{
    FieldTerm, Filter, Freshness, ListAt, ListError, ListRequest, ListWatch, NAME, Object, ObjectKey,
    ResourceVersion, SourceError, WriteToken, Wrote,
};
use tokio::time::{Instant, timeout, timeout_at};

use super::shared::{Informer, InformerShared};
use crate::reflect::{ReflectorLimits, SourceObject, objects_of_page};

/// Why a cache does not show a write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// It is behind.
    #[error(
        "the cache does not show {key} as it was written yet: wait longer, or look at the informer's state"
    )]
    Behind {
        /// What was written.
        key: ObjectKey,
    },
    /// Neither the cache nor the source says it.
    #[error("the cache does not show {key} as it was written, and the source cannot be asked: {error}")]
    Unknown {
        /// What was written.
        key: ObjectKey,
        /// Why not.
        error: SourceError,
    },
    /// The informer has stopped.
    #[error("the informer has stopped, and shows nothing new any more")]
    Closed,
}

/// The longest that one waits.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(365 * 24 * 3600);

impl<T: Object> Informer<T> {
    /// Waits until the cache shows a write: until it has the object so, or is past that, as where the write made the object one
    /// that is not selected here.
    ///
    /// Where versions are ordered a bookmark tells the latter. Otherwise, and where none comes for so long, the source is asked
    /// what it has.
    ///
    /// # Errors
    /// It does not show it in time; the source has been asked by then. The informer has stopped.
    pub async fn wait_for(&self, token: &WriteToken, timeout_after: Duration) -> Result<(), WaitError> {
        let until = Instant::now() + timeout_after.min(MAX_WAIT);
        loop {
            let listener = self.0.progress.listen();
            if self.shows(token) {
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
            // While the source shows less, what the cache shows up to its version may be of a time that never was.
            ordered && !now.doubtful && now.version.is_some_and(|progress| progress >= *version)
        };
        let there = self.get(&token.key);
        match &token.wrote {
            Wrote::Stored(version) => {
                there.and_then(|there| there.version()).is_some_and(|there| there == *version)
                    || past(version)
            }
            Wrote::Removed(Some(version)) if self.0.source.capabilities().versions_are_ordered => {
                past(version)
            }
            // Of another one with its name nothing is said; nor by a cache that has never been whole.
            Wrote::Removed(_) if !self.is_synced() => false,
            Wrote::Removed(_) => there.is_none_or(|there| match (&token.uid, there.uid()) {
                (Some(gone), Some(there)) => gone.as_str() != there,
                _ => false,
            }),
        }
    }

    /// Asks the source: the cache may show all there is to show.
    async fn check_source(&self, token: &WriteToken) -> Result<(), WaitError> {
        let key = &token.key;
        let newest = match self.0.source_version(key).await {
            Ok(newest) => newest,
            Err(error) => return Err(WaitError::Unknown { key: key.clone(), error }),
        };
        let here = self.get(key).and_then(|object| object.version());
        if newest == here || self.shows(token) {
            return Ok(());
        }
        Err(WaitError::Behind { key: key.clone() })
    }
}

impl<T: Object> InformerShared<T> {
    /// Asks the source in which version it has an object; `None` if it is not there, or not selected here.
    pub(crate) async fn source_version(
        &self,
        key: &ObjectKey,
    ) -> Result<Option<ResourceVersion>, SourceError> {
        let object = fetch_named(&*self.source, &self.filter, &self.limits, key).await?;
        Ok(object.and_then(|found| found.version))
    }
}

/// Asks a source for an object; `None` if it is not there, or not among those that are selected.
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
        return Ok(None); // it is nothing that is ever selected
    }
    let request = ListRequest { filter, at: ListAt::Fresh(Freshness::Newest), ..ListRequest::default() };
    let source_version = timeout(limits.answer_time, source.list(request)).await;
    match source_version.map(|source_version| source_version.map(objects_of_page)) {
        Err(_) => Err(SourceError::TimedOut),
        Ok(Ok(page)) => {
            // Kinds without namespaces have no selector for that, so there may be others of this name.
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
