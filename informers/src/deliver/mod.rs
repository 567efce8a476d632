//! What handlers are told, and when: an inbox for each, which is as long as there are keys at the most.

mod events;
mod handler;
mod hub;
mod inbox;
mod marks;
mod news;
mod slot;
#[cfg(all(test, feature = "tokio", not(machinery_loom)))]
mod tests;

pub use events::Events;
pub use handler::Registration;
#[cfg(feature = "tokio")]
pub use handler::spawn;
pub use hub::{Hub, Publishing};
pub use inbox::{Displaced, Inbox};
pub use news::{Change, Gone, News, Told};
pub use slot::{Closed, Lag};
