//! Messages: the common header, and the types that a client sends and receives.

use super::OpenFlowError;
use super::error_codes::SwitchRefusal;
use super::wire::{WireReader, set_length};

/// Version number of OpenFlow 1.5.
pub(super) const VERSION: u8 = 6;
/// Length of the header of a message.
pub(super) const HEADER: usize = 8;
/// Maximum length of a message: its length field has 16 bits.
pub(super) const MAX_MESSAGE: usize = u16::MAX as usize;

/// The message types.
pub(super) mod kind {
    pub(crate) const HELLO: u8 = 0;
    pub(crate) const ERROR: u8 = 1;
    pub(crate) const ECHO_REQUEST: u8 = 2;
    pub(crate) const ECHO_REPLY: u8 = 3;
    pub(crate) const PORT_STATUS: u8 = 12;
    pub(crate) const FLOW_MOD: u8 = 14;
    pub(crate) const MULTIPART_REQUEST: u8 = 18;
    pub(crate) const MULTIPART_REPLY: u8 = 19;
    pub(crate) const BARRIER_REQUEST: u8 = 20;
    pub(crate) const BARRIER_REPLY: u8 = 21;
    pub(crate) const SET_ASYNC: u8 = 28;
    pub(crate) const BUNDLE_CONTROL: u8 = 33;
    pub(crate) const BUNDLE_ADD: u8 = 34;
}

/// The kinds of multipart messages.
pub(super) mod multipart {
    pub(crate) const FLOW_DESC: u16 = 1;
    pub(crate) const PORT_DESC: u16 = 13;
    pub(crate) const FLOW_MONITOR: u16 = 16;
}

/// The kinds of bundle control messages.
pub(super) mod bundle {
    pub(crate) const OPEN: u16 = 0;
    pub(crate) const COMMIT: u16 = 4;
    pub(crate) const DISCARD: u16 = 6;
}

/// The highest kind of bundle control is this one's reply.
const DISCARD_REPLY: u16 = bundle::DISCARD + 1;

/// A message from the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Transaction identifier: that of the request, in a response.
    pub(super) xid: u32,
    pub(super) body: Body,
}

/// The body of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Greeting, and whether it offers OpenFlow 1.5.
    Hello(bool),
    Refusal(SwitchRefusal),
    EchoRequest(Vec<u8>),
    EchoReply,
    PortStatus,
    Multipart {
        kind: u16,
        /// Whether another part follows.
        has_more: bool,
        bytes: Vec<u8>,
    },
    BarrierReply,
    /// Reply to a bundle control message of the kind.
    Bundle(u16),
    /// A message that the client ignores.
    Other(u8),
}

impl Message {
    /// Returns the length of the first message of a stream, or `None` if its header is incomplete.
    ///
    /// # Errors
    /// The length is shorter than a header, or the message of another version.
    pub(super) fn length(bytes: &[u8]) -> Result<Option<usize>, OpenFlowError> {
        let Some([version, kind, high, low]) = bytes.first_chunk() else { return Ok(None) };
        // Checked first, as a wrong length would be awaited in vain.
        check_version(*version, *kind)?;
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length < HEADER {
            let reason = format!("its length is {length}, less than that of a header");
            return Err(OpenFlowError::Malformed { message: "a message", reason });
        }
        Ok(Some(length))
    }

    /// Decodes a message of a whole number of bytes.
    ///
    /// # Errors
    /// The message is malformed, or of another version.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, OpenFlowError> {
        let mut reader = WireReader::new("a message", bytes);
        let (version, kind, _length, xid) = (reader.u8()?, reader.u8()?, reader.u16()?, reader.u32()?);
        check_version(version, kind)?;
        let body = match kind {
            kind::HELLO => Body::Hello(offers_version(version, reader)?),
            kind::ERROR => Body::Refusal(SwitchRefusal { kind: reader.u16()?, code: reader.u16()? }),
            kind::ECHO_REQUEST => Body::EchoRequest(reader.rest().to_vec()),
            kind::ECHO_REPLY => Body::EchoReply,
            kind::PORT_STATUS => Body::PortStatus,
            kind::MULTIPART_REPLY => {
                let (kind, flags, _pad) = (reader.u16()?, reader.u16()?, reader.u32()?);
                Body::Multipart { kind, has_more: flags & 1 != 0, bytes: reader.rest().to_vec() }
            }
            kind::BARRIER_REPLY => Body::BarrierReply,
            kind::BUNDLE_CONTROL => {
                let (_id, reply) = (reader.u32()?, reader.u16()?);
                match reply.checked_sub(1) {
                    Some(kind) if kind % 2 == 0 && reply <= DISCARD_REPLY => Body::Bundle(kind),
                    _ => return Err(reader.fault(format!("the kind of bundle control is {reply}"))),
                }
            }
            other => Body::Other(other),
        };
        Ok(Self { xid, body })
    }
}

