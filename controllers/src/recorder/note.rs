//! Notes about objects.

use machinery_objects::{ObjectRef, ResourceVersion};

use super::event::{MAX_MESSAGE_LENGTH, MAX_REASON_LENGTH, cut};

/// A note about an object, for users; becomes an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The object.
    pub about: ObjectRef,
    /// Version of the object.
    pub version: Option<ResourceVersion>,
    /// Severity.
    pub kind: NoteKind,
    /// Reason, one word for programs: `AddressTaken`.
    pub reason: String,
    /// Message for users. Truncated to one kilobyte, the limit of Kubernetes.
    pub text: String,
}

/// Severity of a note, the `type` of its Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoteKind {
    /// Expected behaviour.
    Normal,
    /// A problem that needs attention.
    Warning,
}

impl Note {
    /// Creates a normal note.
    #[must_use]
    pub fn normal(about: ObjectRef, reason: &str, text: impl Into<String>) -> Self {
        Self { about, version: None, kind: NoteKind::Normal, reason: reason.into(), text: text.into() }
    }

    /// Creates a warning.
    #[must_use]
    pub fn warning(about: ObjectRef, reason: &str, text: impl Into<String>) -> Self {
        Self { kind: NoteKind::Warning, ..Self::normal(about, reason, text) }
    }
}

impl Note {
    /// Truncates the texts to the limits of the server, before they are queued.
    pub(super) fn cut(&mut self) {
        for (text, longest) in [(&mut self.text, MAX_MESSAGE_LENGTH), (&mut self.reason, MAX_REASON_LENGTH)] {
            if text.len() > longest {
                *text = cut(text, longest);
            }
        }
    }
}

impl NoteKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}
