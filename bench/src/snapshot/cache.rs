//! What the shapes ask of a cache that is in this process.

use super::object::{CacheKey, CachedObject};
use std::sync::Arc;

pub(super) trait Cache: Sync {
    /// A cache with an index of a label, and one of a field.
    fn filled(pairs: impl Iterator<Item = (CacheKey, Arc<CachedObject>)>) -> Self;
    /// Gets an object as a reconciler does, to keep; touches it.
    fn get(&self, key: &str) -> i64;
    /// Touches all with this value of the label.
    fn list_by_app(&self, app: &str) -> i64;
    /// Touches all with this value of the field.
    fn list_by_node(&self, node: &str) -> i64;
    /// Touches all.
    fn list(&self) -> i64;
    fn write(&self, key: &CacheKey, object: &Arc<CachedObject>);
}
