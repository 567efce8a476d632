//! Latency of one event at a time.

use super::source::Source;
use crate::informer::pods::{app_of, node_of, pods};
use crate::measure::{Figures, count, cpu_time};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use k8s_openapi::api::core::v1::Pod;
use machinery_informers::Informer;
use machinery_objects::{Event, ListWatch};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// The sending and the receiving end of single events.
pub(in crate::informer) struct Hops {
    pods: [Vec<Arc<Pod>>; 2],
    changes: UnboundedSender<Arc<Pod>>,
    received: Receiver<Instant>,
}

/// The measured side: the stream of changes, and the sender of receipts.
pub(in crate::informer) struct Ends {
    pub(in crate::informer) changes: BoxStream<'static, Arc<Pod>>,
    pub(in crate::informer) received: Sender<Instant>,
}

impl Hops {
    pub(in crate::informer) fn new(objects: usize) -> (Self, Ends) {
        let (changes, changed): (_, UnboundedReceiver<Arc<Pod>>) = unbounded_channel();
        let (tell, received) = channel();
        let changed = stream::unfold(changed, |mut changed| async {
            let pod = changed.recv().await?;
            Some((pod, changed))
        });
        let ends = Ends { changes: changed.boxed(), received: tell };
        (Self { pods: [pods(objects, 0), pods(objects, 1)], changes, received }, ends)
    }

    /// Returns the initial pods.
    pub(in crate::informer) fn there(&self) -> Vec<Arc<Pod>> {
        self.pods[0].clone()
    }

    /// Sends `events` changes, each after the last was received and all threads are idle.
    pub(in crate::informer) fn run(self, events: usize) -> anyhow::Result<Figures> {
        const REST: Duration = Duration::from_micros(100);
        const TIMEOUT: Duration = Duration::from_secs(10);
        let mut took = Vec::with_capacity(events);
        let cpu = cpu_time();
        for n in 0..events {
            std::thread::sleep(REST);
            let i = n % self.pods[0].len();
            let pod = self.pods[(n / self.pods[0].len() + 1) % 2][i].clone();
            let began = Instant::now();
            self.changes.send(pod)?;
            took.push(self.received.recv_timeout(TIMEOUT)?.saturating_duration_since(began));
        }
        let cpu = cpu_time().saturating_sub(cpu);
        took.sort_unstable();
        let at = |percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1e6;
        Ok(Figures::default()
            .with("p50_us", at(50))
            .with("p99_us", at(99))
            .with("cpu_us", cpu.as_secs_f64() * 1e6 / count(events)))
    }
}

pub(in crate::informer) fn hop(runtime: &Runtime, objects: usize, events: usize) -> anyhow::Result<Figures> {
    let (hops, Ends { changes, received }) = Hops::new(objects);
    let source: Arc<dyn ListWatch<Arc<Pod>>> = Source::new(hops.there(), changes);
    let mut informer = Informer::<Pod>::builder(source);
    informer.index(|pod: &Pod| app_of(pod).cloned());
    informer.index(|pod: &Pod| node_of(pod).cloned());
    let informer = informer.build();
    let entered = runtime.enter();
    let handler = informer.add_handler(move |event| {
        if matches!(event, Event::Updated { .. }) {
            // The measurement may be over.
            let _ = received.send(Instant::now());
        }
    })?;
    let stopping = CancellationToken::new();
    let running = runtime.spawn(informer.run(stopping.clone()));
    runtime.block_on(informer.synced())?;
    runtime.block_on(handler.synced())?;
    drop(entered);
    let figures = hops.run(events)?;
    stopping.cancel();
    runtime.block_on(running)?;
    Ok(figures)
}
