//! Irrelevant events of agents, and the server's cost of relevant ones.

use super::process::InformerLibrary;
use super::site::RunningServer;
use super::step::InformerStep;
use crate::lines::LineProcess;
use crate::measure::{Figures, count};
use anyhow::{anyhow, ensure};
use std::thread;
use tokio::runtime::Runtime;

/// Events per second, below the capacity of this process' clients.
const RATE: f64 = 1000.0;

pub(super) struct AgentLoad {
    pub(super) agents: usize,
    pub(super) each: usize,
    /// Number of keys, each with an object.
    pub(super) keys: usize,
    pub(super) events: usize,
    pub(super) edits: usize,
}

/// Measures the agents with one interest each, and with one stream per key.
pub(super) fn agents(there: &RunningServer, runtime: &Runtime, few: &AgentLoad) -> anyhow::Result<Figures> {
    let alone = runtime.block_on(there.write(few.keys, few.events, 1, RATE))?;
    let mut figures = Figures::default().with("write_us", alone);
    for (per_key, prefix) in [(false, "interest"), (true, "per_key")] {
        figures = by(there, runtime, few, per_key, prefix, alone, figures)?;
    }
    let both = figures.of("interest_events").zip(figures.of("per_key_events"));
    ensure!(both.is_some_and(|(one, other)| (one - other).abs() < 0.5), "both are told the same: {both:?}");
    Ok(figures)
}

fn by(
    there: &RunningServer,
    runtime: &Runtime,
    few: &AgentLoad,
    per_key: bool,
    prefix: &str,
    alone: f64,
    figures: Figures,
) -> anyhow::Result<Figures> {
    let &AgentLoad { agents, each, keys, events, edits } = few;
    let metric = |name: &str, with: &str| runtime.block_on(there.metric(name, with));
    let mut process = super::measured::begin(InformerLibrary::Ours)?;
    let begun = process.ask(&InformerStep::Agents {
        agents,
        each,
        keys,
        kubeconfig: there.kubeconfig.clone(),
        per_key,
    })?;
    let connections = metric("machinery_connections", "")?;
    let streams = metric("apiserver_longrunning_requests", "")?;
    let irrelevant = metric("machinery_interest_irrelevant_events_total", "")?;
    let told = metric("apiserver_watch_events_total", "configmaps")?;
    let bytes = metric("machinery_response_bytes_total", r#"verb="WATCH""#)?;

    let cpu_us = runtime.block_on(there.write(keys, events, 1 + events, RATE))?;
    // Each key is held by equally many agents.
    let expected = events * agents * each / keys;
    let heard = process.ask(&InformerStep::Heard { events: expected })?;
    let sent = metric("apiserver_watch_events_total", "configmaps")? - told;
    let bytes = metric("machinery_response_bytes_total", r#"verb="WATCH""#)? - bytes;
    // The server's count of irrelevant events, and the surplus of events sent.
    let counted = metric("machinery_interest_irrelevant_events_total", "")? - irrelevant;
    let superfluous = (sent - count(expected)).max(0.0);

    let edited = process.ask(&InformerStep::Edits { edits })?;
    // Again, with concurrent events.
    thread::scope(|scope| {
        let written = scope.spawn(|| runtime.block_on(there.write(keys, events / 10, 1 + 2 * events, RATE)));
        let edited = process.ask(&InformerStep::Edits { edits }).map(drop);
        written.join().map_err(|_| anyhow!("the writer panicked"))?.map(drop).and(edited)
    })?;
    let counted_all = metric("machinery_interest_irrelevant_events_total", "")? - irrelevant;
    let told_all = process.ask(&InformerStep::Heard { events: 0 })?.of("irrelevant").unwrap_or(f64::NAN);
    let after = (metric("machinery_connections", "")?, metric("apiserver_longrunning_requests", "")?);
    end(process)?;
    let per_agent = |all: f64| all / count(agents);
    let also = |figures: &Figures, name: &str| figures.of(name).unwrap_or(f64::NAN);
    let with = |figures: Figures, name: &str, figure: f64| figures.with(&format!("{prefix}_{name}"), figure);
    let mut all = figures;
    for (name, figure) in [
        ("irrelevant", counted.max(counted_all) + superfluous + told_all),
        ("events", per_agent(sent)),
        ("bytes", per_agent(bytes)),
        ("event_us", cpu_us - alone),
        ("connections", connections),
        ("connections_after", after.0),
        ("streams", streams),
        ("streams_after", after.1),
        ("edits_per_second", also(&edited, "edits_per_second")),
        ("begin_s", also(&begun, "begin_s")),
        ("heard", also(&heard, "told")),
    ] {
        all = with(all, name, figure);
    }
    Ok(all)
}

/// Measures the same writes with one agent that holds few keys, and then many.
pub(super) fn keys(
    there: &RunningServer,
    runtime: &Runtime,
    few: usize,
    many: usize,
    events: usize,
) -> anyhow::Result<Figures> {
    let alone = runtime.block_on(there.write(few, events, events, RATE))?;
    let mut process = super::measured::begin(InformerLibrary::Ours)?;
    let kubeconfig = there.kubeconfig.clone();
    process.ask(&InformerStep::Agents { agents: 1, each: few, keys: many, kubeconfig, per_key: false })?;
    let mut costs = [0.0, 0.0];
    // A first round for one-time allocations; then alternating, as the machine's speed varies.
    for (turn, (held, counts)) in
        [(few, false), (few, true), (many, true), (many, true), (few, true)].into_iter().enumerate()
    {
        process.ask(&InformerStep::Holds { keys: held })?;
        process.ask(&InformerStep::Heard { events: 0 })?;
        let cost = runtime.block_on(there.write(few, events, (turn + 2) * events, RATE))?;
        process.ask(&InformerStep::Heard { events })?;
        if counts {
            costs[usize::from(held == many)] += cost / 2.0;
        }
    }
    end(process)?;
    let [few, many] = costs;
    Ok(Figures::default()
        .with("ratio", many / few)
        .with("few_us", few)
        .with("many_us", many)
        .with("write_us", alone))
}

/// Kills the process: an orderly release would take long.
fn end(process: LineProcess) -> anyhow::Result<()> {
    process.kill()
}
