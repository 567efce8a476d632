//! The in-process caches that the shapes use.

use super::object::{CacheKey, CachedObject};
use std::sync::Arc;

pub(super) trait Cache: Sync {
    /// Creates a cache with indexes of a label and of a field.
    fn filled(pairs: impl Iterator<Item = (CacheKey, Arc<CachedObject>)>) -> Self;
    /// Gets an owned object, as a reconciler does, and touches it.
    fn get(&self, key: &str) -> i64;
    /// Touches all objects with this label value.
    fn list_by_app(&self, app: &str) -> i64;
    /// Touches all objects with this field value.
    fn list_by_node(&self, node: &str) -> i64;
    /// Touches all objects.
    fn list(&self) -> i64;
    fn write(&self, key: &CacheKey, object: &Arc<CachedObject>);
}
