//! Silent owners: a response that should come, and does not, is noticed by a timeout on an index.

mod detector;
mod tracker;

pub use detector::{Awaiting, Owner, SilenceCounts, SilenceDetector, TimeoutTooShort};
pub use tracker::SilenceChange;
