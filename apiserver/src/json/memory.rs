//! The memory that the values of a document will take.

use super::MalformedJson;

/// Bytes of a document that fit without regard to its length.
const CONSTANT: usize = 6 << 20;
/// Memory per byte of the document. A request has a second copy of parts of it.
const PER_BYTE: usize = 28;
/// A node of a map. A map of one field has a whole one.
const NODE: usize = 640;
/// Fields for which a map has a node: a node with eleven is split.
const FIELDS_PER_NODE: usize = 6;
/// A text on the heap, beyond its length.
const TEXT: usize = 16;

/// Counts while a document is read, so that one of a few hundred kilobytes with tens of thousands of
/// small objects is refused before it takes a hundred times that.
pub(crate) struct DocumentMemory {
    left: usize,
}

impl DocumentMemory {
    pub(crate) const fn of(document: &[u8]) -> Self {
        Self { left: document.len().saturating_mul(PER_BYTE).saturating_add(CONSTANT) }
    }

    /// Takes a field of an object that has `before` fields.
    pub(crate) fn field(&mut self, name: &str, before: usize) -> Result<(), MalformedJson> {
        let node = if before.is_multiple_of(FIELDS_PER_NODE) { NODE } else { 0 };
        self.take(node + TEXT + name.len())
    }

    fn take(&mut self, bytes: usize) -> Result<(), MalformedJson> {
        self.left = self.left.checked_sub(bytes).ok_or_else(MalformedJson::too_small_objects)?;
        Ok(())
    }
}
