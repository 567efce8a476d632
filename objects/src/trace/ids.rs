//! Trace ids, span ids, and their generator.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Traceparent;

/// The id of a trace: 32 hexadecimal digits, not all of them zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(NonZeroU128);

/// The id of a span: 16 hexadecimal digits, not all of them zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(NonZeroU64);

impl TraceId {
    /// Creates the id with this number; `None` for zero.
    #[must_use]
    pub const fn new(number: u128) -> Option<Self> {
        match NonZeroU128::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the digits as a number.
    #[must_use]
    pub const fn number(self) -> u128 {
        self.0.get()
    }
}

impl SpanId {
    /// Creates the id with this number; `None` for zero.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the digits as a number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0.get()
    }
}

/// Generates ids from a seed, reproducibly. Neither locks nor allocates.
#[derive(Debug)]
pub struct SpanIds(AtomicU64);

impl SpanIds {
    /// Creates a generator with this seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Returns the root span of a new, sampled trace.
    #[must_use]
    pub fn root(&self) -> Traceparent {
        let trace = u128::from(self.draw()) << 64 | u128::from(self.draw());
        // Zero is as likely as any other number.
        let trace = TraceId::new(trace).unwrap_or(TraceId(NonZeroU128::MIN));
        Traceparent::root(trace, self.span())
    }

    /// Returns a new span id.
    #[must_use]
    pub fn span(&self) -> SpanId {
        SpanId::new(self.draw()).unwrap_or(SpanId(NonZeroU64::MIN))
    }

    /// splitmix64, with a counter as its state.
    fn draw(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        // Relaxed: the counter orders nothing else, and only has to be unique.
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
