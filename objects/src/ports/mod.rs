//! The ports of a source of objects: traits to read, watch and write.

mod filter;
mod interest;
mod list_watch;
mod unreadable;
mod writer;

pub use filter::Filter;
pub use interest::{
    EditNumber, Interest, InterestBy, InterestEdit, InterestRequest, InterestSource, InterestWatch,
};
pub use list_watch::{
    Capabilities, Continue, Freshness, ListAt, ListRequest, ListWatch, Page, WatchFrom, WatchRequest,
    WatchStream,
};
pub use unreadable::Unreadable;
pub use writer::{
    Deleted, Deletion, Fence, Patch, PatchFormat, Preconditions, Propagation, WriteOutcome, WriteToken,
    Writer, WriterCapabilities, Written,
};
