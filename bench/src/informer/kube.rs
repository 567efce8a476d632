//! kube-runtime's reflector and store. Its handler consumes the reflector's stream.

use super::configs::FiveOfKube;
use super::ours::{Hops, config, getting, listing, page};
use super::pods::{app, app_of, changes, node_of, permitted, pod, pods, shuffled, touch};
use super::readers::beside;
use super::shape::Projection;
use crate::measure::{Figures, Lap, count};
use anyhow::ensure;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_core::Resource;
use kube_runtime::reflector::{Lookup, ObjectRef, Store, reflector, store};
use kube_runtime::watcher::{self, Event};
use kube_runtime::{WatchStreamExt, watcher as watch};
use machinery_kube::kube_client::{Api, Client};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::fmt::Debug;
use std::future::ready;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

type WatchEvents = BoxStream<'static, watcher::Result<Event<Pod>>>;

/// Starts a store of pods with a stream of changes.
fn begin(
    runtime: &Runtime,
    there: Vec<Arc<Pod>>,
    changes: impl Stream<Item = Arc<Pod>> + Send + 'static,
    mut handle: impl FnMut(&Pod) + Send + 'static,
) -> anyhow::Result<(Store<Pod>, JoinHandle<()>)> {
    let (reader, writer) = store::<Pod>();
    let there = stream::iter(there).map(|pod| Event::InitApply((*pod).clone()));
    let there = stream::iter([Event::Init]).chain(there).chain(stream::iter([Event::InitDone]));
    let changes = changes.map(|pod| Event::Apply((*pod).clone()));
    let received: WatchEvents = there.chain(changes).map(Ok).boxed();
    let stream = reflector(writer, received);
    let running = runtime.spawn(stream.for_each(move |event| {
        if let Ok(Event::Apply(pod)) = &event {
            handle(pod);
        }
        ready(())
    }));
    runtime.block_on(reader.wait_until_ready())?;
    Ok((reader, running))
}

pub(super) fn writes(
    runtime: &Runtime,
    objects: usize,
    readers: usize,
    ms: u64,
    under_way: usize,
) -> anyhow::Result<Figures> {
    let (changes, permits) = changes(objects, under_way > 0);
    let received = Arc::new(AtomicU64::new(0));
    let tells = received.clone();
    let handled = permits.clone();
    let handle = move |_: &Pod| {
        tells.fetch_add(1, Relaxed);
        handled.add_permits(1);
    };
    let (reader, running) = begin(runtime, pods(objects, 0), changes, handle)?;
    permits.add_permits(permitted(under_way));
    let before = received.load(Relaxed);
    let beside = beside(readers, ms, || {
        let reader = reader.clone();
        move || reader.state().iter().map(|pod| touch(pod)).sum()
    });
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    let received = (received.load(Relaxed) - before) as f64;
    running.abort();
    Ok(Figures::default()
        .with("per_second", received / beside.seconds)
        .with("taken", received / beside.seconds)
        .with("cpu_ns", beside.cpu.as_secs_f64() * 1e9 / received)
        .with("lists", beside.lists))
}

/// Measures gets and lists. The store has no indexes: a list by a value scans all objects.
pub(super) fn reads(runtime: &Runtime, objects: usize, passes: usize) -> anyhow::Result<Figures> {
    let (reader, running) = begin(runtime, pods(objects, 0), stream::pending(), |_| {})?;
    let keys: Vec<ObjectRef<Pod>> =
        shuffled(objects).into_iter().map(|i| pod(i, 0).to_object_ref(())).collect();
    let get = getting(&keys, passes, |key| reader.get(key).map_or(0, |pod| touch(&pod)));
    let scan = |of: fn(&Pod) -> Option<&String>, value: &str| {
        let all = reader.state();
        let found = all.iter().filter(|pod| of(pod).is_some_and(|it| it == value));
        found.map(|pod| touch(pod)).sum()
    };
    // A hundredth of the values suffices for the cost of a scan.
    let by_field = listing(passes.div_ceil(100), super::pods::node, |node| scan(node_of, node));
    let by_label = listing(passes.div_ceil(100), app, |app| scan(app_of, app));
    running.abort();
    Ok(Figures::default().with("get_ns", get).with("index_ns", by_field).with("label_ns", by_label))
}

pub(super) fn hop(runtime: &Runtime, objects: usize, events: usize) -> anyhow::Result<Figures> {
    let (hops, ends) = Hops::new(objects);
    let received = ends.received;
    let (_reader, running) = begin(runtime, hops.there(), ends.changes, move |_| {
        // The measurement may be over.
        let _ = received.send(Instant::now());
    })?;
    let figures = hops.run(events)?;
    running.abort();
    Ok(figures)
}

#[derive(Deserialize)]
struct KubeList<O> {
    items: Vec<O>,
}

/// Measures decoding of whole objects and of five fields. The lean type is the whole one.
pub(super) fn decode(objects: usize, passes: usize) -> anyhow::Result<Figures> {
    let (whole, five) = (each::<ConfigMap>(objects, passes)?, each::<FiveOfKube>(objects, passes)?);
    Ok(Figures::default().with("whole_ns", whole).with("lean_ns", whole).with("five_ns", five))
}

fn each<O: DeserializeOwned>(objects: usize, passes: usize) -> anyhow::Result<f64> {
    let page = page(objects);
    let mut lap = Lap::started();
    for _ in 0..passes {
        let list: KubeList<O> = serde_json::from_slice(page.as_bytes())?;
        ensure!(list.items.len() == objects, "all of it is read");
    }
    lap.stop();
    Ok(lap.per(passes * objects).of("ns").unwrap_or_default())
}

/// Measures a sync over the wire. Also returns the running store.
pub(super) async fn sync(
    kubeconfig: &Path,
    of: Projection,
    objects: usize,
) -> anyhow::Result<(Figures, Box<dyn Any>)> {
    match of {
        Projection::Whole | Projection::Lean => follow::<ConfigMap>(kubeconfig, objects, |_| {}, |_| 1).await,
        Projection::WithoutManagedFields => {
            let clear = |config: &mut ConfigMap| config.metadata.managed_fields = None;
            follow(kubeconfig, objects, clear, |config| usize::from(config.metadata.managed_fields.is_none()))
                .await
        }
        Projection::Five => follow(kubeconfig, objects, FiveOfKube::strip, FiveOfKube::touch).await,
    }
}

/// Runs a reflector as kube documents it, with kube's client.
async fn follow<K>(
    kubeconfig: &Path,
    objects: usize,
    modify: impl FnMut(&mut K) + Send + 'static,
    touch: impl Fn(&K) -> usize,
) -> anyhow::Result<(Figures, Box<dyn Any>)>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let client = Client::try_from(config(kubeconfig).await?)?;
    let mut lap = Lap::started();
    let (reader, writer) = store::<K>();
    let stream = watch(Api::<K>::all(client), watcher::Config::default()).default_backoff().modify(modify);
    let running = tokio::spawn(reflector(writer, stream).for_each(|_| ready(())));
    reader.wait_until_ready().await?;
    lap.stop();
    let all = reader.state();
    ensure!(all.len() >= objects, "there are {} of {objects}", all.len());
    ensure!(all.iter().all(|object| touch(object) > 0), "all of it is kept");
    let cpu_s = lap.per(1).of("cpu_ns").unwrap_or_default() / 1e9;
    let figures = Figures::default()
        .with("sync_s", lap.wall().as_secs_f64())
        .with("client_cpu_s", cpu_s)
        .with("objects", count(all.len()));
    Ok((figures, Box::new((reader, running))))
}
