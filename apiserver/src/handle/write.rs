//! Writes of a handle.

use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Conflict, Deleted, Deletion, Fence as Named, FieldSelector, InvalidField, NameRule, ObjectKey, Patch,
    PatchFormat, Preconditions, Propagation, ResourceVersion, SourceError, Uid, WriteError, WriteOutcome,
    WriteToken, Writer, WriterCapabilities, Written,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Handle;
use super::errors::{source_error, unreadable, write_error};
use super::typed::form;
use crate::controllers;
use crate::fence::Fence;
use crate::json::{OBJECT_DEPTH, depth};
use crate::kind::{Kind, Subresource};
use crate::patch::{self, PatchKind};
use crate::refusal::Refusal;
use crate::request::{self, FieldValidation};
use crate::storage::Moment;
use crate::strategy::{self, MODIFIED, meta_text, metadata_mut};
use crate::verbs::output::read;
use crate::verbs::{ObjectRequest, create, delete, update};

#[async_trait]
impl<K> Writer<K> for Handle<K>
where
    K: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
{
    fn capabilities(&self) -> WriterCapabilities {
        WriterCapabilities::ALL
    }

    /// For a generated name, [`WriteError::AlreadyExists`] means that no free name was found.
    async fn create(&self, object: &K, fence: Option<&Named>) -> Result<Written<K>, WriteError> {
        let kind = self.served("create")?;
        let mut object = self.value(&kind, object)?;
        let namespace = namespace(&kind, &object)?;
        let held_fence = fence.map(Fence::of);
        let object_request = ObjectRequest {
            fence: held_fence.as_ref(),
            ..self.object_request(&kind, Subresource::Main, namespace.as_deref(), "")
        };
        self.allow("create", &object_request, &FieldSelector::default())?;
        object = shaped(&object_request, object)?;
        let key = kind.place.key(namespace.as_deref(), meta_text(&object, "name"));
        let made = match create::create_object(&object_request, object, Some(&self.manager), false).await {
            Ok(made) => made,
            // The namespace does not exist.
            Err(refusal) if refusal.code == 404 => return Err(source_error(refusal).into()),
            Err(refusal) => return Err(self.not_made(&kind, refusal, &key, fence).await),
        };
        self.settle(&kind).await?;
        let revision = made.put.map(|put| put.revision).unwrap_or_default();
        self.written(&kind, &made.key, made.object, WriteOutcome::Stored(revision.into()))
    }

    async fn update(&self, object: &K, only_if: &Preconditions) -> Result<Written<K>, WriteError> {
        let kind = self.served("update")?;
        self.replace(&kind, Subresource::Main, object, only_if).await
    }

    async fn update_status(&self, object: &K, only_if: &Preconditions) -> Result<Written<K>, WriteError> {
        let kind = self.served("update")?;
        if !kind.has_status {
            return Err(SourceError::Unsupported { what: "status" }.into());
        }
        self.replace(&kind, Subresource::Status, object, only_if).await
    }

    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<K>, WriteError> {
        let kind = self.served("delete")?;
        let fence = deletion.only_if.fence.as_ref().map(Fence::of);
        let object_request = self.object_request(&kind, Subresource::Main, key.namespace(), key.name());
        let object_request = ObjectRequest { fence: fence.as_ref(), ..object_request };
        self.allow("delete", &object_request, &FieldSelector::default())?;
        if kind.namespaced != key.namespace().is_some() {
            return Err(WriteError::NotFound);
        }
        let at = object_request.key();
        let there = self.shared.objects.get(&at, Moment::Newest).await.map_err(source_error)?;
        let propagation = match deletion.propagation {
            Propagation::Background => request::Propagation::Background,
            Propagation::Foreground => request::Propagation::Foreground,
            Propagation::Orphan => request::Propagation::Orphan,
        };
        let mut preconditions = PreconditionCheck::of(&kind, &deletion.only_if);
        let how = |old: &Value| {
            preconditions.check(old, None)?;
            Ok(strategy::Deletion { propagation: Some(propagation), ..strategy::Deletion::default() })
        };
        let erased = delete::delete_object(&object_request, &at, there, false, how).await;
        let erased = erased.map_err(|refusal| preconditions.not_written(refusal))?;
        self.settle(&kind).await?;
        let revision = erased.revision.unwrap_or_default();
        if erased.is_deleted {
            let uid = Uid::new(meta_text(&erased.object, "uid"));
            let wrote = WriteOutcome::Removed(Some(revision.into()));
            return Ok(Deleted::Gone(WriteToken { key: key.clone(), uid, wrote }));
        }
        self.written(&kind, &at, erased.object, WriteOutcome::Stored(revision.into())).map(Deleted::Marked)
    }

    async fn patch(
        &self,
        key: &ObjectKey,
        patch: &Patch,
        only_if: &Preconditions,
    ) -> Result<Written<K>, WriteError> {
        let kind = self.served("patch")?;
        if patch.status && !kind.has_status {
            return Err(SourceError::Unsupported { what: "status" }.into());
        }
        let subresource = if patch.status { Subresource::Status } else { Subresource::Main };
        let fence = only_if.fence.as_ref().map(Fence::of);
        let object_request = self.object_request(&kind, subresource, key.namespace(), key.name());
        let object_request = ObjectRequest { fence: fence.as_ref(), ..object_request };
        self.allow("patch", &object_request, &FieldSelector::default())?;
        if kind.namespaced != key.namespace().is_some() {
            return Err(WriteError::NotFound);
        }
        let format = match &patch.format {
            PatchFormat::Json => PatchKind::Json,
            PatchFormat::Merge => PatchKind::Merge,
            PatchFormat::Apply { manager, force } => {
                return self.apply(&kind, &object_request, &patch.body, (manager, *force), only_if).await;
            }
            _ => return Err(SourceError::Unsupported { what: "patches of this format" }.into()),
        };
        let (changes, problems) = patch::Patch::read(format, &patch.body).map_err(source_error)?;
        let mut preconditions = PreconditionCheck::of(&kind, only_if);
        let next = |old: &Value| {
            preconditions.check(old, None)?;
            let patched = changes.apply(old, kind.patched_by())?;
            Ok(object_request.patched(patched, problems.clone(), FieldValidation::Strict)?.object)
        };
        let changed = update::update_object(&object_request, Some(&self.manager), false, false, next).await;
        let changed = changed.map_err(|refusal| preconditions.not_written(refusal))?;
        self.changed(&kind, &object_request, changed).await
    }
}

