//! Random sequences of events: CRs, pods, Deployments, agents and lost answers, in virtual time. At
//! rest every pod holds exactly the rules of the CRs in their order, beside a foreign one.

use std::collections::BTreeMap;
use std::time::Duration;

use machinery::tokio;

use crate::occurrences::{ALL, Occurrence};
use crate::world::World;

/// The events and the pairs of events that occurred.
#[derive(Default)]
struct Coverage {
    single: BTreeMap<Occurrence, usize>,
    pairs: BTreeMap<(Occurrence, Occurrence), usize>,
}

async fn run_sequence(seed: u64, coverage: &mut Coverage) {
    let mut world = World::new(seed).await;
    let (mut last, mut shown) = (None, Vec::new());
    for _ in 0..18 {
        let occurrence = ALL[world.dice.roll(ALL.len())];
        *coverage.single.entry(occurrence).or_default() += 1;
        if let Some(last) = last.replace(occurrence) {
            *coverage.pairs.entry((last, occurrence)).or_default() += 1;
        }
        shown.push(occurrence);
        world.perform(occurrence).await;
        let pause = [0, 10, 300, 2_000, 9_000][world.dice.roll(5)];
        tokio::time::sleep(Duration::from_millis(pause)).await;
        world.check_silence(&format!("seed {seed}: {shown:?}")).await;
    }
    world.settle(&format!("seed {seed}: {shown:?}")).await;
}

/// The number of sequences: `SDEWAN_SEQUENCES`, or a share of them for each run of the tests.
fn sequences() -> u64 {
    std::env::var("SDEWAN_SEQUENCES").ok().and_then(|text| text.parse().ok()).unwrap_or(30)
}

#[tokio::test(start_paused = true)]
async fn random_sequences_end_with_the_rules_of_the_crs() {
    let mut coverage = Coverage::default();
    let first = std::env::var("SDEWAN_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    for seed in first..first + sequences() {
        run_sequence(seed, &mut coverage).await;
    }
    let pairs = ALL.len() * ALL.len();
    println!("events: {:?}", coverage.single);
    println!("pairs: {} of {pairs}, at least {:?}", coverage.pairs.len(), coverage.pairs.values().min());
    if sequences() >= 30 {
        assert_eq!(coverage.single.len(), ALL.len());
    }
    if sequences() >= 1000 {
        assert_eq!(coverage.pairs.len(), pairs);
    }
}
