//! A model of a process with an allocator: lagging caches, claims that fail, crashes, and clients
//! that create and delete owners, change the pool, and lock members by hand.

mod process;
mod runs;
mod world;

use proptest::prelude::*;

use self::process::{CacheEvent, ModelProcess, ModelRecord, NAMES, POOLS};
use self::world::ModelWorld;

#[derive(Clone, Debug)]
enum ModelOp {
    Create(usize),
    Delete(usize),
    Pool(Option<usize>),
    LockByHand(u16),
    Unlock(u16),
    Receive(usize),
    Work,
    Sweep,
    Collect,
    Crash,
    Settle,
}

fn op() -> impl Strategy<Value = ModelOp> {
    prop_oneof![
        4 => (0..NAMES.len()).prop_map(ModelOp::Create),
        3 => (0..NAMES.len()).prop_map(ModelOp::Delete),
        2 => proptest::option::weighted(0.8, 0..POOLS.len()).prop_map(ModelOp::Pool),
        1 => (1..8_u16).prop_map(ModelOp::LockByHand),
        1 => (1..8_u16).prop_map(ModelOp::Unlock),
        12 => (0..3_usize).prop_map(ModelOp::Receive),
        20 => Just(ModelOp::Work),
        1 => Just(ModelOp::Sweep),
        1 => Just(ModelOp::Collect),
        1 => Just(ModelOp::Crash),
        2 => Just(ModelOp::Settle),
    ]
}

/// More cases in an optimized build, as that of `cargo xtask races`.
const CASES: u32 = if cfg!(debug_assertions) { 256 } else { 50_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]
    #[test]
    fn members_are_exclusive_and_waiters_are_served_in_order(ops in proptest::collection::vec(op(), 0..300)) {
        let mut world = ModelWorld::new();
        for op in ops {
            match op {
                ModelOp::Create(which) if !world.stored.owners.contains_key(NAMES[which]) => {
                    let record = ModelRecord { uid: world.uid(), version: 0, has: None, since: None };
                    world.put(NAMES[which], Some(record));
                }
                ModelOp::Delete(which) if world.stored.owners.contains_key(NAMES[which]) => world.put(NAMES[which], None),
                ModelOp::Pool(which) => {
                    world.stored.pool = which.map(|which| POOLS[which]);
                    world.process.pending[0].push_back(CacheEvent::Pool(world.stored.pool));
                }
                ModelOp::LockByHand(member) => drop(world.create_lock(member, None)),
                ModelOp::Unlock(member) => {
                    if world.stored.locks.get(&member).is_some_and(|lock| lock.owner.is_none()) {
                        world.lock(member, None);
                    }
                }
                ModelOp::Receive(kind) => {
                    let now = world.now;
                    world.process.receive(kind, now);
                }
                ModelOp::Work => {
                    world.work();
                }
                ModelOp::Sweep => {
                    let now = world.now;
                    world.process.sweep(now);
                }
                ModelOp::Collect => {
                    world.collect();
                }
                ModelOp::Crash => world.process = ModelProcess::new(&world.stored, world.now),
                ModelOp::Settle => world.settle(),
                ModelOp::Create(_) | ModelOp::Delete(_) => {}
            }
        }
        world.settle();
    }
}