/// Before versions are negotiated, a switch may send a greeting or an error in its own.
fn check_version(version: u8, kind: u8) -> Result<(), OpenFlowError> {
    if version == VERSION || kind == kind::HELLO || kind == kind::ERROR {
        return Ok(());
    }
    let reason = format!("its version is {version} instead of {VERSION}");
    Err(OpenFlowError::Malformed { message: "a message", reason })
}

/// Returns whether a greeting offers OpenFlow 1.5: by its version bitmap, or else its own version.
fn offers_version(version: u8, mut reader: WireReader<'_>) -> Result<bool, OpenFlowError> {
    while !reader.is_empty() {
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let mut element = reader.nested(length, 4)?;
        if kind == 1 {
            return Ok(element.u32()? & (1 << VERSION) != 0);
        }
        if !reader.is_empty() {
            reader.skip_padding(length)?;
        }
    }
    Ok(version >= VERSION)
}

/// Appends a message whose body is written by a function.
pub(super) fn put_message(out: &mut Vec<u8>, kind: u8, xid: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([VERSION, kind, 0, 0]);
    out.extend(xid.to_be_bytes());
    body(out);
    set_length(out, start, 2);
}

/// Appends a greeting that offers OpenFlow 1.5 only.
pub(super) fn put_hello(out: &mut Vec<u8>, xid: u32) {
    put_message(out, kind::HELLO, xid, |out| out.extend([0, 1, 0, 8, 0, 0, 0, 1 << VERSION]));
}

/// Appends the request for port status messages, which a management socket does not send otherwise.
pub(super) fn put_port_status_request(out: &mut Vec<u8>, xid: u32) {
    const PORT_STATUS: u8 = 3;
    const ADDED_DELETED_MODIFIED: u8 = 7;
    put_message(out, kind::SET_ASYNC, xid, |out| {
        out.extend([0, PORT_STATUS, 0, 8, 0, 0, 0, ADDED_DELETED_MODIFIED]);
    });
}

/// Appends a multipart request.
pub(super) fn put_multipart(out: &mut Vec<u8>, kind: u16, xid: u32, body: &[u8]) {
    put_message(out, kind::MULTIPART_REQUEST, xid, |out| {
        out.extend(kind.to_be_bytes());
        out.extend([0; 6]);
        out.extend(body);
    });
}

/// Identifier of the bundles: a connection has one at a time.
const BUNDLE: [u8; 4] = [0, 0, 0, 1];
/// Atomic and ordered.
const BUNDLE_FLAGS: [u8; 2] = [0, 3];

/// Appends a bundle control message.
pub(super) fn put_bundle_control(out: &mut Vec<u8>, control: u16, xid: u32) {
    put_message(out, kind::BUNDLE_CONTROL, xid, |out| {
        out.extend(BUNDLE);
        out.extend(control.to_be_bytes());
        out.extend(BUNDLE_FLAGS);
    });
}

/// Appends a message, written by a function, to the open bundle.
pub(super) fn put_bundle_add(out: &mut Vec<u8>, xid: u32, message: impl FnOnce(&mut Vec<u8>)) {
    put_message(out, kind::BUNDLE_ADD, xid, |out| {
        out.extend(BUNDLE);
        out.extend([0; 2]);
        out.extend(BUNDLE_FLAGS);
        message(out);
    });
}
