//! Rendered documents with their ETag.

use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A rendered document with its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// JSON, unless the document has another format.
    pub(crate) json: Bytes,
    /// Changes with the document; upper case hexadecimal.
    pub(crate) hash: String,
}

impl Page {
    pub(crate) fn render(document: &Value) -> Self {
        Self::of(document.to_string().into_bytes())
    }

    /// Creates a page of these bytes.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02X}")).collect();
        Self { json: bytes.into(), hash }
    }

    /// The value of the `ETag` header.
    pub(crate) fn etag(&self) -> String {
        format!("\"{}\"", self.hash)
    }

    /// Returns whether `If-None-Match` matches, so that the response is 304.
    pub(crate) fn is_known(&self, if_none_match: Option<&str>) -> bool {
        let etag = self.etag();
        let named = |tag: &str| tag == "*" || tag.trim_start_matches("W/") == etag;
        if_none_match.is_some_and(|header| header.split(',').any(|tag| named(tag.trim())))
    }
}
