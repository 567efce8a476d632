//! A trace and a span of it, as W3C Trace Context writes them.

use std::fmt;
use std::str::FromStr;

use super::{SpanId, TraceId};

/// Which span of which trace caused something: the `traceparent` of [W3C Trace Context](https://www.w3.org/TR/trace-context/).
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

/// A text is no [`Traceparent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "at byte {at} this is no traceparent: write 00, 32 digits of the trace, 16 of the span and 2 of flags, all hexadecimal in lower case, \
     with a hyphen between them, and neither the trace nor the span all zero"
)]
pub struct TraceparentError {
    /// Where it is none.
    pub at: usize,
}

/// Somebody records the trace.
const SAMPLED: u8 = 1;
/// The id of the trace was drawn, so parts of it may be used as chance.
const RANDOM: u8 = 2;

impl Traceparent {
    /// The annotation of an object that says in which trace it was changed last.
    pub const ANNOTATION: &str = "machinery.dev/traceparent";
    /// The header of a request that says which span it comes from.
    pub const HEADER: &str = "traceparent";

    /// The first span of a new trace, which is to be recorded.
    #[must_use]
    pub const fn root(trace: TraceId, span: SpanId) -> Self {
        Self { trace, span, flags: SAMPLED | RANDOM }
    }

    /// Another span of the same trace.
    #[must_use]
    pub const fn child(self, span: SpanId) -> Self {
        Self { span, ..self }
    }

    /// Which trace.
    #[must_use]
    pub const fn trace(self) -> TraceId {
        self.trace
    }

    /// Which span of it.
    #[must_use]
    pub const fn span(self) -> SpanId {
        self.span
    }

    /// Whether somebody records the trace.
    #[must_use]
    pub const fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// So many bytes it takes to say one.
    pub const LENGTH: usize = 55;

    /// What an annotation or a header says; nothing, if that is no traceparent.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl FromStr for Traceparent {
    type Err = TraceparentError;

    /// Of a version that is not known yet the parts that all have are read, and what follows them is left out.
    fn from_str(text: &str) -> Result<Self, TraceparentError> {
        let bytes = text.as_bytes();
        let version = digits(bytes, 0, 2)?;
        let (trace, span, flags) = (digits(bytes, 3, 32)?, digits(bytes, 36, 16)?, digits(bytes, 53, 2)?);
        let refused = |at| Err(TraceparentError { at });
        if version == 0xff {
            return refused(0);
        }
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
        let flags = u8::try_from(flags).unwrap_or_default() & (SAMPLED | RANDOM);
        Ok(Self { trace, span, flags })
    }
}

/// The number that so many hexadecimal digits say. They are in lower case.
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