impl<K: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Handle<K> {
    async fn replace(
        &self,
        kind: &Arc<Kind>,
        subresource: Subresource,
        object: &K,
        only_if: &Preconditions,
    ) -> Result<Written<K>, WriteError> {
        let object = self.value(kind, object)?;
        let namespace = namespace(kind, &object)?;
        let name = meta_text(&object, "name").to_owned();
        NameRule::PathSegment
            .check(&name)
            .map_err(|error| at("metadata.name", &format!("{name:?} can be no name: {error}")))?;
        let fence = only_if.fence.as_ref().map(Fence::of);
        let object_request = ObjectRequest {
            fence: fence.as_ref(),
            ..self.object_request(kind, subresource, namespace.as_deref(), &name)
        };
        self.allow("update", &object_request, &FieldSelector::default())?;
        let object = shaped(&object_request, object)?;
        let mut preconditions = PreconditionCheck::of(kind, only_if);
        let next = |old: &Value| {
            // In the step, on the state that the commit is conditional on: conflicts are typed.
            preconditions.check(old, Some(&object))?;
            let mut new = object.clone();
            // Without a version in the preconditions, the update is unconditional.
            let version = meta_text(old, "resourceVersion").to_owned();
            metadata_mut(&mut new).insert("resourceVersion".into(), version.into());
            Ok(new)
        };
        let changed = update::update_object(&object_request, Some(&self.manager), false, true, next).await;
        let changed = changed.map_err(|refusal| preconditions.not_written(refusal))?;
        self.changed(kind, &object_request, changed).await
    }

    pub(super) async fn changed(
        &self,
        kind: &Arc<Kind>,
        object_request: &ObjectRequest<'_>,
        changed: update::UpdatedObject,
    ) -> Result<Written<K>, WriteError> {
        self.settle(kind).await?;
        let version = ResourceVersion::from(changed.revision.unwrap_or_default());
        let wrote = match changed.is_deleted {
            true => WriteOutcome::Removed(Some(version)),
            false if changed.is_unchanged() => WriteOutcome::Observed(version),
            false => WriteOutcome::Stored(version),
        };
        self.written(kind, &object_request.key(), changed.object, wrote)
    }

    /// Converts an object to JSON, with `apiVersion` and `kind`.
    fn value(&self, kind: &Kind, object: &K) -> Result<Value, SourceError> {
        let mut object =
            serde_json::to_value(object).map_err(|error| invalid(error.to_string(), Vec::new()))?;
        if depth(&object) > OBJECT_DEPTH {
            return Err(invalid(format!("it is deeper than {OBJECT_DEPTH} levels"), Vec::new()));
        }
        if let Some(object) = object.as_object_mut() {
            object.entry("apiVersion").or_insert_with(|| kind.api_version.as_str().into());
            object.entry("kind").or_insert_with(|| kind.names.kind.as_str().into());
        }
        Ok(object)
    }

