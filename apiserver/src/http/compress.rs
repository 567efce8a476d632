//! Compression of long responses.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderValue, VARY};
use http::{HeaderMap, Response};

use super::Body;
use super::body::BodyKind;

/// Responses longer than this are compressed.
const LONG: usize = 128 << 10;
/// Bytes to compress before yielding to other tasks.
const PART: usize = 64 << 10;

/// Returns whether the client accepts gzip. As in Kubernetes, without a quality value only.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let said = headers.get(ACCEPT_ENCODING).and_then(|said| said.to_str().ok()).unwrap_or_default();
    said.split(',').any(|encoding| encoding.trim() == "gzip")
}

/// Compresses a response if it is a long document. Streamed documents are compressed incrementally
/// and never buffered as a whole; watch streams are not compressed.
pub(super) async fn compressed(response: Response<Body>) -> Response<Body> {
    let (mut head, mut body) = response.into_parts();
    let long = match std::mem::replace(&mut body.kind, BodyKind::Whole(None)) {
        BodyKind::Whole(Some(bytes)) if bytes.len() > LONG => whole(bytes).boxed(),
        BodyKind::Parts(parts) => match begin(parts).await {
            Ok(long) => long,
            Err(short) => {
                return Response::from_parts(head, body.made_of(BodyKind::Whole(Some(short.into()))));
            }
        },
        kind => return Response::from_parts(head, body.made_of(kind)),
    };
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    Response::from_parts(head, body.made_of(BodyKind::Parts(gzip(long).boxed())))
}

fn whole(bytes: Bytes) -> impl Stream<Item = Bytes> + Send + 'static {
    stream::iter((0..bytes.len()).step_by(PART)).map(move |at| bytes.slice(at..bytes.len().min(at + PART)))
}

/// Returns the document if it is long; as an error, all of its bytes if it is short.
async fn begin(mut parts: BoxStream<'static, Bytes>) -> Result<BoxStream<'static, Bytes>, Vec<u8>> {
    let mut begin = Vec::new();
    while begin.len() <= LONG {
        match parts.next().await {
            Some(part) => begin.extend_from_slice(&part),
            None => return Err(begin),
        }
    }
    Ok(whole(begin.into()).chain(parts).boxed())
}

fn gzip(parts: BoxStream<'static, Bytes>) -> impl Stream<Item = Bytes> + Send + 'static {
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    stream::unfold((parts, Some(encoder)), |(mut parts, encoder)| async move {
        let mut encoder = encoder?;
        while let Some(part) = parts.next().await {
            encoder.write_all(&part).expect("a vector takes all");
            let made = std::mem::take(encoder.get_mut());
            tokio::task::yield_now().await;
            if !made.is_empty() {
                return Some((made.into(), (parts, Some(encoder))));
            }
        }
        Some((encoder.finish().expect("a vector takes all").into(), (parts, None)))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use http_body_util::BodyExt;

    use super::*;

    fn accepts(said: &str, expected: bool) {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_str(said).unwrap())]);
        assert_eq!(accepts_gzip(&headers), expected, "{said}");
    }

    #[test]
    fn gzip_is_accepted_without_quality_only() {
        accepts("gzip", true);
        accepts("br , gzip,deflate", true);
        accepts("gzip;q=0", false);
        accepts("*", false);
        accepts("", false);
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    /// Checks that the decoded bytes equal the sent ones.
    fn check(body: Body, bytes: &[u8], is_compressed: bool) {
        let (head, body) = futures::executor::block_on(compressed(Response::new(body))).into_parts();
        let sent = futures::executor::block_on(body.collect()).unwrap().to_bytes();
        assert_eq!(head.headers.contains_key(CONTENT_ENCODING), is_compressed);
        assert_eq!(head.headers.contains_key(VARY), is_compressed);
        if !is_compressed {
            return assert!(*sent == *bytes);
        }
        assert!(sent.len() < bytes.len() * 3 / 4, "{} of {}", sent.len(), bytes.len());
        let mut read = Vec::new();
        GzDecoder::new(&*sent).read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }

    fn text(length: usize) -> Bytes {
        (0_u32..).flat_map(|number| number.to_string().into_bytes()).take(length).collect()
    }

    #[test]
    fn long_documents_are_compressed() {
        let parts = |length, size| {
            let text = text(length);
            let chunks = text.chunks(size).map(Bytes::copy_from_slice).collect::<Vec<_>>();
            stream::iter(chunks)
        };
        for (length, is_long) in [(0, false), (10, false), (LONG, false), (LONG + 1, true), (3 << 20, true)] {
            check(Body::whole(text(length)), &text(length), is_long);
            check(Body::parts(parts(length, 60_000)), &text(length), is_long);
        }
        check(Body::parts(parts(3 << 20, 1 << 20)), &text(3 << 20), true);
        check(Body::frames(parts(3 << 20, 1 << 20)), &text(3 << 20), false);
    }

    /// A compressed list of a million objects takes no more memory than an uncompressed one.
    #[test]
    fn a_long_document_is_compressed_incrementally() {
        let made = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = made.clone();
        let parts = stream::repeat_with(move || {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            text(PART)
        });
        let mut body = futures::executor::block_on(compressed(Response::new(Body::parts(parts)))).into_body();
        assert_eq!(made.load(std::sync::atomic::Ordering::Relaxed), 3);
        assert!(futures::executor::block_on(body.frame()).is_some());
        assert!(made.load(std::sync::atomic::Ordering::Relaxed) < 8);
    }
}
