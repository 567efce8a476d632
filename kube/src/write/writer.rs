//! The write port: [`Writer`] over HTTP.

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use machinery_objects::{
    Conflict, Deleted, Deletion, Fence, Object, ObjectKey, Patch, PatchFormat, Preconditions,
    ResourceVersion, Scope, SourceError, WriteError, Writer, WriterCapabilities, Written,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{body, fence, response, trace};
use crate::Remote;
use crate::call::CallError;
use crate::refusal::Refusal;
use crate::request::{ApiRequest, Target};

/// By default servers only warn of unknown fields, and the warning would be lost.
const STRICT: (&str, &str) = ("fieldValidation", "Strict");

/// Marks the response of a Machinery server to a write that changed nothing.
const UNCHANGED: HeaderName = HeaderName::from_static("machinery-unchanged");

/// The body of a successful response.
struct StoredBody {
    body: Bytes,
    /// Whether the write made the version in the body; `None` if the server does not tell.
    made: Option<bool>,
}

#[async_trait]
impl<O: Object + Serialize + DeserializeOwned> Writer<O> for Remote<O> {
    fn capabilities(&self) -> WriterCapabilities {
        let mut capabilities = WriterCapabilities::LEAST;
        capabilities.patches = true;
        capabilities.fences = self.caller.server.machinery;
        capabilities
    }

    async fn create(&self, object: &O, fence: Option<&Fence>) -> Result<Written<O>, WriteError> {
        let kind = &self.caller.kind;
        let mut object = body::object(kind, object)?;
        if !body::text(&object, "resourceVersion").is_empty() {
            return Err(body::at("metadata.resourceVersion", "an object to be created has none").into());
        }
        let target = Target::collection(kind, body::namespace(kind, &object)?)?;
        if !self.caller.server.machinery {
            trace::note(&mut object);
        }
        let request = self.strictly(target).into_request(Method::POST, encoded(&object))?;
        match self.write(request, fence).await? {
            Ok(stored) => response::written(&stored.body, None, Some(true)),
            // The namespace is absent.
            Err(refusal) if refusal.is_of_an_absent_object() => {
                Err(SourceError::Invalid { reason: refusal.message(), causes: Vec::new() }.into())
            }
            Err(refusal) => Err(refusal.write_error(fence)),
        }
    }

    async fn update(&self, object: &O, only_if: &Preconditions) -> Result<Written<O>, WriteError> {
        self.replace(object, only_if, false).await
    }

    async fn update_status(&self, object: &O, only_if: &Preconditions) -> Result<Written<O>, WriteError> {
        self.replace(object, only_if, true).await
    }

    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<O>, WriteError> {
        self.check_scope(key)?;
        let request =
            Target::object(&self.caller.kind, key)?.into_request(Method::DELETE, body::deletion(deletion))?;
        let only_if = &deletion.only_if;
        match self.write(request, only_if.fence.as_ref()).await? {
            Ok(stored) => response::deleted(&stored.body, key, only_if.uid.as_ref()),
            Err(refusal) => Err(refusal.write_error(only_if.fence.as_ref())),
        }
    }

    async fn patch(
        &self,
        key: &ObjectKey,
        patch: &Patch,
        only_if: &Preconditions,
    ) -> Result<Written<O>, WriteError> {
        self.check_scope(key)?;
        let (content_type, body) = body::patch(patch, only_if, self.caller.server.machinery)?;
        let mut target = Target::object(&self.caller.kind, key)?;
        if patch.status {
            target = target.below("status");
        }
        target = match &patch.format {
            // An apply has a field manager of its own, in place of that of the port.
            PatchFormat::Apply { manager, force } => {
                let force = if *force { "true" } else { "false" };
                target.with(STRICT.0, STRICT.1).with("fieldManager", manager).with("force", force)
            }
            _ => self.strictly(target),
        };
        let mut request = target.into_request(Method::PATCH, body)?;
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        match self.write(request, only_if.fence.as_ref()).await? {
            Ok(stored) => {
                let base = only_if.version.as_ref();
                response::written(&stored.body, base, stored.made)
            }
            // A patch that names another UID tries to change it, and a failed `test` operation does
            // not name its field.
            Err(refusal) if only_if.uid.is_some() && refusal.is_about("metadata.uid") => {
                Err(WriteError::Conflict(Conflict::Uid { found: None }))
            }
            Err(refusal)
                if only_if.uid.is_some()
                    && patch.format == PatchFormat::Json
                    && refusal.is_of_the_patch() =>
            {
                Err(WriteError::Conflict(Conflict::Unspecified { reason: refusal.message() }))
            }
            Err(refusal) => Err(refusal.write_error(only_if.fence.as_ref())),
        }
    }
}

impl<O: Object + Serialize + DeserializeOwned> Remote<O> {
    async fn replace(
        &self,
        object: &O,
        only_if: &Preconditions,
        status: bool,
    ) -> Result<Written<O>, WriteError> {
        let kind = &self.caller.kind;
        let mut object = body::object(kind, object)?;
        let namespace = body::namespace(kind, &object)?;
        let key = ObjectKey::new(namespace, body::text(&object, "name"))
            .map_err(|error| body::at("metadata.name", &error.to_string()))?;
        body::conditions(&mut object, only_if)?;
        let base = ResourceVersion::new(body::text(&object, "resourceVersion"));
        let mut target = Target::object(kind, &key)?;
        if status {
            target = target.below("status");
        }
        let request = self.strictly(target).into_request(Method::PUT, encoded(&object))?;
        match self.write(request, only_if.fence.as_ref()).await? {
            Ok(stored) => response::written(&stored.body, base.as_ref(), stored.made),
            Err(refusal) => Err(refusal.write_error(only_if.fence.as_ref())),
        }
    }

    fn strictly(&self, target: Target) -> Target {
        let target = target.with(STRICT.0, STRICT.1);
        match &self.caller.manager {
            Some(manager) => target.with("fieldManager", manager),
            None => target,
        }
    }

    async fn write(
        &self,
        mut request: ApiRequest,
        fence: Option<&Fence>,
    ) -> Result<Result<StoredBody, Refusal>, WriteError> {
        let is_machinery = self.caller.server.machinery;
        fence::put(&mut request, fence, is_machinery)?;
        trace::put(&mut request);
        let answered = self.caller.exchange(request).await.map_err(CallError::write_error)?;
        Ok(answered.map(|(headers, body)| {
            let made = match (is_machinery, headers.contains_key(UNCHANGED)) {
                (true, unchanged) => Some(!unchanged),
                // Others answer a write that changed nothing like one that did.
                (false, _) => None,
            };
            StoredBody { body, made }
        }))
    }

    /// Refuses a key with a namespace that does not fit the kind's scope, as not found.
    fn check_scope(&self, key: &ObjectKey) -> Result<(), WriteError> {
        let namespaced = self.caller.kind.scope() == Scope::Namespaced;
        let fits = !key.is_unnamed() && key.namespace().is_some() == namespaced;
        if fits { Ok(()) } else { Err(WriteError::NotFound) }
    }
}

fn encoded(object: &serde_json::Map<String, serde_json::Value>) -> Vec<u8> {
    serde_json::to_vec(object).expect("a value can be encoded")
}
