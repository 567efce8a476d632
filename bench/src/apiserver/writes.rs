//! Creates and updates, one at a time per client.

use crate::measure::{Figures, count, cpu_time};
use crate::server::objects::{self, PATH, Writer, revision};
use crate::server::{Access, Client};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// The initial share of the time that is not measured.
const WARM_UP: f64 = 0.1;

/// A client with the objects it has created, by number, with their revisions.
pub(super) struct WriterClient {
    number: usize,
    client: Client,
    writer: Writer,
    revisions: Vec<String>,
}

/// Connects `clients` clients, each of which has created one object.
pub(super) async fn writer_clients(access: &Access, clients: usize) -> anyhow::Result<Vec<WriterClient>> {
    let mut writer_clients = Vec::new();
    for number in 0..clients {
        let client = Client::connect(access).await?;
        let mut maker = WriterClient { number, client, writer: Writer::new(number), revisions: Vec::new() };
        maker.create().await?;
        writer_clients.push(maker);
    }
    Ok(writer_clients)
}

/// Creates objects until there are `objects`, as fast as possible.
pub(super) async fn load(writer_clients: Vec<WriterClient>, objects: usize) -> anyhow::Result<()> {
    let clients = writer_clients.len();
    let mut tasks = JoinSet::new();
    for mut maker in writer_clients {
        tasks.spawn(async move {
            for _ in (maker.number..objects).step_by(clients).skip(1) {
                maker.create().await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

/// Lets all clients create for `seconds`; every acknowledged object must exist.
pub(super) async fn creates(
    writer_clients: Vec<WriterClient>,
    seconds: f64,
) -> anyhow::Result<(Vec<WriterClient>, Figures)> {
    let (mut writer_clients, figures) =
        traffic(writer_clients, seconds, async |maker| maker.create().await).await?;
    let made: usize = writer_clients.iter().map(|maker| maker.revisions.len()).sum();
    let first = &mut writer_clients.first_mut().context("there is no client")?.client;
    let page: Value = serde_json::from_slice(&first.get(&format!("{PATH}?limit=1")).await?)?;
    let behind = page["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
    ensure!(behind + 1 == made as u64, "{made} creates were acknowledged, and {} are there", behind + 1);
    Ok((writer_clients, figures))
}

/// Lets all clients replace their objects in turn.
pub(super) async fn updates(writer_clients: Vec<WriterClient>, seconds: f64) -> anyhow::Result<Figures> {
    let (_, figures) = traffic(writer_clients, seconds, async |maker| maker.update().await).await?;
    Ok(figures)
}

impl WriterClient {
    async fn create(&mut self) -> anyhow::Result<()> {
        let body = self.writer.new_object(&objects::name(self.number, self.revisions.len()));
        let answer = self.client.post(PATH, body).await?;
        self.revisions.push(revision(&answer)?.to_owned());
        Ok(())
    }

    async fn update(&mut self) -> anyhow::Result<()> {
        let i = self.writer.turn() % self.revisions.len();
        let name = objects::name(self.number, i);
        let body = self.writer.replacement(&name, &self.revisions[i]);
        let answer = self.client.put(&format!("{PATH}/{name}"), body).await?;
        self.revisions[i].clear();
        self.revisions[i].push_str(revision(&answer)?);
        Ok(())
    }
}

async fn traffic(
    writer_clients: Vec<WriterClient>,
    seconds: f64,
    operate: impl AsyncFn(&mut WriterClient) -> anyhow::Result<()>,
) -> anyhow::Result<(Vec<WriterClient>, Figures)> {
    let (start, cpu) = (Instant::now(), cpu_time());
    let duration = Duration::from_secs_f64(seconds);
    let (measured, end) = (start + duration.mul_f64(WARM_UP), start + duration);
    let clients = writer_clients.into_iter().map(async |mut maker| {
        let (mut operations, mut each) = (0, Vec::new());
        let mut now = Instant::now();
        while now < end {
            operate(&mut maker).await?;
            let then = Instant::now();
            operations += 1;
            if now > measured && then < end {
                each.push(then - now);
            }
            now = then;
        }
        anyhow::Ok((maker, operations, each))
    });
    let (mut writer_clients, mut operations, mut each) = (Vec::new(), 0, Vec::new());
    for (maker, more, took) in futures::future::try_join_all(clients).await? {
        writer_clients.push(maker);
        operations += more;
        each.extend(took);
    }
    let cpu = cpu_time().saturating_sub(cpu);
    ensure!(!each.is_empty(), "none of {operations} operations fell into the measured time");
    each.sort_unstable();
    let at = |hundredth: usize| each[(each.len() - 1) * hundredth / 100].as_secs_f64() * 1e6;
    let figures = Figures::default()
        .with("operations", count(operations))
        .with("per_second", count(each.len()) / (end - measured).as_secs_f64())
        .with("p50_us", at(50))
        .with("p99_us", at(99))
        .with("client_cpu_us", cpu.as_secs_f64() * 1e6 / count(operations));
    Ok((writer_clients, figures))
}
