//! `cargo xtask test`: runs the stages, counts tests, and ends with skipped tests and their
//! reasons.

use std::process::Command;

use anyhow::bail;

use crate::counts::{self, Counts};
use crate::setup::{self, Caller, Setup};
use crate::shell::{self, Show};
use crate::stages::{self, Stage, Work};
use crate::test_programs::{self, ProgramResult, Runner};
use crate::workspace::Workspace;

/// Runs all stages, or those in `only`, also after a failed one. Returns whether all passed.
pub(crate) fn run(workspace: &Workspace, only: &[String]) -> anyhow::Result<bool> {
    let mut stages = stages::all(workspace);
    if let Some(unknown) = only.iter().find(|name| !stages.iter().any(|stage| stage.name == *name)) {
        let names: Vec<_> = stages.iter().map(|stage| stage.name).collect();
        bail!("there is no stage `{unknown}`; there are {}", names.join(", "));
    }
    stages.retain(|stage| only.is_empty() || only.iter().any(|name| name == stage.name));

    let begun = shell::now();
    let setup = setup::run(Caller::Test);
    let mut times = vec![("setup", begun.elapsed().as_secs_f64())];
    let mut total = Report::default();
    let mut failed = Vec::new();
    let runner = Runner::start();
    let mut programs = 0;
    let count = stages.len();
    for (index, stage) in stages.into_iter().enumerate() {
        println!("[{}/{count}] {} ...", index + 1, stage.name);
        let (name, begun) = (stage.name, shell::now());
        let (report, started) = perform(workspace, &setup, &runner, stage);
        programs += started;
        let seconds = begun.elapsed().as_secs_f64();
        println!("      {} in {seconds:.1} s", report.verdict());
        times.push((name, seconds));
        if report.counts.failed > 0 {
            failed.push(name);
        }
        total.add_report(report);
    }
    if programs > 0 {
        println!("waiting for {programs} test programs, if some still run ...");
        let begun = shell::now();
        let results = runner.finish();
        if results.len() < programs {
            println!("{} test programs have no result", programs - results.len());
            total.counts.failed += programs - results.len();
        }
        for result in results {
            let report = report_of(&result);
            if report.counts.failed > 0 {
                println!("      {}: {}", result.name, report.verdict());
                if !failed.contains(&result.stage) {
                    failed.push(result.stage);
                }
            }
            total.add_report(report);
        }
        times.push(("end of tests", begun.elapsed().as_secs_f64()));
    }

    println!("\n{}", table_of(&times));
    for skip in &total.skips {
        println!("skipped: {skip}");
    }
    for name in &failed {
        println!("failed: {name} (alone: cargo xtask test {name})");
    }
    println!("{}", total.counts);
    Ok(total.counts.failed == 0)
}

/// Returns a table of seconds by stage, with their sum.
fn table_of(times: &[(&str, f64)]) -> String {
    let sum: f64 = times.iter().map(|(_, seconds)| seconds).sum();
    let whole = ("whole run", sum);
    times.iter().chain([&whole]).map(|(name, seconds)| format!("time: {name:14} {seconds:8.1} s\n")).collect()
}

/// Counts of one stage, and the reasons of skipped tests.
#[derive(Default)]
struct Report {
    counts: Counts,
    skips: Vec<String>,
}

impl Report {
    fn verdict(&self) -> String {
        match self.counts {
            Counts { failed: 0, passed: 0, .. } => "skipped".into(),
            Counts { failed: 0, .. } => format!("ok: {}", self.counts),
            _ => format!("FAILED: {}", self.counts),
        }
    }

    /// Adds the counts of a harness. Tests that gave up count as skipped, with their reasons.
    fn add(&mut self, mut counts: Counts, text: &str) {
        let gave_up = counts::gave_up(text);
        let tried = counts.passed.saturating_sub(gave_up.len());
        counts.skipped += counts.passed - tried;
        counts.passed = tried;
        self.counts += counts;
        self.skips.extend(gave_up);
        self.skips.extend(counts::ignored(text).into_iter().map(|(test, why)| format!("{test}: {why}")));
    }

    fn add_report(&mut self, other: Self) {
        self.counts += other.counts;
        self.skips.extend(other.skips);
    }

    fn skipped(why: String) -> Self {
        Self { counts: Counts { skipped: 1, ..Counts::default() }, skips: vec![why] }
    }
}

