//! Translates size limits of the backend below to sizes before sealing.

use crate::contract::CommitError;

/// The growth of each value of a transaction, in the order of its operations.
#[derive(Debug, Default)]
pub(super) struct Growth(Vec<ValueGrowth>);

#[derive(Debug)]
struct ValueGrowth {
    kept: usize,
    by: usize,
}

impl Growth {
    pub(super) fn note(&mut self, put: usize, kept: usize) {
        self.0.push(ValueGrowth { kept, by: kept - put });
    }

    /// Returns the error with the growth subtracted from size and limit.
    pub(super) fn adjust(&self, error: CommitError) -> CommitError {
        let CommitError::TooLarge { what, bytes, limit } = error else { return error };
        let by = match what {
            "value" => self.0.iter().find(|grown| grown.kept > limit).map_or(0, |grown| grown.by),
            "transaction" => self.0.iter().map(|grown| grown.by).sum(),
            _ => 0,
        };
        CommitError::TooLarge { what, bytes: bytes.saturating_sub(by), limit: limit.saturating_sub(by) }
    }
}
