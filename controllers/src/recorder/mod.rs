//! The event recorder: Kubernetes Events, as shown by `kubectl describe`.

mod correlate;
mod event;
mod note;
mod recent;
mod shell;
#[cfg(test)]
mod tests;

pub use correlate::EventLimits;
pub use event::EventObject;
pub use note::{Note, NoteKind};
pub use shell::{Recorder, RecorderCounts};
