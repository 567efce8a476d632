//! The response headers of Kubernetes' flow control.

use http::{HeaderValue, Response};

use super::PriorityLevel;

/// The UIDs of the flow schema and of the priority level.
const NAMES: [&str; 2] = ["x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"];

/// Adds the headers to the response of a request that has a priority level.
pub(crate) fn with_level_headers<B>(mut response: Response<B>, level: Option<PriorityLevel>) -> Response<B> {
    if let Some(level) = level {
        for (name, uid) in NAMES.into_iter().zip(level.uids()) {
            response.headers_mut().insert(name, HeaderValue::from_static(uid));
        }
    }
    response
}
