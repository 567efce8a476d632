//! Writes of objects, from the wire, in-process handles and controllers: computed from the current
//! state, checked by guards and quotas, and committed as one transaction whose conditions fail if
//! any input has changed. The write is then computed again.

mod kind_view;
mod parents;
mod preconditions;
mod run;

pub(crate) use kind_view::{KindView, unserved};
pub(crate) use preconditions::WritePreconditions;
pub(crate) use run::{ObjectWrite, WriteAction, contended};
