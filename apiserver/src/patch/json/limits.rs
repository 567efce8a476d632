//! Cost limits of patches. A few bytes of a patch can request a document that doubles with every
//! operation, is nested too deeply for the stack, or has its longest list shifted ten thousand
//! times.

use std::io;

use serde_json::Value;

use crate::patch::refused::{rejected, too_large};
use crate::refusal::Refusal;

/// Maximum number of operations in a patch.
pub(super) const OPERATIONS: usize = 10_000;
/// Maximum size of all values that the `copy` operations of a patch add, in bytes of JSON.
const COPIED: usize = 3 * 1024 * 1024;
/// Maximum number of values that all `copy` operations of a patch may add. Small values take much
/// more memory than bytes.
const COPIES: usize = 100_000;
/// Maximum number of values that all operations of a patch may copy or shift, beyond the patch
/// itself: ten thousand operations at the front of a list of a thousand.
const MOVED: usize = 10_000_000;
/// Maximum nesting: as much as the parser accepts.
pub(super) const DEEPEST: usize = 127;

/// The unused rest of the limits.
pub(super) struct PatchLimits {
    copied: usize,
    copies: usize,
    moved: usize,
}

impl PatchLimits {
    pub(super) const fn new() -> Self {
        Self { copied: 0, copies: 0, moved: 0 }
    }

    /// Accounts for a copy of a value.
    pub(super) fn copy(&mut self, value: &Value) -> Result<(), Refusal> {
        let mut left = Left(COPIED - self.copied);
        serde_json::to_writer(&mut left, value).map_err(|_| {
            rejected(format!("the copies of the patch are larger than {COPIED} bytes together"))
        })?;
        self.copied = COPIED - left.0;
        depth(value, &mut self.copies);
        if self.copies > COPIES {
            return Err(rejected(format!("the copies of the patch are more than {COPIES} values together")));
        }
        Ok(())
    }

    /// Accounts for list items that an insertion or removal shifts.
    pub(super) fn shift(&mut self, items: usize) -> Result<(), Refusal> {
        self.moved = self.moved.saturating_add(items);
        if self.moved > MOVED {
            return Err(too_large(format!("the JSON patch moves more than {MOVED} values")));
        }
        Ok(())
    }

    /// Checks that a value is not too deep for a position with that many enclosing containers, and
    /// accounts for the walk.
    pub(super) fn fits(&mut self, value: &Value, around: usize) -> Result<(), Refusal> {
        let mut seen = 0;
        let depth = depth(value, &mut seen);
        self.shift(seen)?;
        if around + depth > DEEPEST {
            return Err(Refusal::bad_request("the patched object is nested too deeply"));
        }
        Ok(())
    }
}

fn depth(value: &Value, seen: &mut usize) -> usize {
    *seen += 1;
    match value {
        Value::Array(items) => 1 + items.iter().map(|item| depth(item, seen)).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(|value| depth(value, seen)).max().unwrap_or(0),
        _ => 0,
    }
}

/// A writer that discards, and fails after a number of bytes.
struct Left(usize);

impl io::Write for Left {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
