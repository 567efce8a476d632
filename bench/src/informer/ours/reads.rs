//! Gets and lists through an idle informer.

use super::source::Source;
use crate::informer::pods::{GROUPS, app, node, node_of, pod, pods, shuffled, touch};
use crate::measure::{Figures, Lap};
use futures::StreamExt;
use futures::stream;
use k8s_openapi::api::core::v1::Pod;
use machinery_informers::{Informer, Label};
use machinery_objects::{ListWatch, Object, ObjectKey};
use std::hint::black_box;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

pub(in crate::informer) fn reads(
    runtime: &Runtime,
    objects: usize,
    passes: usize,
) -> anyhow::Result<Figures> {
    let source: Arc<dyn ListWatch<Arc<Pod>>> = Source::new(pods(objects, 0), stream::pending().boxed());
    let mut informer = Informer::<Pod>::builder(source);
    let labels = informer.labels();
    let by_node = informer.index(|pod: &Pod| node_of(pod).cloned());
    let informer = informer.build();
    let stopping = CancellationToken::new();
    let running = runtime.spawn(informer.run(stopping.clone()));
    runtime.block_on(informer.synced())?;

    let keys: Vec<ObjectKey> = shuffled(objects).into_iter().map(|i| pod(i, 0).key()).collect();
    let get = getting(&keys, passes, |key| informer.get(key).map_or(0, |pod| touch(&pod)));
    let by_field =
        listing(passes, node, |node| informer.read().by(&by_node, node).map(|(_, pod)| touch(pod)).sum());
    let by_label = listing(passes, app, |app| {
        let label = Label::new("app", app);
        informer.read().by(&labels, &label).map(|(_, pod)| touch(pod)).sum()
    });
    stopping.cancel();
    runtime.block_on(running)?;
    Ok(Figures::default().with("get_ns", get).with("index_ns", by_field).with("label_ns", by_label))
}

/// Returns ns per get, over all keys.
pub(in crate::informer) fn getting<K>(keys: &[K], passes: usize, get: impl Fn(&K) -> i64) -> f64 {
    let pass = || black_box(keys.iter().map(&get).sum::<i64>());
    timed(passes * 4, keys.len(), pass)
}

/// Returns ns per list of one value, over all values in random order.
pub(in crate::informer) fn listing(
    passes: usize,
    value: impl Fn(usize) -> String,
    list: impl Fn(&str) -> i64,
) -> f64 {
    let values: Vec<String> = shuffled(GROUPS).into_iter().map(|i| value(i * 7)).collect();
    let pass = || black_box(values.iter().map(|value| list(value)).sum::<i64>());
    timed(passes, GROUPS, pass)
}

fn timed(passes: usize, each: usize, pass: impl Fn() -> i64) -> f64 {
    assert!(pass() > 0, "something was there to be touched");
    let mut lap = Lap::started();
    for _ in 0..passes {
        pass();
    }
    lap.stop();
    lap.per(passes * each).of("ns").unwrap_or_default()
}
