//! What handlers are told, and when: an inbox for each, which is as long as there are keys at the most.
//!
//! An informer has a [`Hub`] for its handlers. Whoever has a cache of their own can have one, too:
//!
//! ```
//! use machinery_informers::deliver::{Change, Hub, Notification, Delivery};
//! use machinery_objects::Event;
//! use machinery_snapshot::Map;
//! use std::time::Instant;
//!
//! let (cache, hub) = (Map::<&str, u32>::builder(42).build(), Hub::new(42));
//! cache.insert("a", 1);
//!
//! let now = Instant::now();                                       // to say how long something has been due
//! let mut events = hub.register(now, || cache.snapshot(), |all, tell| {
//!     all.iter().for_each(|(key, object)| tell(key, object));     // who comes late begins with what is there
//! })?;
//!
//! for object in 2..100 {
//!     let mut publishing = hub.publishing();                      // nobody comes between a change and its notifications
//!     let before = cache.insert("a", object);
//!     let change = Change::Present { object, initial: false };
//!     publishing.publish(now, &[Notification { key: "a", before, change }]);
//! }
//! hub.close();
//!
//! futures::executor::block_on(async {
//!     let first = Delivery::Event("a", Event::Added { object: 99, initial: true });
//!     assert_eq!(events.next().await, Some(first));               // as it is, and not how it came to that
//!     assert_eq!(events.next().await, None);
//! });
//! # Ok::<(), machinery_informers::deliver::Closed>(())
//! ```

mod events;
mod handler;
mod hub;
mod marks;
mod notification;
mod queue;
mod slot;
#[cfg(all(test, feature = "tokio", not(machinery_loom)))]
mod tests;

pub use events::Events;
pub use handler::Registration;
#[cfg(feature = "tokio")]
pub use handler::spawn;
pub use hub::{Hub, Publishing};
pub use notification::{Change, Delivery, Notification, Removal};
pub use queue::{DeliveryQueue, Displaced};
pub use slot::{Closed, Lag};