/// Performs a stage. Returns its report and the number of test programs that it started: their
/// results come at the end of the run.
fn perform(workspace: &Workspace, setup: &Setup, runner: &Runner, stage: Stage) -> (Report, usize) {
    let name = stage.name;
    if let Some(missing) = stage.needs.and_then(|tool| setup.missing(tool)) {
        return (Report::skipped(format!("{name}: {} is missing: {}", missing.tool, missing.why)), 0);
    }
    let report = match stage.work {
        Work::Inside(check) => {
            let findings = check(workspace).unwrap_or_else(|error| vec![format!("{error:#}")]);
            findings.iter().for_each(|finding| println!("{finding}"));
            Report { counts: one(findings.is_empty()), skips: Vec::new() }
        }
        // All commands, also after a failed one: each checks something else.
        Work::Check(commands) => {
            let failures = commands.into_iter().map(attempt).filter(|(ok, _)| !ok).count();
            Report { counts: one(failures == 0), skips: Vec::new() }
        }
        Work::Harness(commands) => harness(name, commands),
        Work::Programs(command) => return start_programs(name, command, runner),
    };
    (report, 0)
}

fn harness(name: &str, commands: Vec<Command>) -> Report {
    let mut report = Report::default();
    if commands.is_empty() {
        println!("      {name} has no tests at all, and should");
        report.counts.failed += 1;
    }
    for command in commands {
        let line = shell::describe(&command);
        let (ok, text) = attempt(command);
        let counts = judge(ok, Counts::of(&text));
        if ok && counts.failed > 0 {
            println!("      `{line}` ran no test, and should run at least one");
        }
        report.add(counts, &text);
    }
    report
}

/// Builds test programs, and starts them. The report has one test: a build without warnings.
fn start_programs(stage: &'static str, command: Command, runner: &Runner) -> (Report, usize) {
    let built = match test_programs::build(command) {
        Ok(built) if built.programs.is_empty() => Err("there are no test programs, and should be".into()),
        Ok(built) => Ok(built),
        Err(error) => Err(format!("{error:#}")),
    };
    match built {
        Ok(built) => {
            built.warnings.iter().for_each(|warning| println!("{warning}"));
            let (report, count) =
                (Report { counts: one(built.warnings.is_empty()), skips: Vec::new() }, built.programs.len());
            println!("      {count} test programs run beside the next stages");
            runner.queue(stage, built.programs);
            (report, count)
        }
        Err(error) => {
            println!("      {error}");
            (Report { counts: one(false), skips: Vec::new() }, 0)
        }
    }
}

/// Counts the tests of a program.
fn report_of(result: &ProgramResult) -> Report {
    let (ok, text) = match &result.outcome {
        Ok(outcome) => (outcome.ok, outcome.text.as_str()),
        Err(_) => (false, ""),
    };
    let counts = Counts::of(text);
    let mut report = Report::default();
    // A program may have no tests: many crates have none in `main.rs`.
    report.add(if ok { counts } else { judge(false, counts) }, text);
    report
}

/// Runs a command; prints its output if it failed.
fn attempt(command: Command) -> (bool, String) {
    let line = shell::describe(&command);
    match shell::run(command, Show::Progress) {
        Ok(outcome) if outcome.ok => (true, outcome.text),
        Ok(outcome) => {
            println!("{}      `{line}`: {}", outcome.text, outcome.ending);
            (false, outcome.text)
        }
        Err(error) => {
            println!("      {error:#}");
            (false, String::new())
        }
    }
}

fn one(ok: bool) -> Counts {
    if ok { Counts { passed: 1, ..Counts::default() } } else { Counts { failed: 1, ..Counts::default() } }
}

/// Adds a failure to the counts of a harness that failed without a failed test (it did not compile,
/// or was killed), and to those of a harness that ran no test.
fn judge(ok: bool, counts: Counts) -> Counts {
    let silent = if ok { counts.ran() == 0 } else { counts.failed == 0 };
    Counts { failed: counts.failed + usize::from(silent), ..counts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ok: bool, (passed, failed): (usize, usize), expected_failures: usize) {
        assert_eq!(judge(ok, Counts { passed, failed, skipped: 0 }).failed, expected_failures);
    }

    #[test]
    fn failures_are_counted_by_the_harness() {
        check(true, (3, 0), 0);
        check(false, (3, 2), 2);
    }

    #[test]
    fn a_run_that_dies_failed_once() {
        check(false, (3, 0), 1);
        check(false, (0, 0), 1);
    }

    #[test]
    fn a_run_without_tests_failed() {
        check(true, (0, 0), 1);
    }
}
