//! The `traceparent` of W3C Trace Context.

use std::fmt;
use std::str::FromStr;

use super::{SpanId, TraceId};

/// The span that caused an operation: the `traceparent` of [W3C Trace
/// Context](https://www.w3.org/TR/trace-context/).
///
/// ```
/// use machinery_objects::Traceparent;
///
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let caused_by: Traceparent = text.parse().unwrap();
/// assert_eq!(caused_by.to_string(), text);
/// assert!(caused_by.is_sampled());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Traceparent {
    trace: TraceId,
    span: SpanId,
    flags: u8,
}

/// A text that is not a [`Traceparent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "at byte {at} this is no traceparent: write 00, 32 digits of the trace, 16 of the span and 2 of flags, all hexadecimal in lower case, \
     with a hyphen between them, and neither the trace nor the span all zero"
)]
pub struct TraceparentError {
    /// The position of the error, in bytes.
    pub at: usize,
}

/// Flag: the trace is recorded.
const SAMPLED: u8 = 1;
/// Flag: the trace id is random, so parts of it may be used for sampling.
const RANDOM: u8 = 2;

impl Traceparent {
    /// The annotation that holds the trace of an object's last change.
    pub const ANNOTATION: &str = "machinery.dev/traceparent";
    /// The request header that holds the span of the client.
    pub const HEADER: &str = "traceparent";

    /// Creates the root span of a new, sampled trace.
    #[must_use]
    pub const fn root(trace: TraceId, span: SpanId) -> Self {
        Self { trace, span, flags: SAMPLED | RANDOM }
    }

    /// Returns another span of the same trace.
    #[must_use]
    pub const fn child(self, span: SpanId) -> Self {
        Self { span, ..self }
    }

    /// Returns the trace id.
    #[must_use]
    pub const fn trace(self) -> TraceId {
        self.trace
    }

    /// Returns the span id.
    #[must_use]
    pub const fn span(self) -> SpanId {
        self.span
    }

    /// Returns whether the trace is sampled.
    #[must_use]
    pub const fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The length of its text, in bytes.
    pub const LENGTH: usize = 55;

    /// Parses an annotation or a header; `None` if it is invalid.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl FromStr for Traceparent {
    type Err = TraceparentError;

    /// Of an unknown later version, parses the fields that all versions share, and ignores the
    /// rest.
    fn from_str(text: &str) -> Result<Self, TraceparentError> {
        let bytes = text.as_bytes();
        let version = digits(bytes, 0, 2)?;
        let (trace, span, flags) = (digits(bytes, 3, 32)?, digits(bytes, 36, 16)?, digits(bytes, 53, 2)?);
        let refused = |at| Err(TraceparentError { at });
        // Reserved by the specification.
        if version == 0xff {
            return refused(0);
        }
        // In bounds, because the last digits were read at 53 and 54.
        if let Some(at) = [2, 35, 52].into_iter().find(|&at| bytes[at] != b'-') {
            return refused(at);
        }
        match bytes.get(55) {
            None => {}
            Some(b'-') if version > 0 => {}
            Some(_) => return refused(55),
        }
        let Some(trace) = TraceId::new(trace) else { return refused(3) };
        let Some(span) = u64::try_from(span).ok().and_then(SpanId::new) else { return refused(36) };
        // The specification requires that unknown flags are not passed on.
        let flags = u8::try_from(flags).unwrap_or_default() & (SAMPLED | RANDOM);
        Ok(Self { trace, span, flags })
    }
}

/// Parses `count` hexadecimal digits in lower case.
fn digits(bytes: &[u8], from: usize, count: usize) -> Result<u128, TraceparentError> {
    (from..from + count).try_fold(0, |number, at| {
        let digit = match bytes.get(at) {
            Some(digit @ b'0'..=b'9') => digit - b'0',
            Some(digit @ b'a'..=b'f') => digit - b'a' + 10,
            _ => return Err(TraceparentError { at }),
        };
        Ok(number << 4 | u128::from(digit))
    })
}

impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, span, flags } = self;
        write!(f, "00-{trace}-{span}-{flags:02x}")
    }
}

impl fmt::Debug for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Traceparent({self})")
    }
}
