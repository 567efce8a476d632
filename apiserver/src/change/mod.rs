//! Writes of objects, from the wire, in-process handles and controllers: computed from the current
//! state, checked by guards and quotas, and committed as one transaction, conditional on all
//! inputs. If an input has changed, the write is computed again.

mod kind_view;
mod parents;
mod preconditions;
mod run;

pub(crate) use kind_view::{KindView, unserved};
pub(crate) use preconditions::WritePreconditions;
pub(crate) use run::{ObjectWrite, WriteAction, WriteOrigin, contended};
