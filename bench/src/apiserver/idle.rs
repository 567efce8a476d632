//! Memory of the server per watch: idle, and idle again after one event.

use super::measured::KIB;
use crate::measure::{Figures, count};
use crate::process;
use crate::server::{Access, settled};
use crate::watches::{Publisher, WatchLayout, WatchPool};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Timeout for all events. The peer evaluates ten thousand watches for each of ten thousand events.
const TIMEOUT: Duration = Duration::from_secs(900);

/// Watches opened and closed before memory is measured, for one-time allocations.
const WARM_UP: usize = 10;

/// Measures watches that each select a label value of their own.
pub(super) fn idle(
    access: &Access,
    pid: u32,
    runtime: &Runtime,
    watches: usize,
    per_connection: usize,
) -> anyhow::Result<Figures> {
    let seats = WatchLayout { watches, shards: watches, per_connection, stalled: None };
    let anonymous = || -> anyhow::Result<f64> {
        runtime.block_on(async { tokio::time::sleep(Duration::from_millis(200)).await }); // lets the clients' tasks go on
        settled(pid)?;
        Ok(process::memory(pid)?.1)
    };
    let mut publisher = runtime.block_on(Publisher::load(access, watches))?;
    let few = WatchLayout { watches: WARM_UP, ..seats };
    drop(runtime.block_on(WatchPool::gather(access, few, &publisher.revision()))?);

    let loaded = anonymous()?;
    runtime.block_on(publisher.write(watches, watches, None))?;
    let before = anonymous()?;
    let audience = runtime.block_on(WatchPool::gather(access, seats, &publisher.revision()))?;
    let idle = anonymous()?;
    runtime.block_on(async {
        let times = publisher.write(watches, watches, None).await?;
        audience.events.all(&times, 1, TIMEOUT).await
    })?;
    let used = anonymous()?;

    let (each, written) = (|bytes: f64| bytes / KIB / count(watches), before - loaded);
    Ok(Figures::default()
        .with("idle_kib", each(idle - before))
        .with("used_kib", each(used - before - written))
        .with("written_kib", each(written)))
}
