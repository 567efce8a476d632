//! `cargo xtask lines SYSTEM`: the code that a system needs beside the library.
//!
//! Counted are lines that are neither blank nor comments. Files of tests, load, reports, commands
//! and fabrics are left out by [`LEFT_OUT`], which was fixed before the library took code over: a
//! figure is comparable with that of an earlier commit only under the same patterns.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use clap::Args;

use crate::workspace::Workspace;

/// The arguments of `cargo xtask lines`.
#[derive(Args)]
pub(crate) struct LinesArgs {
    /// The system: kos
    system: String,
    /// Compares with this commit
    #[arg(long, default_value = KOS_BEFORE)]
    base: String,
    /// Prints every counted file
    #[arg(long)]
    files: bool,
}

/// The last commit before KOS' generic code began to move into the library.
const KOS_BEFORE: &str = "32bb6f92";

/// Prefixes of paths below `src` that are left out; `/` at the end: a directory.
const LEFT_OUT: &[&str] = &[
    // Tests and their models.
    "checker.rs",
    "drive/promises.rs",
    "plan/races/",
    // Load and its report.
    "load/",
    "metrics/load.rs",
    // Commands.
    "bin/",
    "command/",
    "lab/",
    // Fabrics, with their plans and their packets.
    "drive/log.rs",
    "drive/ovs/",
    "drive/packet/",
    "drive/sim/",
    "drive/switch/",
    "plan/ovs/",
];

/// Prints the count per directory, and beside the base's.
pub(crate) fn run(workspace: &Workspace, args: &LinesArgs) -> anyhow::Result<bool> {
    ensure!(args.system == "kos", "no system is named {}: try kos", args.system);
    let source = PathBuf::from("examples/kos-sdn/src");
    let now = count(git(workspace, &["ls-files", path(&source)?])?.lines(), &source, |file| {
        let file = workspace.root.join(file);
        std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    })?;
    let listed = git(workspace, &["ls-tree", "-r", "--name-only", &args.base, path(&source)?])?;
    let base =
        count(listed.lines(), &source, |file| git(workspace, &["show", &format!("{}:{file}", args.base)]))?;
    if args.files {
        now.iter().for_each(|(file, lines)| println!("{lines:6}  {file}"));
        println!();
    }
    println!("{:>6}  {:>6}  directory", "now", &args.base.get(..6).unwrap_or(&args.base));
    let (now, base) = (by_directory(&now), by_directory(&base));
    let directories: BTreeSet<_> = now.keys().chain(base.keys()).collect();
    for directory in directories {
        let of = |counts: &BTreeMap<String, usize>| counts.get(directory).copied().unwrap_or(0);
        println!("{:6}  {:6}  {directory}", of(&now), of(&base));
    }
    let (now, base) = (now.values().sum::<usize>(), base.values().sum::<usize>());
    ensure!(base > 0, "{} has no counted file", args.base);
    #[allow(clippy::cast_precision_loss)] // thousands of lines
    let ratio = now as f64 / base as f64;
    println!("{now:6}  {base:6}  in all: {ratio:.2} x");
    Ok(true)
}

/// Counts the lines of each file that is not left out, by its path below `source`.
fn count<'a>(
    files: impl Iterator<Item = &'a str>,
    source: &std::path::Path,
    read: impl Fn(&str) -> anyhow::Result<String>,
) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    for file in files {
        let below = std::path::Path::new(file).strip_prefix(source).context("a file is in its directory")?;
        let below = path(below)?;
        if below.ends_with(".rs") && !is_left_out(below) {
            counts.insert(below.to_owned(), code_lines(&read(file)?));
        }
    }
    Ok(counts)
}

fn is_left_out(file: &str) -> bool {
    let of_tests = file.ends_with("/tests.rs") || file.contains("/tests/");
    of_tests || LEFT_OUT.iter().any(|left_out| file.starts_with(left_out))
}

/// Returns the number of lines with code; a module of tests at the end of a file is not counted.
fn code_lines(text: &str) -> usize {
    let code = text.split_once("\n#[cfg(test)]\nmod tests {\n").map_or(text, |(code, _)| code);
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

fn by_directory(files: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let mut directories = BTreeMap::new();
    for (file, lines) in files {
        let directory = file.split_once('/').map_or("(top)", |(directory, _)| directory);
        *directories.entry(directory.to_owned()).or_default() += lines;
    }
    directories
}

fn git(workspace: &Workspace, args: &[&str]) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    let output = git.args(args).current_dir(&workspace.root).output().context("cannot start git")?;
    if !output.status.success() {
        bail!(
            "git {} failed: {}\na shallow clone lacks older commits: git fetch --unshallow",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn path(path: &std::path::Path) -> anyhow::Result<&str> {
    path.to_str().context("a path is UTF-8")
}
