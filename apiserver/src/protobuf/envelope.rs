//! Decodes the envelope of protobuf bodies: the magic prefix `k8s\0`, then a `runtime.Unknown` with
//! the kind and the encoded object.

use serde_json::{Map, Value};

use super::decode::Decoder;
use super::special::text;
use super::wire::{Malformed, WireReader};
use crate::builtin::table;
use crate::refusal::Refusal;
use crate::request::cannot_be_handled;

/// The magic prefix of every body.
pub(super) const MAGIC: [u8; 4] = *b"k8s\0";

/// The group, version and kind that the path implies, for a body without them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedType<'a> {
    /// `v1`, `apps/v1`.
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
}

/// The object in a body, as the JSON that Go would make of it, with apiVersion and kind. It may be
/// of another kind than expected.
pub(crate) fn decode(body: &[u8], expected: ExpectedType<'_>) -> Result<Value, Refusal> {
    let sealed = Sealed::parse(body).map_err(|why| unrecognized(expected, &why, body))?;
    let sealed = sealed.or(expected);
    sealed.open(0).map_err(|why| cannot_be_handled(&sealed.kind, sealed.version(), expected.kind, &why.0))
}

/// The object in a body that stands inside another one.
pub(super) fn open(body: &[u8], depth: usize) -> Result<Value, Malformed> {
    Sealed::parse(body)?.open(depth)
}

/// A body with its envelope decoded, and its object still encoded.
struct Sealed<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

impl<'a> Sealed<'a> {
    fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        if body.is_empty() {
            return Err("empty data".into());
        }
        let message = body.strip_prefix(&MAGIC).ok_or_else(|| {
            format!(
                "provided data does not appear to be a protobuf message, expected prefix {}",
                listed(&MAGIC)
            )
        })?;
        if message.is_empty() {
            return Err("empty body".into());
        }
        let mut sealed = Self { api_version: String::new(), kind: String::new(), raw: &[] };
        let mut reader = WireReader::new("Unknown", message);
        // Kubernetes also ignores the content type and encoding.
        while let Some((number, payload)) = reader.next()? {
            match number {
                1 => sealed.type_meta(payload.bytes("typeMeta")?)?,
                2 => sealed.raw = payload.bytes("raw")?,
                3 | 4 => {
                    payload.bytes("content")?;
                }
                _ => {}
            }
        }
        Ok(sealed)
    }

    fn type_meta(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let mut reader = WireReader::new("TypeMeta", message);
        while let Some((number, payload)) = reader.next()? {
            match number {
                1 => self.api_version = text(payload.bytes("apiVersion")?),
                2 => self.kind = text(payload.bytes("kind")?),
                _ => {}
            }
        }
        Ok(())
    }

    /// Fills in missing fields from the expectation.
    fn or(mut self, expected: ExpectedType<'_>) -> Self {
        if self.kind.is_empty() {
            expected.kind.clone_into(&mut self.kind);
        }
        if self.version().is_empty() {
            expected.api_version.clone_into(&mut self.api_version);
        }
        self
    }

    /// Empty where the API version is not one.
    fn version(&self) -> &str {
        match self.api_version.split_once('/') {
            None => &self.api_version,
            Some((_, version)) if !version.contains('/') => version,
            Some(_) => "",
        }
    }

    fn open(&self, depth: usize) -> Result<Value, Malformed> {
        let Self { api_version, kind, raw } = self;
        let of = table().kind_of(api_version, kind).ok_or_else(|| {
            format!(
                "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\""
            )
        })?;
        let mut object = Map::new();
        Decoder::new().message(of, raw, &mut object, depth)?;
        object.insert("apiVersion".into(), api_version.as_str().into());
        object.insert("kind".into(), kind.as_str().into());
        Ok(Value::Object(object))
    }
}

fn unrecognized(expected: ExpectedType<'_>, why: &Malformed, body: &[u8]) -> Refusal {
    const SHOWN: usize = 30;
    let start: String = body.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    let shown = match body.len() {
        0 => "<empty>".to_owned(),
        length if length > SHOWN => format!("{start} ..."),
        _ => start,
    };
    let kind = expected.kind;
    Refusal::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({shown})"
    ))
}

/// Formats bytes as Go prints them.
fn listed(bytes: &[u8]) -> String {
    let listed: Vec<String> = bytes.iter().map(u8::to_string).collect();
    format!("[{}]", listed.join(" "))
}
