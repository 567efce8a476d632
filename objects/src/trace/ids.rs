//! Ids of traces and of spans, and where new ones come from.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Traceparent;

/// Which trace: 32 hexadecimal digits, not all of them zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(NonZeroU128);

/// Which span of a trace: 16 hexadecimal digits, not all of them zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(NonZeroU64);

impl TraceId {
    /// The trace with this number; none has zero.
    #[must_use]
    pub const fn new(number: u128) -> Option<Self> {
        match NonZeroU128::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Its number: the digits, read as one.
    #[must_use]
    pub const fn number(self) -> u128 {
        self.0.get()
    }
}

impl SpanId {
    /// The span with this number; none has zero.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Its number: the digits, read as one.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0.get()
    }
}

/// Draws ids, from a seed: the same ones from the same. It neither locks nor allocates.
#[derive(Debug)]
pub struct SpanIds(AtomicU64);

impl SpanIds {
    /// Whose ids are those of this seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The first span of a new trace, which is to be recorded.
    #[must_use]
    pub fn root(&self) -> Traceparent {
        let trace = u128::from(self.draw()) << 64 | u128::from(self.draw());
        // Zero is as likely as any other number.
        let trace = TraceId::new(trace).unwrap_or(TraceId(NonZeroU128::MIN));
        Traceparent::root(trace, self.span())
    }

    /// A span.
    #[must_use]
    pub fn span(&self) -> SpanId {
        SpanId::new(self.draw()).unwrap_or(SpanId(NonZeroU64::MIN))
    }

    /// splitmix64, whose state is a counter.
    fn draw(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceId({self})")
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpanId({self})")
    }
}
