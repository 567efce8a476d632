//! Builds test programs with cargo, and runs two of them at a time.
//!
//! Cargo runs one program after another, although most of ours wait for sockets, children and
//! deadlines much of their time. Programs that measure time are in [`ALONE`], and run one by one
//! after the others.
#![expect(
    clippy::disallowed_types,
    reason = "a developer's tool has no concurrency that loom should explore"
)]

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::shell::{self, Outcome, Show};

/// Number of test programs run concurrently. Each has as many threads as the machine has cores.
const AT_A_TIME: usize = 2;

/// Programs that compare durations, as `package/target`.
const ALONE: &[&str] = &[];

/// One test program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// Package and target, as in `machinery-store/it`.
    pub(crate) name: String,
    executable: PathBuf,
    /// The directory of its manifest, where cargo would run it.
    directory: PathBuf,
}

/// The result of one program.
pub(crate) struct ProgramResult {
    pub(crate) name: String,
    pub(crate) seconds: f64,
    pub(crate) outcome: anyhow::Result<Outcome>,
}

/// Builds all programs of a `cargo test` command. An error has the output of the compiler.
pub(crate) fn build(mut command: Command) -> anyhow::Result<Vec<TestProgram>> {
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let outcome = shell::run(command, Show::Progress)?;
    let is_message = |line: &&str| line.starts_with('{');
    let rest = outcome.text.lines().filter(|line| !is_message(line)).collect::<Vec<_>>().join("\n");
    ensure!(outcome.ok, "{rest}\ncargo test --no-run: {}", outcome.ending);
    outcome.text.lines().filter(is_message).filter_map(|line| program(line).transpose()).collect()
}

/// Runs all programs, and returns their results in the order in which they finish.
pub(crate) fn run(programs: Vec<TestProgram>) -> Vec<ProgramResult> {
    let (alone, mut beside): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| ALONE.contains(&program.name.as_str()));
    // The largest programs have the most tests: the last one to finish should be a small one.
    let size = |program: &TestProgram| program.executable.metadata().map_or(0, |it| it.len());
    beside.sort_by_cached_key(size);
    let count = alone.len() + beside.len();
    let (waiting, results) = (Mutex::new(beside), Mutex::new(Vec::new()));
    let work = || {
        while let Some(program) = pop(&waiting) {
            run_one(program, count, &results);
        }
    };
    thread::scope(|scope| (0..AT_A_TIME).for_each(|_| drop(scope.spawn(work))));
    alone.into_iter().for_each(|program| run_one(program, count, &results));
    results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn pop(waiting: &Mutex<Vec<TestProgram>>) -> Option<TestProgram> {
    waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop()
}

fn run_one(program: TestProgram, count: usize, results: &Mutex<Vec<ProgramResult>>) {
    let begun = shell::now();
    let mut command = Command::new(&program.executable);
    command.current_dir(&program.directory).env("CARGO_MANIFEST_DIR", &program.directory);
    let outcome = shell::run(command, Show::Progress);
    let result = ProgramResult { name: program.name, seconds: begun.elapsed().as_secs_f64(), outcome };
    let mut results = results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    println!("      {}/{count} {} in {:.1} s", results.len() + 1, result.name, result.seconds);
    results.push(result);
}

/// The fields read from cargo's JSON messages about built artifacts.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    manifest_path: Option<PathBuf>,
    package_id: Option<String>,
    target: Option<ArtifactTarget>,
    profile: Option<ArtifactProfile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct ArtifactTarget {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct ArtifactProfile {
    test: bool,
}

/// Returns the test program named in a message of cargo; `None` for libraries and examples.
fn program(line: &str) -> anyhow::Result<Option<TestProgram>> {
    let message: Artifact = serde_json::from_str(line).context("cargo's messages are JSON")?;
    let Artifact { manifest_path: Some(manifest), target: Some(target), profile: Some(profile), .. } =
        message
    else {
        return Ok(None);
    };
    let (Some(executable), true) =
        (message.executable, message.reason == "compiler-artifact" && profile.test)
    else {
        return Ok(None);
    };
    let package = package_name(&message.package_id.unwrap_or_default());
    let target =
        if target.kind.iter().any(|kind| kind == "test") { target.name } else { target.kind.join("+") };
    let directory = manifest.parent().context("a manifest is in a directory")?.to_owned();
    Ok(Some(TestProgram { name: format!("{package}/{target}"), executable, directory }))
}

/// Parses `path+file:///w/store#machinery-store@0.1.0` or, for a directory with the name of its
/// package, `path+file:///w/sync#0.1.0`.
fn package_name(id: &str) -> String {
    let (path, version) = id.split_once('#').unwrap_or((id, ""));
    let directory = path.rsplit('/').next().unwrap_or(path);
    version.split_once('@').map_or(directory, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, test: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"path+file:///w/store#machinery-store@0.1.0","manifest_path":"/w/store/Cargo.toml","target":{{"name":"it","kind":["{kind}"]}},"profile":{{"test":{test}}},"executable":"/t/it-1"}}"#
        )
    }

    fn check(line: &str, expected: Option<&str>) {
        let name = program(line).unwrap().map(|program| program.name);
        assert_eq!(name.as_deref(), expected, "{line}");
    }

    #[test]
    fn a_test_program_has_the_name_of_its_package_and_target() {
        check(&message("test", true), Some("machinery-store/it"));
        check(&message("lib", true), Some("machinery-store/lib"));
    }

    #[test]
    fn libraries_examples_and_other_messages_are_no_test_programs() {
        check(&message("example", false), None);
        check(r#"{"reason":"build-finished","success":true}"#, None);
    }

    #[test]
    fn a_package_called_like_its_directory_is_named_by_the_directory() {
        assert_eq!(package_name("path+file:///w/xtask#0.1.0"), "xtask");
    }
}
