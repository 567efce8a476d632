//! Some candidates, a store, and a network that loses and delays: nobody leads beside another, and one does in the end.
//!
//! True time goes in steps of 50 ms. Each candidate has a clock of its own, which began somewhere and runs faster or slower; it hears
//! nothing but what the network brings it, when it brings it.

mod store;
mod world;

use proptest::prelude::*;

use crate::lease::ElectionConfig;
use world::World;

const TICK: f64 = 0.05;
/// Ticks until the network is well and nobody is paused.
const TROUBLED: u32 = 2400;
/// And how long that then is so: more than two leases, and a look at them by the slowest.
const WELL: u32 = 1000;

/// What may go wrong for one candidate, from one tick on.
#[derive(Clone, Debug)]
enum Fate {
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
    fates: Vec<(u32, usize, Fate)>,
    /// For each message: whether it is lost, and after how many ticks it arrives.
    network: Vec<(bool, u32)>,
}

fn config(at: usize) -> ElectionConfig {
    ElectionConfig::new("n/x".parse().unwrap(), &format!("c{at}"), at as u64)
}

fn script(
    clocks: impl Strategy<Value = (f64, u64)>,
    fates: impl Strategy<Value = Fate>,
) -> impl Strategy<Value = Script> {
    let clocks = prop::collection::vec(clocks, 2..5);
    let fates = prop::collection::vec((1..TROUBLED, 0..4_usize, fates), 0..12);
    // Up to eight seconds under way, mostly little.
    let delay = prop_oneof![4 => 0..4_u32, 1 => 0..160_u32];
    let network = prop::collection::vec((prop::bool::weighted(0.15), delay), 1..80);
    (clocks, fates, network).prop_map(|(clocks, fates, network)| Script { clocks, fates, network })
}

fn clock() -> impl Strategy<Value = (f64, u64)> {
    (0.85..1.2, 0..100_000_000_u64)
}

/// What leaves everybody with the same Lease and awake.
fn plain() -> impl Strategy<Value = Fate> {
    prop_oneof![Just(Fate::Crash), Just(Fate::Leave), Just(Fate::Touch)]
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![2 => plain(), 2 => (1..900_u32).prop_map(Fate::Pause), 1 => Just(Fate::Delete)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Clocks that differ by less than the lease and its deadline do (15 to 10): nobody even believes to lead beside another.
    #[test]
    fn p14_nobody_leads_beside_another(script in script(clock(), plain())) {
        World::new(script).run();
    }

    /// Some are stopped for up to 45 s and go on, and somebody deletes the Lease: what they write is refused.
    #[test]
    fn p17_of_two_who_believe_to_lead_one_can_write(script in script(clock(), any_fate())) {
        World::new(script).run();
    }
}

#[test]
fn the_model_has_what_it_is_for() {
    let paused = |tick, whose| (tick, whose, Fate::Pause(500));
    let fates = vec![paused(400, 0), paused(1000, 1), (1900, 0, Fate::Leave), (1900, 1, Fate::Leave)];
    let network = (0..13).map(|sent| (sent == 12, sent % 3)).collect();
    let mut world = World::new(Script { clocks: vec![(1.0, 0), (1.1, 5_000)], fates, network });
    world.run();
    assert!(world.terms.len() > 2, "{:?}", world.terms);
    assert!(world.led > 1500 && world.believed > 0, "{} {}", world.led, world.believed);
}
