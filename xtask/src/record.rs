//! `cargo xtask record differential`: sends the requests of the differential cases to the genuine
//! Kubernetes API machinery, and stores its responses beside them. Only this command needs Go and
//! curl; the tests read the stored responses.
//!
//! `cargo xtask record applies --sequences 5000` sends random sequences of applies, and compares
//! our responses with the genuine ones.

mod curl;
mod page;
mod peer;
#[path = "../../apiserver/tests/differential/runner/mod.rs"]
mod runner;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, anyhow};
use clap::ValueEnum;
use curl::Curl;
use peer::Peer;
use runner::case::{self, Theme};
use runner::compare::{self, Whose};
use runner::hooks::Hooks;
use runner::record::{Record, Recorded};
use runner::run;

use crate::shell::{self, Show};
use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct RecordArgs {
    /// The suite to record
    suite: Suite,
    /// Only these themes, by the names of their files
    themes: Vec<String>,
    /// Number of random sequences; more than the tests keep are compared at once and not kept
    #[arg(long, default_value_t = runner::applies::KEPT)]
    sequences: u64,
    /// Writes nothing; prints responses that differ from the recorded ones
    #[arg(long)]
    check: bool,
    /// The program of the genuine API machinery, instead of building it
    #[arg(long)]
    peer: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Suite {
    /// The responses that those of our API server are compared with
    Differential,
    /// The responses to random sequences of applies, updates and patches
    Applies,
}

/// Records responses. Returns whether every request had one; with `--check`, the recorded one.
pub(crate) fn run(workspace: &Workspace, args: &RecordArgs) -> anyhow::Result<bool> {
    if let Suite::Applies = args.suite {
        return applies(workspace, args);
    }
    let themes = if args.themes.is_empty() { case::themes().map_err(plain)? } else { args.themes.clone() };
    let themes =
        themes.iter().map(|name| Theme::read(name)).collect::<runner::Result<Vec<_>>>().map_err(plain)?;
    let peer = started(workspace, args)?;

    let mut fine = true;
    let mut requests = 0;
    for theme in &themes {
        let (record, answered) = ask(theme, &peer)?;
        let same = same_as_recorded(theme, &record, args.check);
        println!(
            "{:20} {:4} requests, {}",
            theme.name,
            theme.requests(),
            if same { "as recorded" } else { "new answers" }
        );
        fine &= answered && (same || !args.check);
        requests += theme.requests();
        if !args.check && answered {
            write(theme, &record)?;
        }
    }
    println!("{requests} requests");
    Ok(fine)
}

/// Sends random sequences. Returns whether our responses are the same.
fn applies(workspace: &Workspace, args: &RecordArgs) -> anyhow::Result<bool> {
    let theme = runner::applies::theme(0..args.sequences).map_err(plain)?;
    let peer = started(workspace, args)?;
    let (record, answered) = ask(&theme, &peer)?;
    println!("{} sequences of {} requests", args.sequences, theme.requests());
    if args.sequences == runner::applies::KEPT && !args.check && answered {
        write(&theme, &record)?;
    }
    let path = workspace.target.join("differential/applies.json");
    fs::write(&path, serde_json::to_vec(&record)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let mut judge = Command::new("cargo");
    judge.args([
        "test",
        "--package",
        "machinery-apiserver",
        "--test",
        "it",
        "random_applies",
        "--",
        "--nocapture",
    ]);
    judge.env("APPLIES_RECORDED", &path).env("APPLIES_SEQUENCES", args.sequences.to_string());
    Ok(shell::run(judge, Show::Lines)?.ok && answered)
}

fn started(workspace: &Workspace, args: &RecordArgs) -> anyhow::Result<Peer> {
    let program = match &args.peer {
        Some(program) => program.clone(),
        None => peer::build(workspace)?,
    };
    let directory = workspace.target.join("differential");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let hooks = Hooks::read().map_err(plain)?;
    let peer = Peer::start(&program, &directory, &hooks.told())?;
    println!("{} at {}", peer.address.version, peer.address.url);
    Ok(peer)
}

/// Returns all responses of a theme, and whether every case ran to its end.
fn ask(theme: &Theme, peer: &Peer) -> anyhow::Result<(Record, bool)> {
    let mut client = Curl { server: &peer.address };
    run::prepare(theme, &mut client).map_err(plain).with_context(|| theme.name.clone())?;
    let mut record = Record { server: peer.address.version.clone(), ..Record::default() };
    let mut answered = true;
    for case in &theme.cases {
        let played = run::play(theme, case, &mut client);
        if let Some(trouble) = played.trouble {
            println!("{} {}: {trouble}", theme.name, case.name);
            answered = false;
        }
        let recorded = Recorded { print: case.print.clone(), answers: played.answers };
        record.cases.insert(case.name.clone(), recorded);
    }
    Ok((record, answered))
}

/// Returns whether every response is as recorded; with `tell`, prints the differences.
fn same_as_recorded(theme: &Theme, record: &Record, tell: bool) -> bool {
    let Ok(last) = Record::read(&theme.name) else { return false };
    let stale = last.stale(theme);
    let mut same = stale.is_empty() && last.cases.len() == record.cases.len();
    for case in theme.cases.iter().filter(|case| !stale.contains(&case.name.as_str())) {
        let (recorded, found) = (&last.cases[&case.name], &record.cases[&case.name]);
        let differences = compare::differences(case, Whose::Theirs, &recorded.answers, &found.answers);
        same &= differences.is_empty();
        for difference in differences.iter().filter(|_| tell) {
            println!("{} {}:\n{difference}", theme.name, case.name);
        }
    }
    same
}

fn write(theme: &Theme, record: &Record) -> anyhow::Result<()> {
    let path = Record::path(&theme.name);
    let text = page::page(&serde_json::to_value(record)?);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn plain(error: Box<dyn std::error::Error + Send + Sync>) -> anyhow::Error {
    anyhow!("{error}")
}
