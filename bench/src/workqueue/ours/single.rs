//! Shapes with one thread that adds and takes.

use super::super::keys::{self, QueueKey};
use super::{MeteredQueue, add};
use crate::measure::{Figures, Lap};
use crate::random::SplitMix;
use anyhow::Context;
use machinery_workqueue::{Add, Queue};

/// A non-default priority for all keys.
const ONE: i32 = 1;

/// Adds every key with the priority from `level`, then takes and completes each.
async fn round_trip(
    queue: &Queue<QueueKey>,
    keys: &[QueueKey],
    level: impl Fn(usize) -> i32,
) -> anyhow::Result<()> {
    for (i, key) in keys.iter().enumerate() {
        queue.add_ref(key, add(level(i), i))?;
    }
    take(queue, keys.len()).await
}

async fn take(queue: &Queue<QueueKey>, n: usize) -> anyhow::Result<()> {
    for _ in 0..n {
        queue.get().await.context("the queue is closed")?.done();
    }
    Ok(())
}

pub(super) async fn add_get_done(n: usize, passes: usize) -> anyhow::Result<Figures> {
    let (keys, measured) = (keys::make(n), MeteredQueue::new()?);
    round_trip(&measured.queue, &keys, |_| ONE).await?;
    let mut lap = Lap::started();
    for _ in 0..passes {
        round_trip(&measured.queue, &keys, |_| ONE).await?;
    }
    lap.stop();
    Ok(lap.per(passes * n))
}

pub(super) async fn in_batches(n: usize, passes: usize, batch: usize) -> anyhow::Result<Figures> {
    let (keys, measured) = (keys::make(n), MeteredQueue::new()?);
    let queue = &measured.queue;
    let pass = || async {
        for (i, keys) in keys.chunks(batch).enumerate() {
            queue.add_all(keys.iter().cloned(), add(ONE, i))?;
        }
        let mut left = n;
        while left > 0 {
            let batch = queue.get_batch(batch).await.context("the queue is closed")?;
            left -= batch.len();
            batch.done();
        }
        anyhow::Ok(())
    };
    pass().await?;
    let mut lap = Lap::started();
    for _ in 0..passes {
        pass().await?;
    }
    lap.stop();
    Ok(lap.per(passes * n))
}

pub(super) async fn priorities_over_plain(n: usize, passes: usize, levels: usize) -> anyhow::Result<Figures> {
    let (keys, mixed, even) = (keys::make(n), MeteredQueue::new()?, MeteredQueue::new()?);
    let mut chance = SplitMix(3);
    let priorities: Vec<i32> =
        (0..n).map(|_| i32::try_from(chance.below(levels))).collect::<Result<_, _>>()?;
    let (mut in_mixed, mut in_even) = (Lap::default(), Lap::default());
    for _ in 0..passes {
        in_mixed.start();
        round_trip(&mixed.queue, &keys, |i| priorities[i]).await?;
        in_mixed.stop();
        in_even.start();
        round_trip(&even.queue, &keys, |_| ONE).await?;
        in_even.stop();
    }
    Ok(Figures::default().with("ratio", in_mixed.wall().div_duration_f64(in_even.wall())))
}

pub(super) async fn duplicate_add(n: usize, passes: usize) -> anyhow::Result<Figures> {
    let (keys, visits, measured) = (keys::make(n), keys::order(n), MeteredQueue::new()?);
    let queue = &measured.queue;
    for (i, key) in keys.iter().enumerate() {
        queue.add_with(key.clone(), add(ONE, i))?;
    }
    let (mut lap, mut plain) = (Lap::default(), Lap::default());
    for pass in 0..passes {
        lap.start();
        for &i in &visits {
            queue.add_ref(&keys[i], add(ONE, pass))?;
        }
        lap.stop();
        plain.start();
        for &i in &visits {
            queue.add_ref(&keys[i], Add::new())?;
        }
        plain.stop();
    }
    let plain = plain.per(passes * n).of("ns").unwrap_or_default();
    Ok(lap.per(passes * n).with("plain_ns", plain))
}

pub(super) async fn delayed_add(n: usize, passes: usize, sooner: bool) -> anyhow::Result<Figures> {
    let (keys, waits, visits, measured) =
        (keys::make(n), keys::delays(n), keys::order(n), MeteredQueue::new()?);
    let queue = &measured.queue;
    for (key, &wait) in keys.iter().zip(&waits) {
        queue.add_after(key.clone(), wait)?;
    }
    let mut lap = Lap::started();
    for pass in 0..passes {
        for &i in &visits {
            queue.add_ref(&keys[i], Add::new().after(keys::readd(waits[i], sooner, pass, i)))?;
        }
    }
    lap.stop();
    Ok(lap.per(passes * n))
}

pub(super) async fn delayed_add_new(n: usize) -> anyhow::Result<Figures> {
    let (keys, waits, measured) = (keys::make(n), keys::delays(n), MeteredQueue::new()?);
    let mut lap = Lap::started();
    for (key, &wait) in keys.iter().zip(&waits) {
        measured.queue.add_after(key.clone(), wait)?;
    }
    lap.stop();
    Ok(lap.per(n))
}

pub(super) async fn get_done(n: usize, passes: usize) -> anyhow::Result<Figures> {
    let (keys, measured) = (keys::make(n), MeteredQueue::new()?);
    let mut lap = Lap::default();
    for _ in 0..passes {
        for (i, key) in keys.iter().enumerate() {
            measured.queue.add_with(key.clone(), add(ONE, i))?;
        }
        lap.start();
        take(&measured.queue, n).await?;
        lap.stop();
    }
    Ok(lap.per(passes * n))
}
