//! What a controller has to say of an object.

use machinery_objects::{ObjectRef, ResourceVersion};

use super::event::{MAX_MESSAGE_LENGTH, MAX_REASON_LENGTH, cut};

/// What a controller has to say of an object, to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Of which object.
    pub about: ObjectRef,
    /// In which version of it.
    pub version: Option<ResourceVersion>,
    /// Whether somebody should look.
    pub kind: NoteKind,
    /// Why, in one word: `AddressTaken`. Programs may look for it.
    pub reason: String,
    /// What happened, to read. It is cut at a kilobyte, as Kubernetes wants it.
    pub text: String,
}

/// Whether somebody should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoteKind {
    /// All is as it should be.
    Normal,
    /// Something is not as it should be.
    Warning,
}

impl Note {
    /// That all is as it should be.
    #[must_use]
    pub fn normal(about: ObjectRef, reason: &str, text: impl Into<String>) -> Self {
        Self { about, version: None, kind: NoteKind::Normal, reason: reason.into(), text: text.into() }
    }

    /// That something is not as it should be.
    #[must_use]
    pub fn warning(about: ObjectRef, reason: &str, text: impl Into<String>) -> Self {
        Self { kind: NoteKind::Warning, ..Self::normal(about, reason, text) }
    }
}

impl Note {
    /// No longer than a server takes: so much of it waits, and is remembered.
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
