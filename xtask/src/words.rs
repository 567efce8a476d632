//! `cargo xtask words`: the language of documentation and names, held by ceilings that only fall.
//!
//! [`text`] reads a file, [`figures`] counts, [`ceilings`] is the committed table, and
//! [`citations`] finds names in documents that the code no longer has. The rules and their reasons
//! are in CONTRIBUTING.md.

mod ceilings;
mod citations;
mod figures;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use citations::Names;
use figures::{Figures, Rule};

use crate::workspace::Workspace;

const GLOSSARY: &str = "docs/glossary.md";
/// The name of documentation outside of crates: of `docs/` and the Markdown files of the root.
const DOCUMENTATION: &str = "docs";
/// Maximum number of lines that the stage prints for each crate over a ceiling.
const SHOWN_FOR_A_STAGE: usize = 20;

/// Prints the figures, and the lines below `only` or, without it, those of crates over a ceiling.
/// Returns whether there are no [`findings`].
pub(crate) fn run(workspace: &Workspace, only: &[PathBuf]) -> anyhow::Result<bool> {
    let survey = Survey::read(workspace)?;
    survey.print_table();
    for (file, finding) in
        survey.crates.values().flat_map(|it| &it.findings).map(|it| (Path::new(&it.file), it))
    {
        if only.iter().any(|start| file.starts_with(start)) {
            println!("{}:{}: {}: {}", finding.file, finding.line, finding.rule.name(), finding.text);
        }
    }
    let findings = survey.findings();
    findings.iter().for_each(|finding| println!("{finding}"));
    Ok(findings.is_empty())
}

/// Figures over their ceilings with their worst lines, ceilings that must be lowered, and citations
/// of missing names.
pub(crate) fn findings(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    Ok(Survey::read(workspace)?.findings())
}

/// The figures of all crates and of the documentation, and stale citations.
struct Survey {
    crates: BTreeMap<String, Figures>,
    citations: Vec<String>,
}

impl Survey {
    fn read(workspace: &Workspace) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        collect_files(&workspace.root, &mut files)?;
        let (mut crates, mut names, mut documents) =
            (BTreeMap::<String, Figures>::new(), Names::default(), Vec::new());
        for path in files {
            let source =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let file = path.strip_prefix(&workspace.root)?.to_string_lossy().into_owned();
            let krate = crate_of(&file);
            let is_rust = file.ends_with(".rs");
            let text = if is_rust { text::of_rust(&source) } else { text::of_markdown(&source) };
            crates.entry(krate.clone()).or_default().add(&file, &text);
            if is_rust {
                names.add(package_name(&krate), &file, &source, &text);
            }
            if file.ends_with("src/lib.rs") || file == "README.md" || file.starts_with("docs/") {
                documents.push((file, source));
            }
        }
        crates.iter_mut().for_each(|(name, figures)| figures.finish(name));
        let mut citations: Vec<_> = documents
            .iter()
            .flat_map(|(file, source)| citations::missing_tests(file, source, &names))
            .collect();
        let glossary = documents.iter().find(|(file, _)| file == GLOSSARY);
        let (file, source) =
            glossary.context("docs/glossary.md is missing: it decides which term is used")?;
        citations.extend(citations::glossary(file, source, &names));
        Ok(Self { crates, citations })
    }

    fn findings(&self) -> Vec<String> {
        let mut findings = self.citations.clone();
        for (name, figures) in &self.crates {
            let judged = ceilings::judge(name, figures, ceilings::CEILINGS);
            let over: Vec<Rule> =
                Rule::ALL.into_iter().filter(|rule| ceilings::is_over(name, *rule, figures)).collect();
            let lines = figures.findings.iter().filter(|finding| over.contains(&finding.rule));
            let lines =
                lines.take(SHOWN_FOR_A_STAGE).map(|it| format!("    {}:{}: {}", it.file, it.line, it.text));
            findings.extend(judged.into_iter().chain(lines));
        }
        findings
    }

    /// A row for each crate, and one for all of them without and with the API server.
    fn print_table(&self) {
        println!(
            "{:18} {:>6} {:>6} {:>6} {:>6} {:>6} {:>8} {:>6} {:>6} {:>6}",
            "crate", "what", "who", "told", "anew", "so", "modules%", "long", "types", "tests"
        );
        let print = |name: &str, figures: &Figures| {
            let [what, who, told, anew, so, modules, long, types, tests] =
                Rule::ALL.map(|rule| figures.value(rule));
            println!(
                "{name:18} {what:6} {who:6} {told:6} {anew:6} {so:6} {modules:8} {long:6} {types:6} {tests:6}"
            );
        };
        self.crates.iter().for_each(|(name, figures)| print(name, figures));
        let without = self.crates.iter().filter(|(name, _)| *name != "apiserver").map(|(_, figures)| figures);
        print("without apiserver", &Figures::sum(without));
        print("whole", &Figures::sum(self.crates.values()));
    }
}

/// Rust and Markdown files below `directory`, in order, without hidden and built ones.
fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            collect_files(&path, files)?;
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            files.push(path);
        }
    }
    Ok(())
}

/// `informers`, `examples/kos-sdn`, or `docs` for documentation outside of crates.
fn crate_of(file: &str) -> String {
    match file.split('/').collect::<Vec<_>>()[..] {
        [_] => DOCUMENTATION.to_owned(),
        ["examples", name, ..] => format!("examples/{name}"),
        [name, ..] => name.to_owned(),
        [] => String::new(),
    }
}

/// The name of a crate in the glossary's paths: `kos` for `examples/kos-sdn`.
fn package_name(krate: &str) -> &str {
    let name = krate.rsplit('/').next().unwrap_or(krate);
    name.split('-').next().unwrap_or(name)
}
