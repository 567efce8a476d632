//! Model test: candidates, a store, and a network with loss and delay. Terms never overlap, and one
//! candidate leads in the end.
//!
//! True time advances in steps of 50 ms. Each candidate has a clock with its own offset and rate,
//! and receives messages only through the network.

mod simulation;
mod store;

use proptest::prelude::*;

use crate::lease::ElectionConfig;
use simulation::Simulation;

const TICK: f64 = 0.05;
/// Ticks with faults and pauses.
const FAULTY_TICKS: u32 = 2400;
/// Ticks without faults afterwards: more than two lease durations and a poll of the slowest
/// candidate.
const HEALTHY_TICKS: u32 = 1000;

/// Fault of one candidate, at a tick.
#[derive(Clone, Debug)]
enum Fault {
    /// The process is suspended for this number of ticks.
    Pause(u32),
    /// The process restarts without memory.
    Crash,
    /// The candidate resigns, then runs again.
    Leave,
    /// Another client deletes the Lease.
    Delete,
    /// Another client changes an unrelated field of the Lease.
    Touch,
}

#[derive(Clone, Debug)]
struct Script {
    /// Rate and offset of each clock.
    clocks: Vec<(f64, u64)>,
    /// Tick, candidate and fault.
    faults: Vec<(u32, usize, Fault)>,
    /// Loss and delay in ticks, for each message in turn.
    network: Vec<(bool, u32)>,
}

fn config(at: usize) -> ElectionConfig {
    ElectionConfig::new("n/x".parse().unwrap(), &format!("c{at}"), at as u64)
}

fn script(
    clocks: impl Strategy<Value = (f64, u64)>,
    faults: impl Strategy<Value = Fault>,
) -> impl Strategy<Value = Script> {
    let clocks = prop::collection::vec(clocks, 2..5);
    let faults = prop::collection::vec((1..FAULTY_TICKS, 0..4_usize, faults), 0..12);
    // Delays of up to eight seconds, mostly short ones.
    let delay = prop_oneof![4 => 0..4_u32, 1 => 0..160_u32];
    let network = prop::collection::vec((prop::bool::weighted(0.15), delay), 1..80);
    (clocks, faults, network).prop_map(|(clocks, faults, network)| Script { clocks, faults, network })
}

fn clock() -> impl Strategy<Value = (f64, u64)> {
    (0.85..1.2, 0..100_000_000_u64)
}

/// Faults that neither suspend a candidate nor replace the Lease.
fn plain_fault() -> impl Strategy<Value = Fault> {
    prop_oneof![Just(Fault::Crash), Just(Fault::Leave), Just(Fault::Touch)]
}

fn any_fault() -> impl Strategy<Value = Fault> {
    prop_oneof![2 => plain_fault(), 2 => (1..900_u32).prop_map(Fault::Pause), 1 => Just(Fault::Delete)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// With clock rates that differ by less than 15 to 10 (lease duration to renew deadline), no
    /// two candidates believe that they lead.
    #[test]
    fn p14_terms_never_overlap(script in script(clock(), plain_fault())) {
        Simulation::new(script).run();
    }

    /// With suspensions of up to 45 s and deletions of the Lease, at most one believed leader can
    /// write.
    #[test]
    fn p17_of_two_believed_leaders_only_one_can_write(script in script(clock(), any_fault())) {
        Simulation::new(script).run();
    }
}

#[test]
fn the_model_reaches_overlapping_terms() {
    let paused = |tick, whose| (tick, whose, Fault::Pause(500));
    let faults = vec![paused(400, 0), paused(1000, 1), (1900, 0, Fault::Leave), (1900, 1, Fault::Leave)];
    let network = (0..13).map(|sent| (sent == 12, sent % 3)).collect();
    let mut simulation = Simulation::new(Script { clocks: vec![(1.0, 0), (1.1, 5_000)], faults, network });
    simulation.run();
    assert!(simulation.terms.len() > 2, "{:?}", simulation.terms);
    assert!(
        simulation.ticks_led > 1500 && simulation.ticks_overlapping > 0,
        "{} {}",
        simulation.ticks_led,
        simulation.ticks_overlapping
    );
}
