//! Builds test programs with cargo, and runs them while later stages compile.
//!
//! Cargo runs one program after another, although most of ours wait for sockets, children and
//! deadlines much of their time. Here two run at a time, and compilers take the cores that they
//! leave idle.
#![expect(
    clippy::disallowed_types,
    reason = "a developer's tool has no concurrency that loom should explore"
)]

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::shell::{self, Outcome, Show};

/// Number of test programs run concurrently. Each has as many threads as the machine has cores.
const AT_A_TIME: usize = 2;

/// Nice value of everything that this process starts beside test programs: tests have deadlines,
/// compilers have none.
const COMPILER_NICENESS: i32 = 10;

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
    /// The stage that built the program.
    pub(crate) stage: &'static str,
    pub(crate) name: String,
    pub(crate) outcome: anyhow::Result<Outcome>,
}

/// The output of a build: its programs, and the warnings of the compiler and of clippy.
pub(crate) struct Built {
    pub(crate) programs: Vec<TestProgram>,
    pub(crate) warnings: Vec<String>,
}

/// Builds all programs of a `cargo test` command. An error has the output of the compiler.
pub(crate) fn build(mut command: Command) -> anyhow::Result<Built> {
    command.args(["--no-run", "--message-format=json"]);
    let outcome = shell::run(command, Show::Progress)?;
    let (messages, rest): (Vec<&str>, Vec<&str>) =
        outcome.text.lines().partition(|line| line.starts_with('{'));
    let messages: Vec<Message> = messages
        .into_iter()
        .map(|line| serde_json::from_str(line).context("cargo's messages are JSON"))
        .collect::<anyhow::Result<_>>()?;
    let mut warnings: Vec<String> = messages.iter().filter_map(Message::warning).collect();
    // A library and its unit tests have the same ones.
    warnings.sort_unstable();
    warnings.dedup();
    ensure!(outcome.ok, "{}{}\ncargo test --no-run: {}", warnings.concat(), rest.join("\n"), outcome.ending);
    let programs = messages.into_iter().filter_map(|message| program(message).transpose());
    Ok(Built { programs: programs.collect::<anyhow::Result<_>>()?, warnings })
}

/// Runs test programs on threads of its own.
pub(crate) struct Runner {
    queue: mpsc::Sender<(&'static str, TestProgram)>,
    results: mpsc::Receiver<ProgramResult>,
    threads: Vec<JoinHandle<()>>,
}

impl Runner {
    /// Starts the threads. Afterwards, other children of the calling thread yield to the programs.
    pub(crate) fn start() -> Self {
        let (queue, waiting) = mpsc::channel();
        let (send, results) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let threads = (0..AT_A_TIME).map(|_| {
            let (waiting, send) = (Arc::clone(&waiting), send.clone());
            thread::spawn(move || {
                while let Some((stage, program)) = next(&waiting) {
                    // The receiver lives until the threads were joined.
                    let _ = send.send(run_one(stage, program));
                }
            })
        });
        let runner = Self { queue, results, threads: threads.collect() };
        // On Linux the value belongs to a thread and is inherited by its children.
        let _ = rustix::process::nice(COMPILER_NICENESS);
        runner
    }

    /// Queues the programs of a stage, the largest first: it has the most tests, and should not be
    /// the last to finish.
    pub(crate) fn queue(&self, stage: &'static str, mut programs: Vec<TestProgram>) {
        let size = |program: &TestProgram| program.executable.metadata().map_or(0, |it| it.len());
        programs.sort_by_cached_key(|program| std::cmp::Reverse(size(program)));
        for program in programs {
            // The threads receive until the queue is closed by `finish`.
            let _ = self.queue.send((stage, program));
        }
    }

