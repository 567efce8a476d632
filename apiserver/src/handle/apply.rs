//! Server-side apply of a handle.

use std::sync::Arc;

use machinery_objects::{Preconditions, WriteError, WriteOutcome, Written};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Handle;
use super::errors::source_error;
use super::write::{PreconditionCheck, at};
use crate::kind::Kind;
use crate::managed::manager_name;
use crate::request::FieldValidation;
use crate::strategy::not_found;
use crate::verbs::ObjectRequest;
use crate::verbs::apply::{Application, Applied, apply_object, read};

impl<K: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Handle<K> {
    /// Applies a configuration. With preconditions, the object must exist.
    pub(super) async fn apply(
        &self,
        kind: &Arc<Kind>,
        object_request: &ObjectRequest<'_>,
        body: &[u8],
        (manager, force): (&str, bool),
        only_if: &Preconditions,
    ) -> Result<Written<K>, WriteError> {
        if manager.is_empty() {
            return Err(at("fieldManager", "the field manager is empty: name it").into());
        }
        let manager = manager_name(Some(manager), None, "PatchOptions").map_err(source_error)?;
        let (object, _) = read(object_request, body, FieldValidation::Strict).map_err(source_error)?;
        let application = Application { object, manager: &manager, force };
        let has_conditions = only_if.uid.is_some() || only_if.version.is_some();
        let mut preconditions = PreconditionCheck::of(kind, only_if);
        let check = |old: Option<&Value>| match old {
            Some(old) => preconditions.check(old, None),
            None if has_conditions => Err(not_found(kind, object_request.name())),
            None => Ok(()),
        };
        let done = apply_object(object_request, &application, false, check).await;
        match done.map_err(|refusal| preconditions.not_written(refusal))? {
            Applied::Updated(changed) => self.changed(kind, object_request, changed).await,
            Applied::Created(made) => {
                self.settle(kind).await?;
                let revision = made.put.map(|put| put.revision).unwrap_or_default();
                self.written(kind, &made.key, made.object, WriteOutcome::Stored(revision.into()))
            }
        }
    }
}
