//! The envelope, written.

use serde_json::{Map, Value};

use super::WrongType;
use super::message;
use super::wire::{write_bytes, write_message};
use crate::builtin::{Type, table};
use crate::protobuf::envelope::MAGIC;
use crate::refusal::Refusal;

/// The body of an object of a built-in kind, byte for byte as Go writes it. Fields that its type does not have are not in it.
pub(crate) fn encode(object: &Value) -> Result<Vec<u8>, Refusal> {
    let said = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (said("apiVersion"), said("kind"));
    let (Some(of), Some(fields)) = (table().kind_of(api_version, kind), object.as_object()) else {
        let message = format!(
            "object {kind} in version {api_version:?} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
        );
        return Err(Refusal::new(406, "NotAcceptable", message));
    };
    seal(of, api_version, kind, fields).map_err(|WrongType { field }| {
        let message =
            format!("{kind} in version {api_version:?} cannot be encoded: {field} is of another type");
        Refusal::new(500, "InternalError", message)
    })
}

/// An event of a watch as its stream has it: four bytes of length, then the event, whose object is a body of its own.
#[cfg(test)]
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
    let mut body = MAGIC.to_vec();
    write_message(&mut body, 1, |out| {
        write_bytes(out, 1, api_version.as_bytes());
        write_bytes(out, 2, kind.as_bytes());
        Ok(())
    })?;
    write_message(&mut body, 2, |out| message(out, of, object))?;
    // Of its content's encoding and type nothing is said, which Go writes too.
    write_bytes(&mut body, 3, b"");
    write_bytes(&mut body, 4, b"");
    Ok(body)
}