    /// Waits for all queued programs, and returns their results in the order in which they
    /// finished.
    pub(crate) fn finish(self) -> Vec<ProgramResult> {
        drop(self.queue);
        for thread in self.threads {
            // A panic of a thread is printed, and its program has no result: the caller counts them.
            let _ = thread.join();
        }
        self.results.into_iter().collect()
    }
}

fn next<T>(waiting: &Mutex<mpsc::Receiver<T>>) -> Option<T> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn run_one(stage: &'static str, program: TestProgram) -> ProgramResult {
    let begun = shell::now();
    let mut command = Command::new(&program.executable);
    command.current_dir(&program.directory).env("CARGO_MANIFEST_DIR", &program.directory);
    let outcome = shell::run(command, Show::Nothing);
    let ran = format!("{stage}: {} ran in {:.1} s", program.name, begun.elapsed().as_secs_f64());
    // One write: the other thread and the stages print, too.
    match &outcome {
        Ok(outcome) if outcome.ok => println!("      {ran}"),
        Ok(outcome) => println!("{}      FAILED: {ran}: {}", outcome.text, outcome.ending),
        Err(error) => println!("      FAILED: {ran}: {error:#}"),
    }
    ProgramResult { stage, name: program.name, outcome }
}

/// The fields read from cargo's JSON messages.
#[derive(Deserialize)]
struct Message {
    reason: String,
    message: Option<Diagnostic>,
    manifest_path: Option<PathBuf>,
    package_id: Option<String>,
    target: Option<ArtifactTarget>,
    profile: Option<ArtifactProfile>,
    executable: Option<PathBuf>,
}

/// A message of the compiler.
#[derive(Deserialize)]
struct Diagnostic {
    rendered: Option<String>,
}

impl Message {
    /// Returns the text of a warning or an error of the compiler.
    fn warning(&self) -> Option<String> {
        self.message.as_ref()?.rendered.clone()
    }
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
fn program(message: Message) -> anyhow::Result<Option<TestProgram>> {
    let Message { manifest_path: Some(manifest), target: Some(target), profile: Some(profile), .. } = message
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

    fn message_line(kind: &str, test: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"path+file:///w/store#machinery-store@0.1.0","manifest_path":"/w/store/Cargo.toml","target":{{"name":"it","kind":["{kind}"]}},"profile":{{"test":{test}}},"executable":"/t/it-1"}}"#
        )
    }

    fn check(line: &str, expected: Option<&str>) {
        let message = serde_json::from_str(line).unwrap();
        let name = program(message).unwrap().map(|program| program.name);
        assert_eq!(name.as_deref(), expected, "{line}");
    }

    #[test]
    fn a_test_program_has_the_name_of_its_package_and_target() {
        check(&message_line("test", true), Some("machinery-store/it"));
        check(&message_line("lib", true), Some("machinery-store/lib"));
    }

    #[test]
    fn libraries_examples_and_other_messages_are_no_test_programs() {
        check(&message_line("example", false), None);
        check(r#"{"reason":"build-finished","success":true}"#, None);
    }

    #[test]
    fn rendered_messages_of_the_compiler_are_warnings() {
        let line =
            r#"{"reason":"compiler-message","message":{"level":"warning","rendered":"warning: unused"}}"#;
        let message: Message = serde_json::from_str(line).unwrap();
        assert_eq!(message.warning().as_deref(), Some("warning: unused"));
        let message: Message = serde_json::from_str(&message_line("lib", true)).unwrap();
        assert_eq!(message.warning(), None);
    }

    #[test]
    fn programs_of_all_stages_have_results() {
        let runner = Runner::start();
        let program = |name: &str| TestProgram {
            name: name.into(),
            executable: "/bin/true".into(),
            directory: "/".into(),
        };
        runner.queue("a", vec![program("1"), program("2"), program("3")]);
        runner.queue("b", vec![program("4")]);
        let mut results: Vec<_> = runner.finish().into_iter().map(|it| (it.stage, it.name)).collect();
        results.sort();
        let expected = [("a", "1"), ("a", "2"), ("a", "3"), ("b", "4")];
        assert_eq!(results, expected.map(|(stage, name)| (stage, name.to_owned())));
    }

    #[test]
    fn a_package_called_like_its_directory_is_named_by_the_directory() {
        assert_eq!(package_name("path+file:///w/xtask#0.1.0"), "xtask");
    }
}
