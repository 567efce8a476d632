//! Puts and reads, one at a time per client task.

use super::objects::{self, Values};
use crate::measure::{Figures, count};
use crate::random::SplitMix;
use anyhow::ensure;
use machinery_store::{Backend, Key, KeySpan, Range, Transaction};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// The initial share of the time that is not measured.
const WARM_UP: f64 = 0.1;

#[derive(Clone, Copy)]
pub(super) struct TrafficLoad {
    pub(super) clients: usize,
    pub(super) objects: usize,
    pub(super) seconds: f64,
}

/// Puts each object once.
pub(super) async fn load(store: Arc<dyn Backend>, objects: usize, clients: usize) -> anyhow::Result<Figures> {
    let mut tasks = JoinSet::new();
    for c in 0..clients {
        let store = store.clone();
        tasks.spawn(async move {
            let mut values = Values::new(c as u64);
            for i in (c..objects).step_by(clients) {
                store.commit(Transaction::new().put(objects::key(i), values.next())).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(Figures::default().with("operations", count(objects)))
}

/// Overwrites random objects.
pub(super) async fn commits(store: Arc<dyn Backend>, load: TrafficLoad) -> anyhow::Result<Figures> {
    traffic(load, |c| {
        let (store, mut values) = (store.clone(), Values::new(c));
        move |key| {
            let (store, transaction) = (store.clone(), Transaction::new().put(key, values.next()));
            async move {
                store.commit(transaction).await?;
                Ok(())
            }
        }
    })
    .await
}

/// Reads random objects at the newest revision.
pub(super) async fn reads(store: Arc<dyn Backend>, load: TrafficLoad) -> anyhow::Result<Figures> {
    traffic(load, |_| {
        let store = store.clone();
        move |key: Key| {
            let store = store.clone();
            async move {
                let page = store.range(Range::of(KeySpan::One(key))).await?;
                ensure!(page.entries.len() == 1, "an object is not there");
                Ok(())
            }
        }
    })
    .await
}

/// Runs operations on random objects with all clients for a time.
async fn traffic<Operate, Operation>(
    load: TrafficLoad,
    client: impl Fn(u64) -> Operate,
) -> anyhow::Result<Figures>
where
    Operate: FnMut(Key) -> Operation + Send + 'static,
    Operation: Future<Output = anyhow::Result<()>> + Send,
{
    let start = Instant::now();
    let duration = Duration::from_secs_f64(load.seconds);
    let (measured, end) = (start + duration.mul_f64(WARM_UP), start + duration);
    let mut tasks = JoinSet::new();
    for c in 0..load.clients as u64 {
        let mut operate = client(c);
        tasks.spawn(async move {
            let (mut operations, mut each, mut chance) = (0, Vec::new(), SplitMix(c));
            let mut now = Instant::now();
            while now < end {
                operate(objects::key(chance.below(load.objects))).await?;
                let then = Instant::now();
                operations += 1;
                if now > measured && then < end {
                    each.push(then - now);
                }
                now = then;
            }
            anyhow::Ok((operations, each))
        });
    }
    let (mut operations, mut each) = (0, Vec::new());
    while let Some(ended) = tasks.join_next().await {
        let (more, took) = ended??;
        operations += more;
        each.extend(took);
    }
    ensure!(!each.is_empty(), "none of {operations} operations fell into the measured time");
    each.sort_unstable();
    let at = |hundredth: usize| each[(each.len() - 1) * hundredth / 100].as_secs_f64() * 1e6;
    Ok(Figures::default()
        .with("operations", count(operations))
        .with("per_second", count(each.len()) / (end - measured).as_secs_f64())
        .with("p50_us", at(50))
        .with("p99_us", at(99)))
}
