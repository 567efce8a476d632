//! How every change of an object is made, whoever asks for it: worked out from what is there, held against all that it rests
//! on, and committed as one transaction that fails if any of that has changed meanwhile. Then it is worked out again.

mod beside;
mod place;
mod rests;
mod run;

pub(crate) use beside::{Beside, unserved};
pub(crate) use rests::Rests;
pub(crate) use run::{Change, Write, never};
