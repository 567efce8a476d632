//! Agents, each with its own connection and keyed informers that hold a few keys.

use super::configs::{Config, key, key_of};
use super::ours::{config, kind};
use crate::measure::{Figures, count, cpu_time};
use crate::random::SplitMix;
use anyhow::{Context, ensure};
use machinery_informers::{Interest, KeyedInformers};
use machinery_kube::{Connections, Remote, ServerProfile, client};
use machinery_objects::{Event, InterestBy, ListWatch};
use machinery_sync::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct AgentGroup {
    agents: Vec<Agent>,
    keys: usize,
    counts: Arc<EventCounts>,
    chance: SplitMix,
    _stop: DropGuard,
}

struct Agent {
    informers: KeyedInformers<String, Config>,
    interests: Vec<Interest<String, Config>>,
    /// The agent's keys, to verify its events.
    holds: Arc<Mutex<Vec<String>>>,
}

/// Counts of the events of all handlers.
#[derive(Default)]
struct EventCounts {
    /// Changes, without initial objects and released keys.
    changes: AtomicUsize,
    /// Events and initial objects under no key that the agent holds.
    irrelevant: AtomicUsize,
}

/// Returns the initial keys of an agent: neighbours share a key, and together the agents hold all
/// keys.
fn first(agent: usize, agents: usize, each: usize, keys: usize) -> impl Iterator<Item = String> {
    let from = agent * keys / agents;
    (from..from + each).map(move |i| key(i % keys))
}

impl AgentGroup {
    pub(super) async fn begin(
        kubeconfig: &Path,
        agents: usize,
        each: usize,
        keys: usize,
        per_key: bool,
    ) -> anyhow::Result<(Self, Figures)> {
        let (began, cpu) = (Instant::now(), cpu_time());
        let (counts, stopping) = (Arc::new(EventCounts::default()), CancellationToken::new());
        let config = config(kubeconfig).await?;
        let mut all = Vec::with_capacity(agents);
        for agent in 0..agents {
            let client = client(config.clone(), Connections::default())?;
            let source: Arc<dyn ListWatch<Config>> =
                Arc::new(Remote::<Config>::new(client, kind()?, ServerProfile::machinery()));
            let by = InterestBy::Label(super::configs::KEY.into());
            let builder = KeyedInformers::builder(source, by, key_of);
            let informers = if per_key { builder.per_key() } else { builder }.build();
            let holds: Arc<Mutex<Vec<String>>> = Arc::default();
            informers.add_handler(counting(counts.clone(), holds.clone()))?.detach();
            tokio::spawn(informers.run(stopping.clone()));
            let mut agent_ = Agent { informers, interests: Vec::new(), holds };
            for key in first(agent, agents, each, keys) {
                agent_.acquire(key)?;
            }
            all.push(agent_);
            // Agents start over time, not all at once.
            if all.len().is_multiple_of(50) {
                synced(&all).await?;
            }
        }
        synced(&all).await?;
        let begun = Self { agents: all, keys, counts, chance: SplitMix(7), _stop: stopping.drop_guard() };
        let figures = Figures::default()
            .with("begin_s", began.elapsed().as_secs_f64())
            .with("begin_cpu_s", cpu_time().saturating_sub(cpu).as_secs_f64());
        Ok((begun, figures))
    }

    /// Waits for `events` changes, and a moment more for unexpected ones.
    pub(super) async fn wait_for_events(&mut self, events: usize) -> anyhow::Result<Figures> {
        let end = Instant::now() + TIMEOUT;
        loop {
            let counts = self.counts.changes.load(Relaxed);
            if counts >= events {
                break;
            }
            ensure!(Instant::now() < end, "{counts} of {events} changes were received");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let streams: u64 = self.agents.iter().map(|agent| agent.informers.state().streams).sum();
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let streams = streams as f64;
        Ok(Figures::default()
            .with("told", count(self.counts.changes.swap(0, Relaxed)))
            .with("irrelevant", count(self.counts.irrelevant.load(Relaxed)))
            .with("streams", streams))
    }

    /// Lets each agent in turn release a key and acquire another, `edits` times in all, and then
    /// restores the initial keys.
    pub(super) async fn edit(&mut self, edits: usize) -> anyhow::Result<Figures> {
        let (began, cpu) = (Instant::now(), cpu_time());
        let (agents, keys) = (self.agents.len(), self.keys);
        let mut done = 0;
        while done < edits {
            for agent in &mut self.agents {
                let new = loop {
                    let new = key(self.chance.below(keys));
                    if !agent.holds.lock().contains(&new) {
                        break new;
                    }
                };
                agent.acquire(new)?;
                agent.release(0);
                done += 2; // one key comes and one goes
            }
            synced(&self.agents).await?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let cpu = cpu_time().saturating_sub(cpu);
        for (at, agent) in self.agents.iter_mut().enumerate() {
            let each = agent.interests.len();
            for key in first(at, agents, each, keys) {
                agent.acquire(key)?;
            }
            for _ in 0..each {
                agent.release(0);
            }
        }
        synced(&self.agents).await?;
        self.counts.changes.store(0, Relaxed);
        Ok(Figures::default()
            .with("edits", count(done))
            .with("edits_per_second", count(done) / seconds)
            .with("edit_cpu_us", cpu.as_secs_f64() * 1e6 / count(done)))
    }

    /// Lets the first agent hold the first `keys` keys.
    pub(super) async fn hold(&mut self, keys: usize) -> anyhow::Result<Figures> {
        let began = Instant::now();
        let agent = self.agents.first_mut().context("there is no agent")?;
        while agent.interests.len() > keys {
            agent.release(agent.interests.len() - 1);
        }
        for i in agent.interests.len()..keys {
            agent.acquire(key(i))?;
        }
        synced(&self.agents).await?;
        Ok(Figures::default().with("hold_s", began.elapsed().as_secs_f64()))
    }
}

impl Agent {
    fn acquire(&mut self, key: String) -> anyhow::Result<()> {
        self.holds.lock().push(key.clone());
        self.interests.push(self.informers.acquire(key)?);
        Ok(())
    }

    fn release(&mut self, at: usize) {
        drop(self.interests.remove(at));
        self.holds.lock().remove(at);
    }
}

async fn synced(agents: &[Agent]) -> anyhow::Result<()> {
    for (number, agent) in agents.iter().enumerate() {
        for interest in &agent.interests {
            let synced = tokio::time::timeout(TIMEOUT, interest.synced()).await;
            synced.with_context(|| {
                format!("agent {number} does not know {}: {:?}", interest.key(), agent.informers.state())
            })??;
        }
    }
    Ok(())
}

fn counting(
    counts: Arc<EventCounts>,
    holds: Arc<Mutex<Vec<String>>>,
) -> impl FnMut(&String, Event<Arc<Config>>) + Send + 'static {
    move |key, event| {
        match &event {
            Event::Added { .. } => {}
            Event::Updated { .. } | Event::Deleted { .. } => drop(counts.changes.fetch_add(1, Relaxed)),
            _ => return, // it was let go
        }
        let under = key_of(event.object());
        let held = holds.lock().iter().any(|held| held == key);
        if under.as_ref() != Some(key) || !held {
            counts.irrelevant.fetch_add(1, Relaxed);
        }
    }
}
