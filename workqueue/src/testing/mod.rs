//! The naive model, and a driver that holds the queue against it. Feature `testing`; for this crate's own tests and
//! fuzz target, and for whoever changes the core.
//!
//! The model ([`Model`]) says the same as the queue in another way: ordered maps, vectors, and every time worked out
//! again from the adds it came from. [`check`] runs a sequence of operations on a queue with a manual clock and on the
//! model, compares every answer and then every key, and audits the queue's inner lists.

mod bytes;
mod drive;
mod model;

pub use bytes::operations;
pub use drive::check;
pub use model::Model;

impl<K: crate::Key> crate::Queue<K> {
    /// How many tenants stand in line, over all priorities; 0 where there are none.
    pub fn queued_tenants(&self) -> usize {
        self.shared.with(|core| core.queued_tenants())
    }
}

/// How the queue under test is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// How many keys may be in.
    pub capacity: usize,
    /// Quiet time and maximum wait, in milliseconds.
    pub debounce_ms: Option<(u64, u64)>,
    /// How many failures in a row make a dead letter.
    pub max_tries: Option<u16>,
    /// What a level of priority is worth, in milliseconds.
    pub aging_ms: u64,
    /// Whether keys belong to three tenants, who take turns.
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
        /// When.
        when: OpWhen,
        /// How urgently.
        priority: i8,
        /// Why: one of eight causes.
        cause: Option<u8>,
    },
    /// Takes a key, if one is ready, and keeps it.
    TryGet,
    /// Waits for up to so many keys, if one is ready, and keeps them.
    Batch(u8),
    /// Answers the work at this place among those kept (modulo their number).
    Answer(u8, OpAnswer),
    /// Holds the work at this place among those kept (modulo their number).
    Hold(u8),
    /// Takes back what is queued for a key.
    Cancel(u8),
    /// Forgets a key's failures.
    Forget(u8),
    /// Moves the time, in microseconds.
    Advance(u64),
    /// Closes the queue.
    Close,
    /// Begins to drain it, within so many milliseconds.
    Drain(u64),
}

/// When an added key should run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpWhen {
    /// As the queue is configured.
    Configured,
    /// At once.
    Now,
    /// After so many microseconds.
    After(u64),
    /// Debounced by 3 ms, at most 8 ms.
    Debounced,
}

/// How a work is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpAnswer {
    /// Done.
    Done,
    /// Again, after so many microseconds.
    After(u64),
    /// Failed.
    Retry,
    /// Dropped.
    Drop,
}
