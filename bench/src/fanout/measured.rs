//! The subjects of this suite: a server with watching clients.

use super::shape::{FanoutShape, INTERESTED, Traffic, seats};
use crate::measure::{Figures, count, cpu_time};
use crate::process;
use crate::server::{Access, Measure, ServerSite, settled};
use crate::watches::{Lags, Publisher, WatchLayout, WatchPool, WriteTimes};
use anyhow::{Context, ensure};
use std::time::{Duration, Instant};

/// Timeout after which an event counts as lost.
const TIMEOUT: Duration = Duration::from_secs(120);

/// In the shape with stalled watches, one of this many never reads.
const STALLED: usize = INTERESTED;

/// Timeout for ending stalled watches; any left fails the shape.
const STALLED_TIMEOUT: Duration = Duration::from_secs(60);

/// The minimum share of the configured writes.
const KEPT_UP: f64 = 0.9;
const MIB: f64 = (1_u32 << 20) as f64;

pub(super) struct FanoutSubject(ServerSite);

/// The server's CPU time per event, and when idle.
struct Cost {
    /// CPU µs per event, minus idle time.
    event_us: f64,
    /// CPU µs per idle second.
    idle_us: f64,
    client_us: f64,
    per_second: f64,
    lags: Lags,
}

impl From<ServerSite> for FanoutSubject {
    fn from(site: ServerSite) -> Self {
        Self(site)
    }
}

impl Measure<FanoutShape> for FanoutSubject {
    fn site(&mut self) -> &mut ServerSite {
        &mut self.0
    }

    fn measure(&mut self, kind: &FanoutShape) -> anyhow::Result<Figures> {
        match *kind {
            FanoutShape::Event { watches, traffic } => self.event(watches, traffic),
            FanoutShape::Cost { few, many, traffic } => self.cost(few, many, traffic),
            FanoutShape::Stalled { watches, rate, seconds } => self.stalled(watches, rate, seconds),
        }
    }
}

impl FanoutSubject {
    fn event(&mut self, watches: usize, traffic: Traffic) -> anyhow::Result<Figures> {
        let seats = seats(watches);
        let (access, mut publisher) = self.load(seats.shards)?;
        let write = self.events(&mut publisher, None, seats.shards, traffic)?;
        let audience = self.gather(&access, seats, &publisher)?;
        let event = self.events(&mut publisher, Some(&audience), seats.shards, traffic)?;
        Ok(Figures::default()
            .with("event_us", event.event_us)
            .with("write_us", write.event_us)
            .with("told_us", event.event_us - write.event_us)
            .with("idle_us", event.idle_us)
            .with("client_us", event.client_us)
            .with("per_second", event.per_second)
            .with("lag_p50_ms", event.lags.ms(50))
            .with("lag_p99_ms", event.lags.ms(99)))
    }

    fn cost(&mut self, few: usize, many: usize, traffic: Traffic) -> anyhow::Result<Figures> {
        let [few, many] = [few, many].map(seats);
        let (access, mut publisher) = self.load(many.shards)?;
        let audience = self.gather(&access, few, &publisher)?;
        let with_few = self.events(&mut publisher, Some(&audience), few.shards, traffic)?;
        drop(audience);
        let audience = self.gather(&access, many, &publisher)?;
        let with_many = self.events(&mut publisher, Some(&audience), many.shards, traffic)?;
        Ok(Figures::default()
            .with("ratio", with_many.event_us / with_few.event_us)
            .with("few_us", with_few.event_us)
            .with("many_us", with_many.event_us)
            .with("few_idle_us", with_few.idle_us)
            .with("many_idle_us", with_many.idle_us)
            .with("many_lag_p99_ms", with_many.lags.ms(99)))
    }

