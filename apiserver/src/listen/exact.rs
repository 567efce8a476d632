//! Requests that two readers could read as two different ones. HTTP/2 has no such forms.

use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, Request, Version};

use crate::refusal::Refusal;

/// A request over HTTP/1.1 names its host once, and says in one way how long it is.
///
/// # Errors
/// 400: it does not.
pub(super) fn exact<B>(request: &Request<B>) -> Result<(), Refusal> {
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
