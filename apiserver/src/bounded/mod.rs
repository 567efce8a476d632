//! Bounds on the texts of errors and warnings, kept while the texts are made.
//!
//! A body of 300 KB may have 10 000 errors below one long key: complete paths would take 3 GB.

mod errors;
mod text;
mod texts;
mod warnings;

pub(crate) use errors::FieldErrors;
pub(crate) use text::{TEXT_BYTES, bounded, short, shortened, value_bytes};
pub(crate) use texts::BoundedTexts;
pub(crate) use warnings::all_warnings;

/// Maximum number of errors or texts in one response.
pub(crate) const MAX_ERRORS: usize = 1000;

/// Maximum number of bytes of the errors or texts in one response.
pub(crate) const LIST_BYTES: usize = 128 << 10;