    fn stalled(&mut self, watches: usize, rate: f64, seconds: f64) -> anyhow::Result<Figures> {
        let seats = WatchLayout { stalled: Some(STALLED), ..seats(watches) };
        let stalled: Vec<usize> = (0..watches).filter(|watch| seats.stalls(*watch)).collect();
        let (access, mut publisher) = self.load(seats.shards)?;
        let audience = self.gather(&access, seats, &publisher)?;
        let pid = self.0.server.pid()?;
        process::forget_peak(pid)?;
        let (before, _) = process::memory(pid)?;
        let (start, cpu, client) = (Instant::now(), process::cpu_us(pid)?, cpu_time());
        let (times, ended, lags) = self.0.runtime.block_on(async {
            let mut times = WriteTimes::default();
            loop {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some hundreds")]
                let a_second = rate as usize;
                times.extend(publisher.write(seats.shards, a_second, Some(rate)).await?);
                let ended = audience.events.stalled();
                let enough = start.elapsed().as_secs_f64() >= seconds;
                if (enough && ended.len() == stalled.len()) || start.elapsed() > STALLED_TIMEOUT {
                    let lags = audience.events.all(&times, INTERESTED - 1, TIMEOUT).await?;
                    return anyhow::Ok((times, ended, lags));
                }
            }
        })?;
        let wall = start.elapsed().as_secs_f64();
        let cpu = process::cpu_us(pid)? - cpu;
        let client = cpu_time().saturating_sub(client);
        let per_second = count(times.len()) / wall;
        ensure!(
            per_second >= rate * KEPT_UP,
            "{per_second:.0} writes/s were answered, where {rate} were to be"
        );
        let left = stalled.len() - ended.len();
        ensure!(left == 0, "{left} of {} that never read were not ended in {wall:.0} s", stalled.len());
        let mut took: Vec<f64> = Vec::with_capacity(ended.len());
        for (watch, ended) in &ended {
            let owed = times.first_after(ended.last, watch % seats.shards);
            let owed = owed.with_context(|| format!("watch {watch} was ended, and is owed nothing"))?;
            took.push(ended.at.saturating_duration_since(owed).as_secs_f64());
        }
        let (first, last) = (took.iter().copied().reduce(f64::min), took.iter().copied().reduce(f64::max));
        Ok(Figures::default()
            .with("others_p99_ms", lags.ms(99))
            .with("others_p50_ms", lags.ms(50))
            .with("others_worst_ms", lags.ms(100))
            .with("delivered", count(lags.count()))
            .with("per_second", per_second)
            .with("event_us", cpu / count(times.len()))
            .with("client_us", client.as_secs_f64() * 1e6 / count(times.len()))
            .with("grown_mib", (process::peak(pid)? - before) / MIB)
            .with("before_mib", before / MIB)
            .with("ended_last_s", last.unwrap_or_default())
            .with("ended_first_s", first.unwrap_or_default()))
    }

    /// Starts a server with one object per shard.
    fn load(&mut self, shards: usize) -> anyhow::Result<(Access, Publisher)> {
        let access = self.0.begin()?;
        let publisher = self.0.runtime.block_on(Publisher::load(&access, shards))?;
        settled(self.0.server.pid()?)?;
        Ok((access, publisher))
    }

    fn gather(
        &self,
        access: &Access,
        seats: WatchLayout,
        publisher: &Publisher,
    ) -> anyhow::Result<WatchPool> {
        let revision = publisher.revision();
        let audience = self.0.runtime.block_on(WatchPool::gather(access, seats, &revision))?;
        self.rest(Duration::from_millis(200));
        settled(self.0.server.pid()?)?;
        Ok(audience)
    }

    /// Measures idle time, and then events, each selected by ten watches, if there are any.
    fn events(
        &self,
        publisher: &mut Publisher,
        audience: Option<&WatchPool>,
        shards: usize,
        traffic: Traffic,
    ) -> anyhow::Result<Cost> {
        let pid = self.0.server.pid()?;
        // A first phase for one-time allocations.
        self.phase(publisher, audience, shards, Traffic { events: INTERESTED, ..traffic })?;
        let (start, cpu) = (Instant::now(), process::cpu_us(pid)?);
        self.rest(Duration::from_secs_f64(traffic.idle_seconds));
        let idle_us = (process::cpu_us(pid)? - cpu) / start.elapsed().as_secs_f64();

        let (start, cpu, client) = (Instant::now(), process::cpu_us(pid)?, cpu_time());
        let lags = self.phase(publisher, audience, shards, traffic)?;
        let (wall, cpu) = (start.elapsed().as_secs_f64(), process::cpu_us(pid)? - cpu);
        let each = |us: f64| us / count(traffic.events);
        Ok(Cost {
            event_us: each(cpu - idle_us * wall),
            idle_us,
            client_us: each(cpu_time().saturating_sub(client).as_secs_f64() * 1e6),
            per_second: count(traffic.events) / wall,
            lags,
        })
    }

    fn phase(
        &self,
        publisher: &mut Publisher,
        audience: Option<&WatchPool>,
        shards: usize,
        traffic: Traffic,
    ) -> anyhow::Result<Lags> {
        self.0.runtime.block_on(async {
            let times = publisher.write(shards, traffic.events, Some(traffic.rate)).await?;
            match audience {
                Some(audience) => audience.events.all(&times, INTERESTED, TIMEOUT).await,
                None => Ok(Lags::default()),
            }
        })
    }

    /// Runs the clients' tasks for a while.
    fn rest(&self, time: Duration) {
        self.0.runtime.block_on(async { tokio::time::sleep(time).await });
    }
}
