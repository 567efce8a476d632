//! The origin of figures: machine, commit and command.

use serde::Serialize;
use std::path::Path;
use std::process::Command;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Origin {
    pub(crate) machine: String,
    pub(crate) commit: String,
    pub(crate) command: String,
}

impl Origin {
    pub(crate) fn here() -> Self {
        Self { machine: machine(), commit: commit(), command: command() }
    }
}

fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown CPU", |(_, model)| model.trim());
    match std::thread::available_parallelism() {
        Ok(cores) => format!("{model}, {cores} cores"),
        Err(_) => model.to_owned(),
    }
}

/// Returns the commit of the checkout, with a `+` if there are changes.
fn commit() -> String {
    let git = |args: &[&str]| {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short", "HEAD"]) else { return "none".to_owned() };
    let clean = git(&["status", "--porcelain"]).is_some_and(|changes| changes.is_empty());
    if clean { commit } else { format!("{commit}+") }
}

/// Returns the command line, with the program's name instead of its path.
fn command() -> String {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    let name =
        Path::new(&program).file_name().map_or(program.clone(), |name| name.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}
