//! `cargo xtask fuzz`: mutated bytes for functions that must accept any bytes.
//!
//! The fuzzer runs on a stable toolchain and has no coverage feedback: unlike libFuzzer, it does
//! not learn which inputs reach new code. It replays the committed corpus, then mutates and splices
//! it with a small seeded generator as often as the target allows. That finds shallow bugs soon and
//! deep ones late, so the corpus should hold an input for every path worth reaching. A failing
//! input is shortened and written into the corpus: once committed, it is a regression test, because
//! `cargo xtask test` replays every corpus.

#[cfg(feature = "fuzz")]
mod attempt;
#[cfg(feature = "fuzz")]
mod campaign;
#[cfg(feature = "fuzz")]
mod corpus;
#[cfg(feature = "fuzz")]
mod mutate;
#[cfg(feature = "fuzz")]
mod shrink;

use std::path::PathBuf;

use crate::workspace::Workspace;

/// Target and duration of fuzzing
#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// The target; without it, each in turn
    pub(crate) target: Option<String>,
    /// Seconds to run each target
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) seconds: u64,
    /// Seed of an earlier run on the same corpus, to repeat its inputs; by default a new one is
    /// printed
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// Runs one input without catching its panic
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) replay: Option<PathBuf>,
}

/// A function that must not panic on any bytes.
#[cfg(feature = "fuzz")]
struct Target {
    name: &'static str,
    /// The directory of the committed inputs, relative to the root of the workspace.
    corpus: &'static str,
    run: fn(&[u8]),
}

/// Every target. A new one is a line here, and a directory with a seed or two.
#[cfg(feature = "fuzz")]
const TARGETS: &[Target] = &[
    Target {
        name: "workqueue-operations",
        corpus: "workqueue/corpus/operations",
        run: machinery_workqueue::testing::operations,
    },
    Target {
        name: "store-recovery",
        corpus: "store/corpus/recovery",
        run: machinery_store::testing::recovery,
    },
    Target {
        name: "cel-expressions",
        corpus: "cel/corpus/expressions",
        run: machinery_cel::testing::expressions,
    },
    Target { name: "objects-texts", corpus: "objects/corpus/texts", run: machinery_objects::testing::texts },
    Target {
        name: "apiserver-paths",
        corpus: "apiserver/corpus/paths",
        run: machinery_apiserver::testing::paths,
    },
    Target {
        name: "apiserver-selectors",
        corpus: "apiserver/corpus/selectors",
        run: machinery_apiserver::testing::selectors,
    },
    Target {
        name: "apiserver-tokens",
        corpus: "apiserver/corpus/tokens",
        run: machinery_apiserver::testing::continue_tokens,
    },
    Target {
        name: "apiserver-patches",
        corpus: "apiserver/corpus/patches",
        run: machinery_apiserver::testing::patches,
    },
    Target {
        name: "apiserver-applies",
        corpus: "apiserver/corpus/applies",
        run: machinery_apiserver::testing::applies,
    },
    Target {
        name: "apiserver-schemas",
        corpus: "apiserver/corpus/schemas",
        run: machinery_apiserver::testing::schemas,
    },
    Target {
        name: "apiserver-bodies",
        corpus: "apiserver/corpus/bodies",
        run: machinery_apiserver::testing::bodies,
    },
    Target {
        name: "apiserver-beyond",
        corpus: "apiserver/corpus/beyond",
        run: machinery_apiserver::testing::beyond,
    },
    Target {
        name: "openflow",
        corpus: "examples/kos-sdn/corpus/openflow",
        run: |bytes| {
            let _ = kos::drive::ovs::openflow::fuzz_bytes(bytes);
        },
    },
    Target {
        name: "ovsdb",
        corpus: "examples/kos-sdn/corpus/ovsdb",
        run: |bytes| {
            kos::drive::ovs::ovsdb::fuzz_bytes(bytes);
        },
    },
];

/// Runs this command again with the feature `fuzz`, which links the targets: optimized, with debug
/// assertions, and in its own target directory so that no other build is disturbed.
#[cfg(not(feature = "fuzz"))]
pub(crate) fn run(workspace: &Workspace, args: &FuzzArgs) -> anyhow::Result<bool> {
    use anyhow::Context;

    let mut command =
        workspace.cargo(["run", "--quiet", "--profile=proof", "--package", "xtask", "--features", "fuzz"]);
    command.arg("--target-dir").arg(workspace.target.join("fuzz")).args(["--", "fuzz"]).args(&args.target);
    command.args(["--seconds", &args.seconds.to_string()]);
    command.args(args.seed.map(|seed| format!("--seed={seed}")));
    if let Some(file) = &args.replay {
        command.arg("--replay").arg(std::path::absolute(file)?);
    }
    command.env("CARGO_PROFILE_PROOF_DEBUG_ASSERTIONS", "true");
    command.env("CARGO_PROFILE_PROOF_OVERFLOW_CHECKS", "true");
    Ok(command.status().context("cannot start cargo")?.success())
}

/// Runs the chosen target, or each in turn. Returns whether all inputs passed.
#[cfg(feature = "fuzz")]
pub(crate) fn run(workspace: &Workspace, args: &FuzzArgs) -> anyhow::Result<bool> {
    use anyhow::{Context, bail};

    let wanted = |target: &&Target| args.target.as_ref().is_none_or(|name| name == target.name);
    let targets: Vec<_> = TARGETS.iter().filter(wanted).collect();
    if targets.is_empty() {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        bail!("there is no such target; there are {}", names.join(", "));
    }
    if let Some(file) = &args.replay {
        let input = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        (targets[0].run)(&input);
        println!("{}: {} bytes pass", targets[0].name, input.len());
        return Ok(true);
    }
    attempt::be_quiet();
    let seed = args.seed.unwrap_or_else(mutate::any_seed);
    let mut held = true;
    for target in targets {
        held &= campaign::run(workspace, target, seed, args.seconds)?;
    }
    Ok(held)
}

#[cfg(all(test, feature = "fuzz"))]
mod tests {
    use super::*;

    #[test]
    fn the_corpora_pass() {
        let workspace = Workspace::read().expect("cargo reads the workspace because it is building it");
        for target in TARGETS {
            let inputs = corpus::load(&workspace.root.join(target.corpus)).expect("a corpus can be read");
            assert!(
                !inputs.is_empty(),
                "{} has no committed input: it needs one or more in {}",
                target.name,
                target.corpus
            );
            for (file, input) in inputs {
                println!("{}", file.display()); // shown by the harness if the next line panics
                (target.run)(&input);
            }
        }
    }
}