    /// Converts the result of a write to `K`, and caches it so that watches need not decode it
    /// again.
    pub(super) fn written(
        &self,
        kind: &Kind,
        key: &Arc<str>,
        object: Value,
        wrote: WriteOutcome,
    ) -> Result<Written<K>, WriteError> {
        let text = |field| Some(meta_text(&object, field)).filter(|text| !text.is_empty());
        let name = text("name").unwrap_or_default();
        let token = WriteToken {
            key: ObjectKey::new(text("namespace").filter(|_| kind.namespaced), name).unwrap_or_default(),
            uid: text("uid").and_then(Uid::new),
            wrote,
        };
        let bytes = length(&object);
        let has_passwords = kind.secret_fields().is_some();
        let object = K::deserialize(object)
            .map_err(|error| source_error(unreadable::<K>(has_passwords, key, &error)))?;
        let stored = match &token.wrote {
            WriteOutcome::Stored(version) | WriteOutcome::Observed(version) => version.revision(),
            WriteOutcome::Removed(_) => None,
        };
        if let Some(at) = stored {
            self.decoded.put(form(kind, key, at, at), bytes, &Arc::new(object.clone()));
        }
        Ok(Written { object, token })
    }

    /// Waits until a written definition or admission configuration takes effect.
    pub(super) async fn settle(&self, kind: &Kind) -> Result<(), SourceError> {
        controllers::after_write(&self.shared, kind).await.map_err(source_error)
    }

    /// Converts a failed create; for an existing object, adds its UID.
    async fn not_made(
        &self,
        kind: &Kind,
        refusal: Refusal,
        key: &Arc<str>,
        fence: Option<&Named>,
    ) -> WriteError {
        let error = write_error(refusal, None, fence);
        let WriteError::AlreadyExists { .. } = error else { return error };
        let there = self.shared.objects.get(key, Moment::Newest).await.ok().flatten();
        let there = there.and_then(|entry| read(kind, &entry, entry.modified).ok());
        WriteError::AlreadyExists { uid: there.and_then(|there| Uid::new(meta_text(&there, "uid"))) }
    }
}

/// Preconditions to check against the stored object.
pub(super) struct PreconditionCheck<'a> {
    kind: &'a Kind,
    only_if: &'a Preconditions,
    /// The precondition that failed.
    broken: Option<Conflict>,
}

impl<'a> PreconditionCheck<'a> {
    pub(super) const fn of(kind: &'a Kind, only_if: &'a Preconditions) -> Self {
        Self { kind, only_if, broken: None }
    }

    /// Converts the refusal of a write.
    pub(super) fn not_written(self, refusal: Refusal) -> WriteError {
        write_error(refusal, self.broken, self.only_if.fence.as_ref())
    }

    /// Checks the preconditions, and the UID and resourceVersion in the new object, against the
    /// stored one.
    pub(super) fn check(&mut self, old: &Value, new: Option<&Value>) -> Result<(), Refusal> {
        let (uid, version) = (meta_text(old, "uid"), meta_text(old, "resourceVersion"));
        let own = |field| new.map(|new| meta_text(new, field)).filter(|text| !text.is_empty());
        let required = self.only_if.uid.as_ref().map(Uid::as_str);
        let differs = |required: Option<&str>, there| required.is_some_and(|required| required != there);
        let required_version = self.only_if.version.as_ref().map(ToString::to_string);
        self.broken = if differs(required, uid) || differs(own("uid"), uid) {
            Some(Conflict::Uid { found: Uid::new(uid) })
        } else if differs(required_version.as_deref(), version) || differs(own("resourceVersion"), version) {
            Some(Conflict::Version { found: ResourceVersion::new(version) })
        } else {
            None
        };
        match self.broken {
            Some(_) => Err(strategy::conflict(self.kind, meta_text(old, "name"), MODIFIED)),
            None => Ok(()),
        }
    }
}

/// Converts the object to its kind's schema. Unknown fields are an error of the program.
fn shaped(object_request: &ObjectRequest<'_>, mut object: Value) -> Result<Value, SourceError> {
    object_request.expected().check(&mut object, &[]).map_err(source_error)?;
    let shaped = object_request.shaped(object, Vec::new(), FieldValidation::Strict).map_err(source_error)?;
    Ok(shaped.object)
}

/// Returns the namespace of an object of a namespaced kind.
fn namespace(kind: &Kind, object: &Value) -> Result<Option<String>, SourceError> {
    if !kind.namespaced {
        return Ok(None);
    }
    let namespace = meta_text(object, "namespace");
    match NameRule::PathSegment.check(namespace) {
        Ok(()) => Ok(Some(namespace.into())),
        Err(_) if namespace.is_empty() => {
            Err(at("metadata.namespace", &format!("{} are in a namespace: say in which", kind.resource())))
        }
        Err(error) => Err(at("metadata.namespace", &format!("{namespace:?} can be no namespace: {error}"))),
    }
}

pub(super) fn at(field: &str, reason: &str) -> SourceError {
    invalid(reason.into(), vec![InvalidField { field: field.into(), reason: reason.into() }])
}

fn invalid(reason: String, causes: Vec<InvalidField>) -> SourceError {
    SourceError::Invalid { reason, causes }
}

/// Approximate length as JSON.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| length(item) + 1).sum::<usize>() + 1,
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| name.len() + 4 + length(field)).sum::<usize>() + 1
        }
        _ => 4,
    }
}
