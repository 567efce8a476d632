//! Writes of objects, from the wire, in-process handles and controllers: computed from the current
//! state, checked by guards and quotas, and committed as one transaction whose conditions fail if
//! any input has changed. The write is then computed again.

mod beside;
mod place;
mod rests;
mod run;

pub(crate) use beside::{Beside, unserved};
pub(crate) use rests::Rests;
pub(crate) use run::{Change, Write, never};
