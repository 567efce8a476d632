//! A fake source for tests of informers, which injects faults.
//!
//! [`FakeSource`] has a [`Fault`] for each known way in which servers misbehave, and counts its
//! requests in [`SourceCalls`]; [`TestObject`] is an object for tests that have none of their own.
//!
//! ```
//! # #[cfg(not(machinery_loom))] {
//! use machinery_informers::testing::{Fault, OnEvent, FakeSource, TestObject};
//! use machinery_objects::{Capabilities, ListWatch, WatchError};
//!
//! let source = FakeSource::of_test_objects(Capabilities::ALL);
//! source.put(TestObject::new("default/a"));
//! // The next event of a watch is replaced by the error that its version has expired.
//! source.once(Fault::Event(OnEvent::Fails(WatchError::Expired)));
//! source.put(TestObject::new("default/a").with_text("more"));
//! assert!(source.capabilities().watches_state);
//! assert_eq!(source.calls().watches, 0);
//! # }
//! ```

mod fake_source;
mod fault;
mod history;
mod interest;
mod selection;
mod source;
mod stream;
mod test_object;

pub use fake_source::{FakeSource, SourceCalls};
pub use fault::{Fault, OnEdit, OnEvent, OnList, OnWatch};
pub use test_object::TestObject;
