//! Conditions of a write besides the state of the object itself.

use machinery_objects::Revision;
use machinery_store::{Condition, Key};

use super::ObjectWrite;
use super::parents;
use crate::fence::Fence;
use crate::refusal::Refusal;
use crate::storage::Moment;
use crate::strategy::{MODIFIED, conflict};

/// Preconditions of a write; none by default.
#[derive(Clone, Copy, Default)]
pub(crate) struct WritePreconditions<'a> {
    /// The Lease or lock that the writer must still hold at the commit.
    pub(crate) fence: Option<&'a Fence>,
    /// The object is new: its kind and namespace must exist.
    pub(crate) parents_exist: bool,
    /// This key is still at this revision.
    pub(crate) also_at: Option<(&'a Key, Revision)>,
}

impl WritePreconditions<'_> {
    /// Returns the conditions for the current state.
    ///
    /// # Errors
    /// A condition already fails.
    pub(super) async fn conditions(&self, change: &ObjectWrite<'_>) -> Result<Vec<Condition>, Refusal> {
        let (shared, kind) = (change.shared, change.kind);
        let (_, name) = change.names();
        let mut conditions = Vec::new();
        if let Some(fence) = self.fence {
            conditions.extend(fence.hold(shared, kind, name).await?);
        }
        if self.parents_exist {
            conditions.extend(parents::conditions(change).await?);
        }
        if let Some((key, seen)) = self.also_at {
            let there = shared.objects.get(key, Moment::Newest).await?;
            if there.is_none_or(|there| there.modified != seen) {
                return Err(conflict(kind, name, MODIFIED));
            }
            conditions.push(Condition::At(key.clone(), seen));
        }
        Ok(conditions)
    }
}
