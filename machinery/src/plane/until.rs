//! Waiting for a condition on cached objects.

use std::time::Duration;

use futures::FutureExt;
use machinery_objects::Kind;
use thiserror::Error;
use tokio::time;

use super::kinds::ObjectType;
use super::objects::Objects;

/// A wait for a condition failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UntilError {
    /// The condition did not hold in time.
    #[error("the condition on {kind} did not hold within {after:?}: {objects} objects are cached{}", hint(*.is_synced))]
    TimedOut {
        /// The kind of the objects.
        kind: Kind,
        /// The timeout.
        after: Duration,
        /// Number of cached objects.
        objects: usize,
        /// Whether the informer has synced.
        is_synced: bool,
    },
    /// The informer has stopped.
    #[error("the plane stopped before the condition on {kind} held")]
    Stopped {
        /// The kind of the objects.
        kind: Kind,
    },
}

const fn hint(is_synced: bool) -> &'static str {
    if is_synced { "" } else { ", and their informer is not synced: does the server serve the kind?" }
}

impl<K: ObjectType> Objects<K> {
    /// Waits until `find` returns a value. It is called now and after changes of the cache; changes
    /// that are pending together cause one call. Cancel safe.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")] async fn example() -> machinery::Result {
    /// # use machinery::k8s_openapi::api::core::v1::Namespace;
    /// # use std::time::Duration;
    /// # let plane = machinery::embedded().start().await?;
    /// let (namespaces, key) = (plane.objects::<Namespace>()?, "default".parse()?);
    /// let default = namespaces.until(Duration::from_secs(10), |all| all.get(&key)).await?;
    /// # assert!(default.metadata.uid.is_some());
    /// # Ok(()) }
    /// # #[cfg(feature = "embedded")]
    /// # machinery::tokio::runtime::Builder::new_current_thread()
    /// #     .enable_all()
    /// #     .build()
    /// #     .unwrap()
    /// #     .block_on(example())
    /// #     .unwrap();
    /// ```
    ///
    /// # Errors
    /// The timeout elapses, or the plane stops.
    pub async fn until<T>(
        &self,
        timeout: Duration,
        mut find: impl FnMut(&Self) -> Option<T>,
    ) -> Result<T, UntilError> {
        let stopped = || UntilError::Stopped { kind: self.kind().clone() };
        let mut events = self.informer().events().map_err(|_| stopped())?;
        let found = async {
            loop {
                if let Some(found) = find(self) {
                    return Ok(found);
                }
                events.next().await.ok_or_else(stopped)?;
                // A burst of changes costs one call.
                while let Some(Some(_)) = events.next().now_or_never() {}
            }
        };
        match time::timeout(timeout, found).await {
            Ok(found) => found,
            Err(_) => Err(UntilError::TimedOut {
                kind: self.kind().clone(),
                after: timeout,
                objects: self.read().len(),
                is_synced: self.informer().is_synced(),
            }),
        }
    }
}
