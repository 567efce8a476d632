//! What tests of informers need: a source in memory that misbehaves as it is told to.
//!
//! [`Plane`] is the source, with [`Fault`]s for every way in which servers are known to go wrong, and with [`Asked`], which counts
//! what it was asked for; [`Thing`] is an object to fill it with, unless the test has its own.
//!
//! ```
//! # #[cfg(not(machinery_loom))] {
//! use machinery_informers::testing::{Fault, OnEvent, Plane, Thing};
//! use machinery_objects::{Capabilities, ListWatch, WatchError};
//!
//! let plane = Plane::of_things(Capabilities::ALL);
//! plane.put(Thing::new("default/a"));
//! // Whoever watches is told that its version is too old, as an event, when the next change is to be told.
//! plane.once(Fault::Event(OnEvent::Fails(WatchError::Expired)));
//! plane.put(Thing::new("default/a").says("more"));
//! assert!(plane.capabilities().watches_state);
//! assert_eq!(plane.asked().watches, 0);
//! # }
//! ```

mod fault;
mod history;
mod interest;
mod plane;
mod selection;
mod source;
mod stream;
mod thing;

pub use fault::{Fault, OnEdit, OnEvent, OnList, OnWatch};
pub use plane::{Asked, Plane};
pub use thing::Thing;
