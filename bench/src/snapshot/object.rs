//! Objects and keys: the same as `bench/peers/go/cache.go` makes.

use crate::random::SplitMix;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::sync::Arc;

pub(super) type CacheKey = Arc<str>;

/// How many values each index has.
pub(super) const GROUPS: usize = 1000;

/// Metadata as Kubernetes has it, and a field.
pub(super) struct CachedObject {
    pub(super) metadata: ObjectMeta,
    pub(super) node: String,
}

impl CachedObject {
    pub(super) fn app(&self) -> Option<&str> {
        self.metadata.labels.as_ref()?.get("app").map(String::as_str)
    }

    /// What a reader reads, to touch it.
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

/// A text of 24 bytes.
pub(super) fn key(i: usize) -> CacheKey {
    format!("ns-{:04}/object-{i:09}", i % 1000).into()
}

/// CachedObject `i` in one of its two versions. Every eighth is on another node in the second.
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

/// In which order `n` things are visited.
pub(super) fn shuffled(n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut chance = SplitMix(1);
    for i in (1..n).rev() {
        order.swap(i, chance.below(i + 1));
    }
    order
}
