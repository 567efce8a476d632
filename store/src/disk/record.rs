//! Encoding of the records of a batch. Decoding does not trust its input.
//!
//! ```text
//! transaction  1, u16 n, n × change          takes the next revision
//! change       1, u32 k, key, u32 v, value   put
//!              2, u32 k, key                 delete of a key that was there
//! compaction   2, u64 revision
//! ```

use machinery_objects::Revision;

use super::format::array;
use crate::contract::{Key, Operation};
use crate::core::{RevisionChanges, State};

/// A record of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LogRecord {
    /// A transaction of this many of the following operations; never zero.
    Transaction(u16),
    Compaction(Revision),
}

const TRANSACTION: u8 = 1;
const COMPACTION: u8 = 2;
const PUT: u8 = 1;
const DELETE: u8 = 2;

/// Encodes the changes of a transaction.
pub(crate) fn write_transaction(buffer: &mut Vec<u8>, revised: &RevisionChanges) {
    // The outcome without the conditions: replay decides nothing again.
    buffer.push(TRANSACTION);
    buffer.extend_from_slice(&(revised.versions().len() as u16).to_le_bytes());
    for version in revised.versions() {
        match &version.state {
            State::Present(entry) => {
                buffer.push(PUT);
                write_bytes(buffer, entry.key.as_bytes());
                write_bytes(buffer, &entry.value);
            }
            State::Gone(key, _) => {
                buffer.push(DELETE);
                write_bytes(buffer, key.as_bytes());
            }
        }
    }
}

/// Returns the maximum number of bytes that [`write_transaction`] adds.
pub(crate) fn transaction_bytes(operations: &[Operation]) -> usize {
    let bytes = operations.iter().map(|operation| match operation {
        Operation::Put(key, value) => 1 + 4 + key.len() + 4 + value.len(),
        Operation::Delete(key) => 1 + 4 + key.len(),
    });
    1 + 2 + bytes.sum::<usize>()
}

/// Number of bytes that [`write_compaction`] adds.
pub(crate) const COMPACTION_BYTES: usize = 1 + 8;

/// Encodes a compaction.
pub(crate) fn write_compaction(buffer: &mut Vec<u8>, to: Revision) {
    buffer.push(COMPACTION);
    buffer.extend_from_slice(&to.0.to_le_bytes());
}

/// Encodes bytes with their length.
pub(crate) fn write_bytes(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    buffer.extend_from_slice(bytes);
}

/// A decoder of records.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// Decodes the next record and appends its operations to `operations`; `None` at the end.
    pub(crate) fn record(
        &mut self,
        operations: &mut Vec<Operation>,
    ) -> Option<Result<LogRecord, &'static str>> {
        if self.0.is_empty() {
            return None;
        }
        Some(self.read(operations).ok_or("a record is not one"))
    }

    fn read(&mut self, operations: &mut Vec<Operation>) -> Option<LogRecord> {
        match self.byte()? {
            TRANSACTION => {
                let count = u16::from_le_bytes(array(self.take(2)?, 0));
                for _ in 0..count {
                    operations.push(self.operation()?);
                }
                (count > 0).then_some(LogRecord::Transaction(count))
            }
            COMPACTION => self.number().map(|to| LogRecord::Compaction(Revision(to))),
            _ => None,
        }
    }

    fn operation(&mut self) -> Option<Operation> {
        match self.byte()? {
            // A copy: a value that shared the buffer would keep a piece of the file in memory.
            PUT => Some(Operation::Put(self.key()?, self.bytes()?.into())),
            DELETE => self.key().map(Operation::Delete),
            _ => None,
        }
    }

    pub(crate) fn key(&mut self) -> Option<Key> {
        std::str::from_utf8(self.bytes()?).ok().filter(|key| !key.is_empty()).map(Key::from)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = u32::from_le_bytes(array(self.take(4)?, 0));
        self.take(count as usize)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        self.take(8).map(|bytes| u64::from_le_bytes(array(bytes, 0)))
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}
