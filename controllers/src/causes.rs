//! Interned names of causes: the work queue requires `'static` references.

use std::collections::BTreeMap;

use machinery_objects::{EditNumber, Event, LeaveReason, Object};
use machinery_sync::Mutex;
use machinery_workqueue::Cause;
use std::sync::OnceLock;

/// Cause names of one source, one per kind of event.
#[derive(Clone, Copy)]
pub(crate) struct CauseNames {
    added: &'static &'static str,
    updated: &'static &'static str,
    deleted: &'static &'static str,
    left: &'static &'static str,
    released: &'static &'static str,
}

impl CauseNames {
    pub(crate) fn of(source: &str) -> Self {
        let name = |what: &str| interned(&format!("{source} {what}"));
        Self {
            added: name("added"),
            updated: name("updated"),
            deleted: name("deleted"),
            left: name("left"),
            released: name("released"),
        }
    }

    /// Returns the cause of an event: its name, and the revision where versions are numbers.
    pub(crate) fn cause<T: Object>(&self, event: &Event<std::sync::Arc<T>>) -> Cause {
        let name = match event {
            Event::Added { .. } => self.added,
            Event::Updated { .. } => self.updated,
            Event::Left { because: LeaveReason::Released, .. } => self.released,
            Event::Left { .. } => self.left,
            _ => self.deleted,
        };
        let revision = event.object().version().and_then(|version| version.revision());
        Cause::new(name, revision.map_or(0, |revision| revision.0))
    }
}

/// Returns the cause of a run that follows the completion of a key.
pub(crate) fn completed(source: &str, number: EditNumber) -> Cause {
    Cause::new(interned(&format!("{source} complete")), number.0)
}

/// Leaks one text per distinct name; the number of names is bounded by the sources of the program.
fn interned(text: &str) -> &'static &'static str {
    static KEPT: OnceLock<Mutex<BTreeMap<&'static str, &'static &'static str>>> = OnceLock::new();
    let mut all = KEPT.get_or_init(Mutex::default).lock();
    if let Some(kept) = all.get(text) {
        return kept;
    }
    let text: &'static str = Box::leak(text.into());
    let kept: &'static &'static str = Box::leak(Box::new(text));
    all.insert(text, kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_name_is_interned_once() {
        let (one, other) = (interned("Host added"), interned(&["Host", "added"].join(" ")));
        assert!(std::ptr::eq(one, other));
        assert_ne!(interned("Host updated"), one);
    }
}
