//! The naive model, and a driver that compares the queue with it (feature `testing`). For this
//! crate's tests and fuzz target, and for changes of the core.
//!
//! The model ([`Model`]) specifies the queue in another way: ordered maps, vectors, and every time
//! computed from the adds that caused it. [`check`] runs a sequence of operations on a queue with a
//! manual clock and on the model, compares every result and then every key, and checks the queue's
//! invariants.

mod bytes;
mod drive;
mod model;

pub use bytes::operations;
pub use drive::check;
pub use model::Model;

impl<K: crate::Key> crate::Queue<K> {
    /// Returns the number of tenants with ready keys, over all priorities; 0 for a queue without
    /// tenants.
    pub fn queued_tenants(&self) -> usize {
        self.shared.with(|core| core.queued_tenants())
    }
}

/// Configuration of the queue under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Maximum number of keys.
    pub capacity: usize,
    /// Quiet time and maximum wait, in milliseconds.
    pub debounce_ms: Option<(u64, u64)>,
    /// Number of failures in a row that make a dead letter.
    pub max_tries: Option<u16>,
    /// Worth of a level of priority, in milliseconds.
    pub aging_ms: u64,
    /// Whether keys belong to three tenants, which take turns.
    pub tenants: bool,
    /// Whether a token bucket limits retries, beside the exponential back-off.
    pub bucket: bool,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Adds a key.
    Add {
        /// The key.
        key: u8,
        /// The time.
        when: OpWhen,
        /// The priority.
        priority: i8,
        /// One of eight causes.
        cause: Option<u8>,
    },
    /// Takes a key, if one is ready, and keeps the work.
    TryGet,
    /// Takes up to this number of keys, if one is ready, and keeps the works.
    Batch(u8),
    /// Completes the kept work of this index (modulo their number).
    Answer(u8, OpAnswer),
    /// Holds the kept work of this index (modulo their number).
    Hold(u8),
    /// Cancels a key.
    Cancel(u8),
    /// Resets a key's failures.
    Forget(u8),
    /// Advances the time, in microseconds.
    Advance(u64),
    /// Closes the queue.
    Close,
    /// Drains the queue, within this number of milliseconds.
    Drain(u64),
}

/// The time of an added key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpWhen {
    /// As the queue is configured.
    Configured,
    /// At once.
    Now,
    /// After this number of microseconds.
    After(u64),
    /// Debounced by 3 ms, at most 8 ms.
    Debounced,
}

/// The completion of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpAnswer {
    /// Done.
    Done,
    /// Requeued after this number of microseconds.
    After(u64),
    /// Failed.
    Retry,
    /// Dropped.
    Drop,
}
