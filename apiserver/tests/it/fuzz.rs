//! The fuzz targets run on their corpora, and on small mutations of these.

use std::path::Path;

use machinery_apiserver::testing;
use proptest::collection::vec;
use proptest::prelude::*;

type FuzzTarget = fn(&[u8]);

/// The targets, each with its directory in `corpus/`.
const TARGETS: [(&str, FuzzTarget); 8] = [
    ("paths", testing::paths),
    ("selectors", testing::selectors),
    ("tokens", testing::continue_tokens),
    ("patches", testing::patches),
    ("applies", testing::applies),
    ("schemas", testing::schemas),
    ("bodies", testing::bodies),
    ("beyond", testing::beyond),
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{target}");
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn corpora_satisfy_the_fuzz_targets() {
    for (target, run) in TARGETS {
        corpus(target).iter().for_each(|input| run(input));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_corpora_satisfy_the_fuzz_targets(
        target in 0..TARGETS.len(),
        which in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
        splice in prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>())),
    ) {
        let (name, run) = TARGETS[target];
        let inputs = corpus(name);
        let mut input = inputs[which.index(inputs.len())].clone();
        if let Some((from, to)) = splice {
            let other = &inputs[other.index(inputs.len())];
            input.truncate(to.index(input.len() + 1));
            input.extend_from_slice(&other[from.index(other.len() + 1)..]);
        }
        for (at, byte) in changes {
            if !input.is_empty() {
                let at = at.index(input.len());
                input[at] = byte;
            }
        }
        if let Some(cut) = cut {
            input.truncate(cut.index(input.len() + 1));
        }
        run(&input);
    }
}
