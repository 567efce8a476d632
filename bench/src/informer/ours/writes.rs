//! Events from a source to a handler.

use super::source::Source;
use crate::informer::pods::{app_of, changes, node_of, permitted, pods, touch};
use crate::informer::readers::beside;
use crate::measure::Figures;
use k8s_openapi::api::core::v1::Pod;
use machinery_informers::Informer;
use machinery_objects::{Event, ListWatch};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

pub(in crate::informer) fn writes(
    runtime: &Runtime,
    objects: usize,
    readers: usize,
    ms: u64,
    under_way: usize,
) -> anyhow::Result<Figures> {
    let stopping = CancellationToken::new();
    let (changes, permits) = changes(objects, under_way > 0);
    let source: Arc<dyn ListWatch<Arc<Pod>>> = Source::new(pods(objects, 0), changes);
    let mut informer = Informer::<Pod>::builder(source);
    informer.index(|pod: &Pod| app_of(pod).cloned());
    informer.index(|pod: &Pod| node_of(pod).cloned());
    let informer = informer.build();
    let told = Arc::new(AtomicU64::new(0));
    let entered = runtime.enter();
    let handler = informer.add_handler({
        let (told, permits) = (told.clone(), permits.clone());
        move |event| {
            if matches!(event, Event::Updated { .. }) {
                told.fetch_add(1, Relaxed);
                permits.add_permits(1);
            }
        }
    })?;
    let running = runtime.spawn(informer.run(stopping.clone()));
    runtime.block_on(informer.synced())?;
    runtime.block_on(handler.synced())?;
    drop(entered);
    permits.add_permits(permitted(under_way));

    let so_far = || (told.load(Relaxed), informer.state().counts.events);
    let before = so_far();
    let beside = beside(readers, ms, || || informer.read().iter().map(|(_, pod)| touch(pod)).sum());
    let after = so_far();
    stopping.cancel();
    runtime.block_on(running)?;
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    let (told, taken) = ((after.0 - before.0) as f64, (after.1 - before.1) as f64);
    Ok(Figures::default()
        .with("per_second", told / beside.seconds)
        .with("taken", taken / beside.seconds)
        .with("cpu_ns", beside.cpu.as_secs_f64() * 1e9 / told)
        .with("lists", beside.lists))
}
