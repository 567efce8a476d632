//! `cargo xtask e2e [FOCUS]`: Kubernetes' own e2e specs of API machinery, on `machinery serve`.
//!
//! The specs are compiled, unmodified, from the Go modules in `xtask/e2e/go.mod`. Three lists
//! beside it name each spec of the suite exactly once: those that pass, those that are expected to
//! fail, and those left out, the latter two with reasons. The command fails when the run differs
//! from the lists in either direction. Only this command needs Go (docs/designs/023-e2e.md).

mod area_table;
mod comparison;
mod ginkgo_report;
mod spec_lists;
mod suite;

use std::collections::BTreeMap;

use anyhow::ensure;

use crate::shell;
use crate::workspace::Workspace;
use ginkgo_report::Verdict;
use spec_lists::SpecLists;
use suite::E2eSuite;

#[derive(clap::Args)]
pub(crate) struct E2eArgs {
    /// Only specs with this in their names, such as `Watchers` or `should patch a Namespace`
    focus: Option<String>,
    /// Rewrites the lists of passing and failing specs after the run. The reason of a new failure
    /// is to be written by hand
    #[arg(long)]
    update: bool,
}

/// Runs the specs. Returns whether the results are those of the lists.
pub(crate) fn run(workspace: &Workspace, args: &E2eArgs) -> anyhow::Result<bool> {
    let home = workspace.root.join("xtask/e2e");
    let mut lists = SpecLists::read(&home)?;
    println!("building the specs of Kubernetes' API machinery (cold this takes twenty minutes) ...");
    let suite = E2eSuite::build(workspace)?;
    let server = suite::build_server(workspace)?;

    let all = suite.specs()?;
    let findings = lists.differ_from(&all);
    if !findings.is_empty() && !args.update {
        findings.iter().for_each(|finding| println!("{finding}"));
        println!("\nedit the lists in {}, or run with --update", home.display());
        return Ok(false);
    }
    lists.adopt(&all);
    let names = lists.chosen(args.focus.as_deref());
    ensure!(!names.is_empty(), "{}", nothing_chosen(&lists, args.focus.as_deref().unwrap_or_default()));

    println!("running {} of {} specs; the log is {} ...", names.len(), all.len(), suite.log().display());
    let begun = shell::now();
    let results = suite.run(&server, &names)?;
    print!("\n{}", area_table::render(&all, &lists, &results));
    let differences = comparison::differences(&lists, &names, &results);
    differences.iter().for_each(|difference| println!("{difference}"));
    println!("\n{} in {:.0} s", tally(&results), begun.elapsed().as_secs_f64());
    if args.update {
        lists.update(&results);
        lists.write(&home)?;
        println!("the lists in {} are rewritten", home.display());
    }
    Ok(differences.is_empty())
}

/// Returns the error of a focus that no spec of the run matches, with the reasons of those left
/// out.
fn nothing_chosen(lists: &SpecLists, focus: &str) -> String {
    let mut text = format!("no spec that runs has `{focus}` in its name");
    for (name, reason) in lists.left_out(focus) {
        text += &format!("\nleft out: {name}: {reason}");
    }
    text
}

fn tally(results: &BTreeMap<String, Verdict>) -> String {
    let count = |wanted: fn(&Verdict) -> bool| results.values().filter(|verdict| wanted(verdict)).count();
    format!(
        "{} passed, {} failed, {} skipped",
        count(|verdict| matches!(verdict, Verdict::Passed)),
        count(|verdict| matches!(verdict, Verdict::Failed(_))),
        count(|verdict| matches!(verdict, Verdict::Skipped(_)))
    )
}
