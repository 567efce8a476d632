//! The audit log: the user, request, time and result of each request.
//!
//! * [`policy`]: the rules that select the level of a request; [`read`] parses its file
//! * [`event`]: the event of a request
//! * [`annotations`]: annotations added by admission
//! * [`trail`]: the audit record of a request, from its arrival to the last byte of the response
//! * [`writer`]: one task writes the events to an [`AuditSink`], in order
//! * [`file`]: a sink with log rotation

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
pub(crate) use trail::{AUDIT_ID, AuditTarget, Tail, Trail, audit_id};
pub(crate) use writer::Log;
