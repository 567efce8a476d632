//! Objects in the response format that the client accepts.

use http::Response;
use http::header::{ACCEPT, USER_AGENT};
use machinery_objects::Revision;
use machinery_store::{Entry, Value as Bytes};
use serde_json::Value;

use super::VerbRequest;
use crate::accept::{EndpointKind, Media, ProtobufSupport, Representation, ResponseFormat, negotiate};
use crate::http::{Body, answer};
use crate::kind::Kind;
use crate::refusal::Refusal;
use crate::storage::{Stored, encode, head};
use crate::table::{Include, Tables, partial, partial_list};

/// A stored object and its revision.
pub(crate) struct StoredObject {
    pub(crate) bytes: Bytes,
    pub(crate) revision: Revision,
}

/// The response format.
pub(super) struct Output {
    pub(super) form: ResponseFormat,
    pub(super) include: Include,
}

impl Output {
    pub(super) fn of(request: &VerbRequest<'_>, place: EndpointKind) -> Result<Self, Refusal> {
        let messages =
            if request.kind.has_messages() { ProtobufSupport::All } else { ProtobufSupport::Metadata };
        let mut form = negotiate(request.wire.header(ACCEPT), place, messages)?;
        form.pretty |= request.wire.query.pretty(request.wire.header(USER_AGENT));
        let include = Include::parse(request.wire.query.first("includeObject").unwrap_or_default())?;
        Ok(Self { form, include })
    }

    /// Returns whether the stored bytes are the response.
    pub(super) fn is_plain(&self) -> bool {
        self.form.media == Media::Json && self.form.shape == Representation::Whole && !self.form.pretty
    }

    /// Responds with one object.
    pub(super) fn object(
        &self,
        code: u16,
        request: &VerbRequest<'_>,
        object: Value,
    ) -> Result<Response<Body>, Refusal> {
        Ok(answer::value(code, self.form, &self.shaped(request, object)?))
    }

    /// Responds with one stored entry.
    pub(super) fn entry(
        &self,
        code: u16,
        request: &VerbRequest<'_>,
        entry: &Entry,
    ) -> Result<Response<Body>, Refusal> {
        if self.is_plain() {
            let mut bytes = Vec::new();
            write(request.kind, entry, entry.modified, &mut bytes)?;
            return Ok(self.plain(code, bytes));
        }
        self.object(code, request, read(request.kind, entry, entry.modified)?)
    }

    /// Responds with a written object, by its stored bytes if possible.
    pub(super) fn written(
        &self,
        code: u16,
        request: &VerbRequest<'_>,
        object: Value,
        put: Option<StoredObject>,
    ) -> Result<Response<Body>, Refusal> {
        if let Some(StoredObject { bytes, revision }) = put
            && self.is_plain()
            && request.kind.stored.is_none()
            && let Ok(stored) = Stored::of(&bytes)
        {
            let mut bytes = Vec::new();
            stored.write(revision, &mut bytes);
            return Ok(self.plain(code, bytes));
        }
        self.object(code, request, object)
    }

    fn plain(&self, code: u16, mut object: Vec<u8>) -> Response<Body> {
        object.push(b'\n');
        answer::bytes(code, self.form.content_type(), Body::whole(object))
    }

    /// Converts an object or list to the requested representation.
    pub(super) fn shaped(&self, request: &VerbRequest<'_>, object: Value) -> Result<Value, Refusal> {
        match self.form.shape {
            Representation::Whole | Representation::Discovery(_) => Ok(object),
            Representation::Table(version) => {
                let (include, now) = (self.include, request.shared.environment.now());
                let (columns, secret_fields) = (&request.kind.columns, request.kind.secret_fields());
                Ok(Tables { columns, secret_fields, version, include, now }.table(object))
            }
            Representation::Metadata(version) => partial(object, version),
            Representation::MetadataList(version) => partial_list(object, version),
        }
    }
}

/// Appends an entry in the current version of its kind: the stored bytes, if its schema has not
/// changed since the write.
pub(crate) fn write(
    kind: &Kind,
    entry: &Entry,
    revision: Revision,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let stored = stored(entry)?;
    if stored.print == kind.print && kind.stored.is_none() {
        stored.write(revision, out);
    } else {
        serde_json::to_writer(out, &read(kind, entry, revision)?).expect("a value is JSON");
    }
    Ok(())
}

/// Returns the fields that list items omit: `apiVersion` and `kind` of built-in kinds.
pub(super) fn omitted_head(kind: &Kind) -> String {
    if kind.built_in { head(&kind.api_version, &kind.names.kind) } else { String::new() }
}

/// Appends an entry as a list item.
pub(super) fn write_item(
    kind: &Kind,
    omitted_head: &str,
    entry: &Entry,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let stored = stored(entry)?;
    if stored.print == kind.print && kind.stored.is_none() {
        stored.write_without(omitted_head, entry.modified, out);
    } else {
        serde_json::to_writer(out, &item(kind, read(kind, entry, entry.modified)?)).expect("a value is JSON");
    }
    Ok(())
}

/// Returns an object as a list item.
pub(super) fn item(kind: &Kind, mut object: Value) -> Value {
    if let Some(object) = object.as_object_mut().filter(|_| kind.built_in) {
        object.remove("apiVersion");
        object.remove("kind");
    }
    object
}

/// Reads an entry in the current version of its kind.
pub(crate) fn read(kind: &Kind, entry: &Entry, revision: Revision) -> Result<Value, Refusal> {
    let stored = stored(entry)?;
    let mut object = stored.read(revision).map_err(|error| unreadable(entry, &error))?;
    if stored.print != kind.storage_version().print {
        kind.storage_version().reshape(&mut object);
    }
    if kind.stored.is_some() {
        kind.convert(&mut object);
        kind.hooks.default(&mut object);
    }
    Ok(object)
}

/// Encodes an object in the stored version.
pub(crate) fn stored_bytes(kind: &Kind, object: &Value) -> Bytes {
    let shaped = "it has the shape of an object";
    match &kind.stored {
        None => encode(object.as_object().expect(shaped), kind.print).into(),
        Some(stored) => {
            let mut object = object.clone();
            stored.reshape(&mut object);
            encode(object.as_object().expect(shaped), stored.print).into()
        }
    }
}

fn stored(entry: &Entry) -> Result<Stored<'_>, Refusal> {
    Stored::of(&entry.value).map_err(|error| unreadable(entry, &error))
}

fn unreadable(entry: &Entry, error: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(500, "InternalError", format!("{:?} cannot be read: {error}", entry.key))
}
