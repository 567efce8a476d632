//! Objects, references, revisions, selectors, typed events, and the ports that controllers stand on.

mod revision;

pub use revision::Revision;
