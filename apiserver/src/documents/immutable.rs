//! Caching of OpenAPI documents that are requested by the hash of their content.

use http::Response;
use http::header::{CACHE_CONTROL, EXPIRES, LOCATION, VARY};
use jiff::{SignedDuration, Timestamp};

use crate::discovery::Page;
use crate::http::{Body, answer};
use crate::openapi::hashed_url;

/// The content under a hash never changes; a year is the longest time that caches respect.
const YEAR: SignedDuration = SignedDuration::from_hours(365 * 24);

/// Completes the response with the document at a path, requested at this time. With the document's
/// own hash it may be cached forever; an older hash is redirected to the current one.
pub(super) fn answered(
    response: Response<Body>,
    hash: Option<&str>,
    page: &Page,
    (path, now): (&str, Timestamp),
) -> Response<Body> {
    let response = answer::with(response, VARY, "Accept");
    match hash.filter(|hash| !hash.is_empty()) {
        None => response,
        Some(hash) if hash == page.hash => {
            let response = answer::with(response, CACHE_CONTROL, "public, immutable");
            answer::with(response, EXPIRES, &http_date(now + YEAR))
        }
        Some(_) => {
            let (mut head, _) = response.into_parts();
            head.status = http::StatusCode::MOVED_PERMANENTLY;
            answer::with(Response::from_parts(head, Body::whole("")), LOCATION, &hashed_url(path, page))
        }
    }
}

/// Returns a time in the format of HTTP headers.
fn http_date(time: Timestamp) -> String {
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_headers_are_in_gmt() {
        let time: Timestamp = "2026-11-05T07:08:09.5Z".parse().unwrap();
        assert_eq!(http_date(time), "Thu, 05 Nov 2026 07:08:09 GMT");
    }
}
