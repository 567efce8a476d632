//! Pods of an in-process source, equal to those of `bench/peers/go/informer.go`.

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Number of values of each index.
pub(super) const GROUPS: usize = 1000;

pub(super) fn app(i: usize) -> String {
    format!("app-{:04}", i % GROUPS)
}

pub(super) fn node(i: usize) -> String {
    format!("node-{:04}", i / 7 % GROUPS)
}

/// Returns pod `i` in one of its two versions. Every eighth changes its node.
pub(super) fn pod(i: usize, version: usize) -> Pod {
    let at = if i.is_multiple_of(8) { i + 7 * version } else { i };
    let labels = [("app", app(i)), ("tier", "backend".to_owned()), ("zone", format!("z{}", i % 3))];
    Pod {
        metadata: ObjectMeta {
            namespace: Some(format!("ns-{:04}", i % 1000)),
            name: Some(format!("object-{i:09}")),
            uid: Some("0b6d2d6e-6a39-4f6c-9d0f-6b6f6d3c9a11".to_owned()),
            resource_version: Some((1_000_000 * (version + 1) + i).to_string()),
            generation: i64::try_from(version + 1).ok(),
            labels: Some(labels.map(|(key, value)| (key.to_owned(), value)).into()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec { node_name: Some(node(at)), ..PodSpec::default() }),
        status: None,
    }
}

pub(crate) fn pods(n: usize, version: usize) -> Vec<Arc<Pod>> {
    (0..n).map(|i| Arc::new(pod(i, version))).collect()
}

pub(super) fn app_of(pod: &Pod) -> Option<&String> {
    pod.metadata.labels.as_ref()?.get("app")
}

pub(super) fn node_of(pod: &Pod) -> Option<&String> {
    pod.spec.as_ref()?.node_name.as_ref()
}

/// Reads some fields, to touch the object.
pub(super) fn touch(pod: &Pod) -> i64 {
    pod.metadata.generation.unwrap_or_default()
}

/// Returns an endless stream of random pods in their other version. Each takes a permit; without a
/// bound, the stream yields to other tasks now and then.
pub(crate) fn changes(objects: usize, are_bounded: bool) -> (BoxStream<'static, Arc<Pod>>, Arc<Semaphore>) {
    /// Changes per yield, as of a source that shares its runtime.
    const AT_ONCE: usize = 64;
    let versions = [pods(objects, 0), pods(objects, 1)];
    let order = shuffled(objects);
    let permits = Arc::new(Semaphore::new(0));
    let asks = permits.clone();
    let changes = stream::iter(0_usize..).then(move |n| {
        let pod = versions[(n / objects + 1) % 2][order[n % objects]].clone();
        let asks = asks.clone();
        async move {
            if let Ok(permit) = asks.acquire().await {
                permit.forget();
            }
            if !are_bounded && n.is_multiple_of(AT_ONCE) {
                tokio::task::yield_now().await;
            }
            pod
        }
    });
    (Box::pin(changes), permits)
}

/// Returns the permits for `under_way` changes in flight, or the maximum.
pub(crate) const fn permitted(under_way: usize) -> usize {
    if under_way == 0 { Semaphore::MAX_PERMITS / 2 } else { under_way }
}

/// Returns a random order of `n` indexes.
pub(super) fn shuffled(n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut chance = crate::random::SplitMix(1);
    for i in (1..n).rev() {
        order.swap(i, chance.below(i + 1));
    }
    order
}
