//! Event handlers and their delivery queues, each bounded by the number of keys.
//!
//! Changes of a key that is already queued are coalesced, unlike those in a `DeltaFIFO` or
//! `processorListener` of client-go. An informer has a [`Hub`] for its handlers; other caches can
//! have one, too:
//!
//! ```
//! use machinery_informers::deliver::{Change, Delivery, Hub, Notification};
//! use machinery_objects::Event;
//! use machinery_snapshot::Map;
//! use std::time::Instant;
//!
//! let (cache, hub) = (Map::<&str, u32>::builder(42).build(), Hub::new(42));
//! cache.insert("a", 1);
//!
//! let now = Instant::now(); // for the lag
//! let mut events = hub.register(now, || cache.snapshot(), |all, initial| {
//!     all.iter().for_each(|(key, object)| initial(key, object)); // a late handler starts here
//! })?;
//!
//! for object in 2..100 {
//!     let mut publishing = hub.publishing(); // the change and its notification are one step
//!     let before = cache.insert("a", object);
//!     let change = Change::Present { object, initial: false };
//!     publishing.publish(now, &[Notification { key: "a", before, change }]);
//! }
//! hub.close();
//!
//! futures::executor::block_on(async {
//!     let first = Delivery::Event("a", Event::Added { object: 99, initial: true });
//!     assert_eq!(events.next().await, Some(first)); // coalesced
//!     assert_eq!(events.next().await, None);
//! });
//! # Ok::<(), machinery_informers::deliver::Closed>(())
//! ```

mod events;
mod handler;
mod hub;
mod marks;
mod notification;
mod progress;
mod queue;
mod slot;
#[cfg(all(test, feature = "tokio", not(machinery_loom)))]
mod tests;

pub use events::Events;
pub use handler::Registration;
#[cfg(feature = "tokio")]
pub use handler::spawn;
pub use hub::{Hub, Publishing};
pub use notification::{Change, Delivery, Notification, Removal, Steps};
pub use progress::DeliveryProgress;
pub use queue::{DeliveryQueue, Displaced};
pub use slot::{Closed, Lag};
