//! Rejects ambiguous HTTP/1.1 requests, as used for request smuggling. HTTP/2 has no such forms.

use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, Request, Version};

use crate::refusal::Refusal;

/// Requires exactly one `Host` header, and only one way to specify the length.
///
/// # Errors
/// 400 for an ambiguous request.
pub(super) fn reject_ambiguous<B>(request: &Request<B>) -> Result<(), Refusal> {
    let headers = request.headers();
    if request.version() == Version::HTTP_11 && count(headers, &HOST) != 1 {
        return Err(Refusal::bad_request("the request must have one header Host"));
    }
    if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
        let message = "the request must not have both Content-Length and Transfer-Encoding";
        return Err(Refusal::bad_request(message));
    }
    Ok(())
}

fn count(headers: &HeaderMap, name: &http::HeaderName) -> usize {
    headers.get_all(name).iter().count()
}
