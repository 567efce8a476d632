//! The audit log: who asked for what, when, and what came of it.
//!
//! * [`policy`]: what is logged of which request; [`read`] is its file
//! * [`event`]: what is said of a request
//! * [`annotations`]: what those say of it who admit it
//! * [`trail`]: a request, from its coming to its last byte
//! * [`writer`]: what is said goes to a [`AuditSink`], in order and by one task
//! * [`file`]: the sink that is a file

mod annotations;
mod event;
mod file;
mod policy;
mod read;
mod sink;
mod trail;
mod writer;

pub use file::AuditFile;
pub use policy::AuditPolicy;
pub use read::AuditPolicyError;
pub use sink::AuditSink;
pub use writer::Audit;

pub(crate) use annotations::Annotations;
pub(crate) use trail::{Asked, Tail, Trail};
pub(crate) use writer::Log;
