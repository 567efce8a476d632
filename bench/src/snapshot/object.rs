//! Objects and keys, equal to those of `bench/peers/go/cache.go`.

use crate::random::SplitMix;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::sync::Arc;

pub(super) type CacheKey = Arc<str>;

/// Number of values of each index.
pub(super) const GROUPS: usize = 1000;

/// Kubernetes metadata, and a field.
pub(super) struct CachedObject {
    pub(super) metadata: ObjectMeta,
    pub(super) node: String,
}

impl CachedObject {
    pub(super) fn app(&self) -> Option<&str> {
        self.metadata.labels.as_ref()?.get("app").map(String::as_str)
    }

    /// Reads some fields, to touch the object.
    pub(super) fn touch(&self) -> i64 {
        self.metadata.generation.unwrap_or_default()
    }
}

pub(super) fn app(i: usize) -> String {
    format!("app-{:04}", i % GROUPS)
}

pub(super) fn node(i: usize) -> String {
    format!("node-{:04}", i / 7 % GROUPS)
}

/// Returns a key of 24 bytes.
pub(super) fn key(i: usize) -> CacheKey {
    format!("ns-{:04}/object-{i:09}", i % 1000).into()
}

/// Returns object `i` in one of its two versions. Every eighth changes its node.
pub(super) fn object(i: usize, version: usize) -> Arc<CachedObject> {
    let at = if i.is_multiple_of(8) { i + 7 * version } else { i };
    let labels = [("app", app(i)), ("tier", "backend".to_owned()), ("zone", format!("z{}", i % 3))];
    let metadata = ObjectMeta {
        namespace: Some(format!("ns-{:04}", i % 1000)),
        name: Some(format!("object-{i:09}")),
        uid: Some("0b6d2d6e-6a39-4f6c-9d0f-6b6f6d3c9a11".to_owned()),
        resource_version: Some((1_000_000 + i).to_string()),
        generation: i64::try_from(version + 1).ok(),
        labels: Some(labels.map(|(key, value)| (key.to_owned(), value)).into()),
        ..ObjectMeta::default()
    };
    Arc::new(CachedObject { metadata, node: node(at) })
}

pub(super) fn keys(n: usize) -> Vec<CacheKey> {
    (0..n).map(key).collect()
}

pub(super) fn objects(n: usize, version: usize) -> Vec<Arc<CachedObject>> {
    (0..n).map(|i| object(i, version)).collect()
}

/// Returns a random order of `n` indexes.
pub(super) fn shuffled(n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut chance = SplitMix(1);
    for i in (1..n).rev() {
        order.swap(i, chance.below(i + 1));
    }
    order
}
