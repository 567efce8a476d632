//! A guard over several kinds, as one of its members has it.

use std::sync::Arc;

use serde_json::Value;

use super::builder::{CrossCheck, KeysOf};
use crate::guard::{Guard, GuardedObject, GuardedWrite};
use crate::invalid::FieldError;
use crate::storage::Place;

/// One member of a guard over several kinds.
pub(super) struct MemberGuard {
    /// `*` and the name.
    pub(super) prefix: Arc<str>,
    pub(super) keys: Arc<KeysOf>,
    pub(super) members: Arc<[Place]>,
    pub(super) checks_deletions: bool,
    pub(super) check: Arc<CrossCheck>,
}

impl Guard for MemberGuard {
    fn name(&self) -> &str {
        self.prefix.strip_prefix('*').unwrap_or(&self.prefix)
    }

    fn prefix(&self) -> &str {
        &self.prefix
    }

    fn keys(&self, object: &Value) -> Vec<String> {
        (self.keys)(object)
    }

    fn members(&self) -> Option<&[Place]> {
        Some(&self.members)
    }

    fn checks_deletions(&self) -> bool {
        self.checks_deletions
    }

    fn check(&self, write: &GuardedWrite, others: &[GuardedObject]) -> Vec<FieldError> {
        (self.check)(write, others)
    }
}
