//! Some candidates, a store, and a network that loses and delays: nobody leads beside another, and one does in the end.
//!
//! True time goes in steps of 50 ms. Each candidate has a clock of its own, which began somewhere and runs faster or slower; it hears
//! nothing but what the network brings it, when it brings it.

mod simulation;
mod store;

use proptest::prelude::*;

use crate::lease::ElectionConfig;
use simulation::Simulation;

const TICK: f64 = 0.05;
/// Ticks until the network is well and nobody is paused.
const FAULTY_TICKS: u32 = 2400;
/// And how long that then is so: more than two leases, and a look at them by the slowest.
const HEALTHY_TICKS: u32 = 1000;

/// What may go wrong for one candidate, from one tick on.
#[derive(Clone, Debug)]
enum Fault {
    /// It does nothing for so many ticks, and then goes on.
    Pause(u32),
    /// It is started again, and knows nothing.
    Crash,
    /// It is to stop, and then stands again.
    Leave,
    /// Somebody deletes the Lease.
    Delete,
    /// Somebody writes something else into it.
    Touch,
}

#[derive(Clone, Debug)]
struct Script {
    /// How fast the clocks run, and how far they are off.
    clocks: Vec<(f64, u64)>,
    /// When, to whom, and what.
    faults: Vec<(u32, usize, Fault)>,
    /// For each message: whether it is lost, and after how many ticks it arrives.
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
    // Up to eight seconds under way, mostly little.
    let delay = prop_oneof![4 => 0..4_u32, 1 => 0..160_u32];
    let network = prop::collection::vec((prop::bool::weighted(0.15), delay), 1..80);
    (clocks, faults, network).prop_map(|(clocks, faults, network)| Script { clocks, faults, network })
}

fn clock() -> impl Strategy<Value = (f64, u64)> {
    (0.85..1.2, 0..100_000_000_u64)
}

/// What leaves everybody with the same Lease and awake.
fn plain_fault() -> impl Strategy<Value = Fault> {
    prop_oneof![Just(Fault::Crash), Just(Fault::Leave), Just(Fault::Touch)]
}

fn any_fault() -> impl Strategy<Value = Fault> {
    prop_oneof![2 => plain_fault(), 2 => (1..900_u32).prop_map(Fault::Pause), 1 => Just(Fault::Delete)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Clocks that differ by less than the lease and its deadline do (15 to 10): nobody even believes to lead beside another.
    #[test]
    fn p14_terms_never_overlap(script in script(clock(), plain_fault())) {
        Simulation::new(script).run();
    }

    /// Some are stopped for up to 45 s and go on, and somebody deletes the Lease: what they write is refused.
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
