//! Events of Kubernetes: what people read in `kubectl describe`.

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
