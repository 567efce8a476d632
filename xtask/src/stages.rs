//! The stages of `cargo xtask test`, in order. The cheap ones come first.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use cargo_metadata::Package;

use crate::workspace::Workspace;
use crate::{layering, loom, quickstart, words};

/// One line of the run.
pub(crate) struct Stage {
    /// As in `[n/N] name`.
    pub(crate) name: &'static str,
    /// What is run.
    pub(crate) work: Work,
    /// A tool of [`crate::setup`] without which the stage is skipped.
    pub(crate) needs: Option<&'static str>,
}

/// What a stage runs, and how it is counted.
pub(crate) enum Work {
    /// Commands that hold or do not: one test together.
    Check(Vec<Command>),
    /// Test harnesses, counted by their closing lines. Each command must run at least one test.
    Harness(Vec<Command>),
    /// A check in this process: one test. Its findings are printed.
    Inside(fn(&Workspace) -> anyhow::Result<Vec<String>>),
}

/// All stages.
pub(crate) fn all(workspace: &Workspace) -> Vec<Stage> {
    let stage = |name, work| Stage { name, work, needs: None };
    vec![
        Stage { needs: Some("rustfmt"), ..stage("formatting", formatting(workspace)) },
        Stage { needs: Some("clippy"), ..stage("lints", lints(workspace)) },
        stage("words", Work::Inside(words::findings)),
        stage("layering", Work::Inside(layering::findings)),
        stage("tests", tests(workspace)),
        stage("tests-bare", tests_bare(workspace)),
        stage("doc-tests", doc_tests(workspace)),
        stage("loom", Work::Harness(loom::commands(workspace, None))),
        stage("outside", outside(workspace)),
        stage("quickstart", Work::Inside(quickstart::findings)),
        stage("docs", docs(workspace)),
        stage("packaging", packaging(workspace)),
        Stage { needs: Some("cargo-deny"), ..stage("deny", deny(workspace)) },
    ]
}

const OUTSIDE: &str = "xtask/outside/Cargo.toml";

fn formatting(workspace: &Workspace) -> Work {
    Work::Check(vec![
        workspace.cargo(["fmt", "--all", "--check"]),
        workspace.cargo(["fmt", "--check", "--manifest-path", OUTSIDE]),
        workspace.cargo(["fmt", "--check", "--manifest-path", quickstart::MANIFEST]),
    ])
}

/// The workspace with everything on, then each library with nothing on and with each of its features alone: features
/// only add, so every subset must stand by itself, and singles find what is missing.
fn lints(workspace: &Workspace) -> Work {
    const STRICT: [&str; 3] = ["--", "-D", "warnings"];
    let mut whole = workspace.cargo(["clippy", "--workspace", "--all-targets", "--all-features"]);
    whole.args(STRICT);
    // It is no test of this run, so it is in nothing else here.
    let mut elsewhere = workspace.cargo(["clippy", "--package", "machinery", "--all-features"]);
    elsewhere.args(["--test", "kubernetes"]).args(STRICT);
    let mut commands = vec![whole, elsewhere];
    for package in workspace.libraries() {
        let singles = package.features.keys().filter(|feature| *feature != "default");
        for features in std::iter::once("").chain(singles.map(String::as_str)) {
            let mut one =
                workspace.cargo(["clippy", "--all-targets", "--no-default-features", "--features", features]);
            one.args(["--package", package.name.as_str()]).args(STRICT);
            commands.push(one);
        }
    }
    Work::Check(commands)
}

/// Unit, integration and model tests, and the committed inputs of the fuzz targets (a test of xtask).
fn tests(workspace: &Workspace) -> Work {
    let args = [
        "test",
        "--workspace",
        "--all-features",
        "--no-fail-fast",
        "--lib",
        "--bins",
        "--tests",
        "--examples",
    ];
    Work::Harness(vec![workspace.cargo(args)])
}

/// The libraries once more without any feature: what a stranger gets who turns everything off. A crate whose
/// tests ask for features of itself has the same tests without any, and these have been run.
fn tests_bare(workspace: &Workspace) -> Work {
    let mut command =
        workspace.cargo(["test", "--no-default-features", "--no-fail-fast", "--lib", "--tests"]);
    let asks_itself = |package: &&Package| {
        package.dependencies.iter().any(|dependency| dependency.name == package.name.as_str())
    };
    command.args(named(workspace.libraries().filter(|package| !asks_itself(package))));
    Work::Harness(vec![command])
}

fn doc_tests(workspace: &Workspace) -> Work {
    Work::Harness(vec![workspace.cargo(["test", "--workspace", "--all-features", "--no-fail-fast", "--doc"])])
}

/// The stranger's crate, with the default features of what it depends on and with none. Nothing may want protoc.
fn outside(workspace: &Workspace) -> Work {
    let run = |features: &[&str]| {
        let mut command = workspace.cargo(["run", "--quiet", "--manifest-path", OUTSIDE]);
        command.args(features).arg("--target-dir").arg(workspace.target.join("outside"));
        command.env("PROTOC", "/nonexistent").env("CARGO_PROFILE_DEV_DEBUG", "0");
        command
    };
    Work::Check(vec![run(&[]), run(&["--no-default-features"])])
}

fn docs(workspace: &Workspace) -> Work {
    let mut command = workspace.cargo(["doc", "--workspace", "--no-deps", "--all-features"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    Work::Check(vec![command])
}

/// One call for all: cargo verifies crates against each other's packages before any of them is published.
fn packaging(workspace: &Workspace) -> Work {
    let target = workspace.target.join("packages");
    forget_packages(workspace, &target);
    let mut command = workspace.cargo(["package", "--allow-dirty"]);
    command.args(named(workspace.published())).arg("--target-dir").arg(target);
    Work::Check(vec![command])
}

/// Cargo knows a package again by its version alone. What an earlier run unpacked and built of ours, when it was another
/// one of the same version, would be what this run's packages are verified against.
fn forget_packages(workspace: &Workspace, target: &Path) {
    let _ = fs::remove_dir_all(target);
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(env::home_dir()?.join(".cargo"))) else { return };
    let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
    // Those of this machine have no host, which other names begin with.
    for registry in registries.filter(|registry| registry.file_name().to_string_lossy().starts_with('-')) {
        for package in workspace.published() {
            let _ = fs::remove_dir_all(registry.path().join(format!("{}-{}", package.name, package.version)));
        }
    }
}

/// Without `advisories`: they need a database from the network, and change while the tree does not.
fn deny(workspace: &Workspace) -> Work {
    Work::Check(vec![workspace.cargo(["deny", "check", "bans", "licenses", "sources"])])
}

fn named<'a>(packages: impl Iterator<Item = &'a Package>) -> impl Iterator<Item = &'a str> {
    packages.flat_map(|package| ["--package", package.name.as_str()])
}
