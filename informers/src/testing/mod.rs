//! What tests of informers need: a source in memory that misbehaves as it is told to.
//!
//! [`FakeSource`] is the source, with [`Fault`]s for every way in which servers are known to go wrong, and with [`SourceCalls`], which counts
//! what it was asked for; [`TestObject`] is an object to fill it with, unless the test has its own.
//!
//! ```
//! # #[cfg(not(machinery_loom))] {
//! use machinery_informers::testing::{Fault, OnEvent, FakeSource, TestObject};
//! use machinery_objects::{Capabilities, ListWatch, WatchError};
//!
//! let source = FakeSource::of_test_objects(Capabilities::ALL);
//! source.put(TestObject::new("default/a"));
//! // Whoever watches is told that its version is too old, as an event, when the next change is to be told.
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
