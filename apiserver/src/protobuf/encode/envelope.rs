//! Encodes the envelope of protobuf bodies and of watch frames.

use std::convert::Infallible;

use serde_json::{Map, Value};

use super::WrongType;
use super::message;
use super::wire::{write_bytes, write_message};
use crate::builtin::{Type, table};
use crate::protobuf::envelope::MAGIC;
use crate::refusal::Refusal;

/// The body of an object of a built-in kind, byte for byte as Go writes it. Fields that its type
/// does not have are not in it.
pub(crate) fn encode(object: &Value) -> Result<Vec<u8>, Refusal> {
    let said = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (said("apiVersion"), said("kind"));
    let (Some(of), Some(fields)) = (type_of(api_version, kind), object.as_object()) else {
        return Err(no_messages(api_version, kind));
    };
    seal(of, api_version, kind, fields).map_err(|wrong| cannot_be_encoded(api_version, kind, &wrong))
}

/// Returns the type of a response. Metadata has one, in both of its versions.
pub(super) fn type_of(api_version: &str, kind: &str) -> Option<&'static Type> {
    let api_version = if api_version == "meta.k8s.io/v1beta1" { "meta.k8s.io/v1" } else { api_version };
    table().kind_of(api_version, kind)
}

pub(super) fn no_messages(api_version: &str, kind: &str) -> Refusal {
    let message = format!(
        "object {kind} in version {api_version:?} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
    );
    Refusal::new(406, "NotAcceptable", message)
}

pub(super) fn cannot_be_encoded(api_version: &str, kind: &str, WrongType { field }: &WrongType) -> Refusal {
    let message = format!("{kind} in version {api_version:?} cannot be encoded: {field} is of another type");
    Refusal::new(500, "InternalError", message)
}

/// Returns a frame of a watch stream: four bytes of length, then the event, whose object is an
/// envelope of its own.
pub(crate) fn watch_frame(event: &str, object: &Value) -> Result<Vec<u8>, Refusal> {
    let body = encode(object)?;
    let mut frame = vec![0; 4];
    write_bytes(&mut frame, 1, event.as_bytes());
    write_message(&mut frame, 2, |out| {
        write_bytes(out, 1, &body);
        Ok::<_, Refusal>(())
    })?;
    let Ok(length) = u32::try_from(frame.len() - 4) else {
        return Err(Refusal::new(
            500,
            "InternalError",
            "an event of a watch is longer than its length can say",
        ));
    };
    frame[..4].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}

fn seal(of: &Type, api_version: &str, kind: &str, object: &Map<String, Value>) -> Result<Vec<u8>, WrongType> {
    let mut body = begun(api_version, kind);
    write_message(&mut body, 2, |out| message(out, of, object))?;
    body.extend_from_slice(END);
    Ok(body)
}

/// Returns the bytes before the object.
pub(super) fn begun(api_version: &str, kind: &str) -> Vec<u8> {
    let mut body = MAGIC.to_vec();
    let Ok(()) = write_message::<Infallible>(&mut body, 1, |out| {
        write_bytes(out, 1, api_version.as_bytes());
        write_bytes(out, 2, kind.as_bytes());
        Ok(())
    });
    body
}

/// The end of the envelope: empty content encoding and content type, which Go writes too.
pub(super) const END: &[u8] = b"\x1a\0\x22\0";
