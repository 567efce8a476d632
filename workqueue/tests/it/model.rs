//! Random operations on the queue, compared with the naive model.

use machinery_workqueue::testing::{Op, OpAnswer, OpWhen, Setup, check, operations};
use proptest::prelude::*;

fn setups() -> impl Strategy<Value = Setup> {
    let limits = (prop_oneof![Just(1000), 1..6_usize], prop::option::of(1..4_u16));
    let times = (prop::option::of(Just((2, 5))), prop_oneof![Just(1_u64), Just(3), Just(1000)]);
    (limits, times, any::<bool>(), any::<bool>()).prop_map(|(limits, times, tenants, bucket)| Setup {
        capacity: limits.0,
        max_tries: limits.1,
        debounce_ms: times.0,
        aging_ms: times.1,
        tenants,
        bucket,
    })
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = 0..8_u8;
    let micros = prop_oneof![0..20_000_u64, (0..20_u64).prop_map(|ms| ms * 1000), Just(3_600_000_000)];
    let when = prop_oneof![
        3 => Just(OpWhen::Configured),
        1 => Just(OpWhen::Now),
        3 => micros.clone().prop_map(OpWhen::After),
        2 => Just(OpWhen::Debounced),
    ];
    let priority = prop_oneof![3 => Just(0_i8), 1 => -2..3_i8];
    let answer = prop_oneof![
        3 => Just(OpAnswer::Done),
        1 => micros.clone().prop_map(OpAnswer::After),
        2 => Just(OpAnswer::Retry),
        1 => Just(OpAnswer::Drop),
    ];
    let op = prop_oneof![
        10 => (key.clone(), when, priority, prop::option::of(0..8_u8))
            .prop_map(|(key, when, priority, cause)| Op::Add { key, when, priority, cause }),
        6 => Just(Op::TryGet),
        2 => (0..5_u8).prop_map(Op::Batch),
        6 => (any::<u8>(), answer).prop_map(|(which, answer)| Op::Answer(which, answer)),
        2 => any::<u8>().prop_map(Op::Hold),
        1 => key.clone().prop_map(Op::Cancel),
        1 => key.prop_map(Op::Forget),
        5 => micros.prop_map(Op::Advance),
    ];
    let end = prop_oneof![Just(Op::Close), (0..30_u64).prop_map(Op::Drain)];
    // A close or drain is rare, at any position.
    (prop::collection::vec(op, 1..80), prop::option::of((end, any::<prop::sample::Index>()))).prop_map(
        |(mut ops, end)| {
            if let Some((end, place)) = end {
                ops.insert(place.index(ops.len()), end);
            }
            ops
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12_000, ..ProptestConfig::default() })]

    /// Every result and every key, after every operation, over 12 000 sequences.
    #[test]
    fn the_queue_is_the_model(setup in setups(), ops in ops()) {
        check(&setup, &ops);
    }
}

/// The corpus of the fuzzer: inputs that once failed, and a few that reach all code.
#[test]
fn the_corpus_still_passes() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/operations");
    let mut count = 0;
    for file in std::fs::read_dir(corpus).expect("the corpus is committed") {
        operations(&std::fs::read(file.expect("a readable directory").path()).expect("a readable file"));
        count += 1;
    }
    assert!(count > 0, "an empty corpus tests nothing");
}
