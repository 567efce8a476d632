//! One named object, without an informer of its kind.

use std::fmt;
use std::sync::Arc;

use machinery_informers::Informer;
use machinery_informers::deliver::Closed;
use machinery_objects::{FieldTerm, Filter, Freshness, Kind, ListError, ListWatch, NAME, ObjectKey};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::PlaneError;
use super::handle::Plane;
use super::kinds::ObjectType;

/// One object of a kind, such as a Secret, watched by its name. Other objects of the kind are
/// neither received nor cached, and RBAC needs to allow only this name.
///
/// The watch ends when the last clone is dropped, or the plane stops. Created by
/// [`Plane::named_object`].
pub struct NamedObject<K> {
    key: ObjectKey,
    informer: Informer<K>,
    _watch: Arc<DropGuard>,
}

impl Plane {
    /// Reads one object from the server, without an informer of its kind; `None` if it does not
    /// exist. The result includes all acknowledged writes.
    ///
    /// # Errors
    /// As [`ListWatch::get`].
    pub async fn read_object<K: ObjectType>(&self, key: &ObjectKey) -> Result<Option<Arc<K>>, ListError> {
        let invalid = |error: machinery_objects::KindError| {
            let reason = error.to_string();
            ListError::Source(machinery_objects::SourceError::Invalid { reason, causes: Vec::new() })
        };
        let source: Arc<dyn ListWatch<Arc<K>>> =
            self.transport().shared_source(Kind::of::<K>().map_err(invalid)?);
        source.get(key, Freshness::Newest).await
    }

    /// Returns the source of a type, for reads and watches without an informer. Unlike the plane it
    /// may be held by its tasks.
    ///
    /// # Errors
    /// The type's kind is invalid.
    pub fn source<K: ObjectType>(&self) -> Result<Arc<dyn ListWatch<Arc<K>>>, PlaneError> {
        Ok(self.transport().shared_source(Kind::of::<K>()?))
    }

    /// Watches one object, without an informer of its kind. A controller is notified of it by
    /// [`watching_informer`](super::PlaneController::watching_informer). For a changing set of
    /// names in a namespace, use [keyed informers](Self::keyed_informers) by `metadata.name`.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")] async fn example() -> machinery::Result {
    /// # use machinery::k8s_openapi::api::core::v1::Secret;
    /// # let plane = machinery::embedded().start().await?;
    /// let password = plane.named_object::<Secret>(&"default/password".parse()?)?;
    /// password.synced().await?;
    /// assert!(password.get().is_none()); // it does not exist
    /// # plane.stop().await;
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
    /// The type's kind is invalid or not served.
    pub fn named_object<K: ObjectType>(&self, key: &ObjectKey) -> Result<NamedObject<K>, PlaneError> {
        let mut informer = self.informer::<K>()?;
        let name = FieldTerm::equals(NAME, key.name()).ok();
        informer.filter(Filter {
            namespace: key.namespace().map(Into::into),
            fields: name.into_iter().collect(),
            ..Filter::default()
        });
        let informer = informer.build();
        let watch = CancellationToken::new();
        let (ended, running) = (watch.clone(), informer.clone());
        // In no diagnostics: such watches come and go with the objects that refer to them.
        self.run_as(&format!("the watch of {key}"), |stopping| async move {
            tokio::select! {
                biased;
                () = ended.cancelled() => {}
                () = running.run(stopping) => {}
            }
        });
        Ok(NamedObject { key: key.clone(), informer, _watch: Arc::new(watch.drop_guard()) })
    }
}

impl<K: ObjectType> NamedObject<K> {
    /// Returns the key.
    #[must_use]
    pub const fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// Returns the object from the cache; `None` if it does not exist, or is not known yet.
    #[must_use]
    pub fn get(&self) -> Option<Arc<K>> {
        self.informer.get(&self.key)
    }

    /// Waits until it is known whether the object exists. Cancel safe.
    ///
    /// # Errors
    /// The plane has stopped.
    pub async fn synced(&self) -> Result<(), Closed> {
        self.informer.synced().await
    }

    /// Returns the informer of this one object.
    #[must_use]
    pub const fn informer(&self) -> &Informer<K> {
        &self.informer
    }
}

impl<K> Clone for NamedObject<K> {
    fn clone(&self) -> Self {
        Self { key: self.key.clone(), informer: self.informer.clone(), _watch: self._watch.clone() }
    }
}

/// Without the object: it may be a secret.
impl<K> fmt::Debug for NamedObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedObject({})", self.key)
    }
}
