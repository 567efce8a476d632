//! Errors of a session.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::OpenFlowError;
use super::message::Body;

/// Returns the error of a failed attempt to connect.
pub(super) fn unreachable(path: &Path, error: &io::Error) -> OpenFlowError {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{} does not exist: is ovs-vswitchd running, and has it this bridge?", path.display())
        }
        _ => format!("{}: {error}", path.display()),
    };
    OpenFlowError::Unavailable { reason }
}

/// Returns the error of a broken connection.
pub(super) fn broken(error: &io::Error) -> OpenFlowError {
    let reason = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the switch closed the connection".into(),
        _ => error.to_string(),
    };
    OpenFlowError::Unavailable { reason }
}

/// Returns the error of a missing response.
pub(super) fn silent(request: &'static str, limit: Duration) -> OpenFlowError {
    OpenFlowError::Silent { request, milliseconds: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) }
}

/// Returns the error for a message that no request awaits.
pub(super) fn unexpected(body: &Body) -> OpenFlowError {
    let name = match body {
        Body::Hello(_) => "a second greeting",
        Body::Refusal(_) => "an error",
        Body::Multipart { .. } => "a part of a response",
        Body::Bundle(_) => "a bundle control message",
        _ => "a message",
    };
    OpenFlowError::Malformed { message: name, reason: "no request awaits it".into() }
}

/// Returns the error of a switch that sends echo requests and reads nothing.
pub(super) const fn unread(limit: usize) -> OpenFlowError {
    OpenFlowError::TooLarge {
        subject: "the data that the switch does not read",
        limit,
        remedy: "restart ovs-vswitchd",
    }
}
