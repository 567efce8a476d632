//! The stages of `cargo xtask test`, in order: the cheap ones, then those that build test programs,
//! which run while the others compile.

use std::process::Command;

use cargo_metadata::{Package, TargetKind};

use crate::workspace::Workspace;
use crate::{layering, links, loom, packages, quickstart, words};

/// One line of the run.
pub(crate) struct Stage {
    /// The name, printed as `[n/N] name`.
    pub(crate) name: &'static str,
    /// The work of the stage.
    pub(crate) work: Work,
    /// A tool of [`crate::setup`] without which the stage is skipped.
    pub(crate) needs: Option<&'static str>,
}

/// The work of a stage, and its counting.
pub(crate) enum Work {
    /// Commands that count as one test, which passes if all succeed.
    Check(Vec<Command>),
    /// Test harnesses, counted by their closing lines. Each command must run at least one test.
    Harness(Vec<Command>),
    /// A `cargo test` command, without the programs' arguments. Its build is one test, which passes
    /// without warnings; the programs run beside the next stages.
    Programs(Command),
    /// A check in this process: one test. Its findings are printed.
    Inside(fn(&Workspace) -> anyhow::Result<Vec<String>>),
}

/// Returns all stages, in order.
pub(crate) fn all(workspace: &Workspace) -> Vec<Stage> {
    let stage = |name, work| Stage { name, work, needs: None };
    vec![
        Stage { needs: Some("rustfmt"), ..stage("formatting", formatting(workspace)) },
        stage("words", Work::Inside(words::findings)),
        stage("layering", Work::Inside(layering::findings)),
        stage("links", Work::Inside(links::findings)),
        stage("tests", tests(workspace)),
        stage("tests-bare", tests_bare(workspace)),
        Stage { needs: Some("clippy"), ..stage("lints", lints(workspace)) },
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

/// The workspace with all features except its tests, which are linted while the stage `tests`
/// compiles them. Then each library with no feature and with each feature alone: features only add,
/// so every subset must compile by itself, and single features find missing dependencies.
fn lints(workspace: &Workspace) -> Work {
    let mut whole =
        workspace.cargo(["clippy", "--workspace", "--lib", "--bins", "--examples", "--all-features"]);
    whole.args(STRICT);
    // The stage `tests` does not have this target, because only `cargo xtask kubernetes` runs it.
    // With `--workspace` the features of dependencies are the same as above, so nothing is compiled
    // twice.
    let mut elsewhere = workspace.cargo(["clippy", "--workspace", "--all-features", "--test", "kubernetes"]);
    elsewhere.args(STRICT);
    let mut commands = vec![whole, elsewhere];
    for package in workspace.libraries() {
        let singles = package.features.keys().filter(|feature| *feature != "default");
        for features in std::iter::once("").chain(singles.map(String::as_str)) {
            // The library alone: development dependencies turn features on, and most of them bring the
            // API server, which would be compiled for each subset. Tests without features are
            // compiled in the stage `tests-bare`.
            let mut one =
                workspace.cargo(["clippy", "--lib", "--no-default-features", "--features", features]);
            one.args(["--package", package.name.as_str()]).args(STRICT);
            commands.push(one);
        }
    }
    Work::Check(commands)
}

const STRICT: [&str; 3] = ["--", "-D", "warnings"];

/// Returns whether the tests of a package turn on features of the package.
fn asks_itself(package: &Package) -> bool {
    package.dependencies.iter().any(|dependency| dependency.name == package.name.as_str())
}

/// Unit, integration and model tests. A test of xtask replays the committed inputs of the fuzz
/// targets.
fn tests(workspace: &Workspace) -> Work {
    Work::Programs(tests_command(workspace))
}

/// Returns the command that builds and runs all test programs, and builds the programs that they
/// start.
pub(crate) fn tests_command(workspace: &Workspace) -> Command {
    let mut command = linting(workspace, ["test", "--workspace", "--all-features", "--no-fail-fast"]);
    command.args(["--lib", "--bins", "--tests", "--examples"]);
    command
}

/// Returns a cargo command in which clippy's driver compiles the workspace: crates are linted and
/// compiled once, instead of checked first and compiled later. Without clippy, only the compiler
/// warns.
fn linting(workspace: &Workspace, args: [&str; 4]) -> Command {
    let mut command = workspace.cargo(args);
    if let Some(clippy) = workspace.clippy_driver() {
        command.env("RUSTC_WORKSPACE_WRAPPER", clippy);
    }
    command
}

/// The libraries without any feature, for users that disable default features. Excluded are crates
/// without features, and crates with tests that need features of the crate itself: their tests are
/// the same as with all features.
fn tests_bare(workspace: &Workspace) -> Work {
    let mut command = linting(workspace, ["test", "--no-default-features", "--no-fail-fast", "--lib"]);
    command.arg("--tests");
    let differs = |package: &&Package| !package.features.is_empty() && !asks_itself(package);
    command.args(named(workspace.libraries().filter(differs)));
    Work::Programs(command)
}

fn doc_tests(workspace: &Workspace) -> Work {
    let mut command = linting(workspace, ["test", "--workspace", "--all-features", "--no-fail-fast"]);
    command.arg("--doc");
    Work::Harness(vec![command])
}

/// A user's crate, with default features of its dependencies and with none. No dependency may need
/// protoc.
fn outside(workspace: &Workspace) -> Work {
    let run = |features: &[&str]| {
        let mut command = workspace.cargo(["run", "--quiet", "--manifest-path", OUTSIDE]);
        command.args(features).arg("--target-dir").arg(workspace.target.join("outside"));
        command.env("PROTOC", "/nonexistent").env("CARGO_PROFILE_DEV_DEBUG", "0");
        command
    };
    Work::Check(vec![run(&[]), run(&["--no-default-features"])])
}

/// All documentation, with warnings as errors. Named targets and clippy's wrapper make cargo reuse
/// the artifacts of the stage `lints`; otherwise every dependency would be checked again with other
/// features.
fn docs(workspace: &Workspace) -> Work {
    let mut command =
        workspace.cargo(["doc", "--workspace", "--no-deps", "--all-features", "--lib", "--examples"]);
    for package in &workspace.packages {
        let is_library =
            |name: &str| package.targets.iter().any(|it| it.is_kind(TargetKind::Lib) && it.name == name);
        let programs = package.targets.iter().filter(|target| target.is_kind(TargetKind::Bin));
        // A program and its library of the same name would be one page.
        for program in programs.filter(|target| !is_library(&target.name)) {
            command.args(["--bin", program.name.as_str()]);
        }
    }
    command.env("RUSTDOCFLAGS", "-D warnings");
    if let Some(clippy) = workspace.clippy_driver() {
        command.env("RUSTC_WORKSPACE_WRAPPER", clippy);
        // As `cargo clippy -- -D warnings` sets it; another value would mean another compilation.
        command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    }
    Work::Check(vec![command])
}

/// Makes the packages, without compiling them: `cargo xtask packages` does that before a release.
fn packaging(workspace: &Workspace) -> Work {
    let mut command = packages::command(workspace);
    command.arg("--no-verify");
    Work::Check(vec![command])
}

/// Without `advisories`: they need a database from the network, and change while the tree does not.
fn deny(workspace: &Workspace) -> Work {
    Work::Check(vec![workspace.cargo(["deny", "check", "bans", "licenses", "sources"])])
}

pub(crate) fn named<'a>(packages: impl Iterator<Item = &'a Package>) -> impl Iterator<Item = &'a str> {
    packages.flat_map(|package| ["--package", package.name.as_str()])
}
