//! Checks names that documents cite: tests in `lib.rs`, README and `docs/`, and items in the
//! glossary. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::text::{self, Text};

/// The names that the code of the workspace has.
#[derive(Default)]
pub(crate) struct Names {
    /// Every identifier outside of comments, those in strings included.
    identifiers: BTreeSet<String>,
    /// Per crate: declared types and functions, and modules, with the documentation of each file
    /// that has one of them.
    items: BTreeMap<String, BTreeMap<String, String>>,
}

impl Names {
    /// Adds a Rust file of a crate.
    pub(crate) fn add(&mut self, krate: &str, file: &str, source: &str, text: &Text) {
        for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let pieces = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            self.identifiers.extend(pieces.filter(|piece| piece.contains('_')).map(str::to_owned));
        }
        let docs: Vec<_> = source.lines().filter(|line| is_doc(line)).map(str::to_lowercase).collect();
        let docs = docs.join("\n");
        let declared = text.types.iter().chain(&text.functions).map(|line| line.text.as_str());
        let modules = file.trim_end_matches(".rs").split('/');
        let items = self.items.entry(krate.to_owned()).or_default();
        for name in declared.chain(modules) {
            items.entry(name.to_owned()).or_default().push_str(&docs);
        }
    }

    fn has(&self, cited: &str) -> bool {
        match cited.strip_suffix('…').or(Some(cited).filter(|cited| cited.ends_with('_'))) {
            Some(start) => {
                self.identifiers.range(start.to_owned()..).next().is_some_and(|name| name.starts_with(start))
            }
            // The Prometheus client adds the suffix of a counter.
            None => {
                self.identifiers.contains(cited)
                    || cited.strip_suffix("_total").is_some_and(|name| self.identifiers.contains(name))
            }
        }
    }

    fn docs_of(&self, path: &str) -> Option<&String> {
        let (krate, _) = path.split_once("::")?;
        self.items.get(krate)?.get(path.rsplit("::").next()?)
    }
}

/// Returns the tests that a document cites and the code does not have. A citation is inline code in
/// snake case: four words and more, or the number of a promise; a name that ends with `…` or `_` is
/// a prefix.
pub(crate) fn missing_tests(file: &str, source: &str, names: &Names) -> Vec<String> {
    let mut missing = Vec::new();
    for (index, line) in source.lines().enumerate().filter(|(_, line)| !file.ends_with(".rs") || is_doc(line))
    {
        for cited in text::inline_code(line).filter(|code| is_citation(code) && !names.has(code)) {
            missing.push(format!(
                "{file}:{}: no test and no name of the code is called `{cited}`\n    what to do: cite its present name",
                index + 1
            ));
        }
    }
    missing
}

/// Terms that readers search for: each stands in the documentation of the item that the glossary
/// names for it.
const SEARCHED: [&str; 12] = [
    "relist",
    "resync",
    "tombstone",
    "indexer",
    "predicate",
    "map function",
    "requeue",
    "impersonation",
    "reinvocation",
    "field manager",
    "preconditions",
    "garbage collector",
];

/// The heading of the glossary's last section.
const OLD_NAMES: &str = "## Old names";

/// Returns the items that the glossary names and the code does not have, and searched terms that
/// their item does not mention.
pub(crate) fn glossary(file: &str, source: &str, names: &Names) -> Vec<String> {
    let mut findings = Vec::new();
    let mut found = BTreeSet::new();
    let current = source.lines().enumerate().take_while(|(_, line)| *line != OLD_NAMES);
    for (index, line) in current.filter(|(_, line)| line.starts_with('|')) {
        for path in text::inline_code(line).filter(|code| is_path_of_ours(code, names)) {
            let Some(docs) = names.docs_of(path) else {
                findings.push(format!(
                    "{file}:{}: `{path}` does not exist\n    what to do: name the item or module that carries the term",
                    index + 1
                ));
                continue;
            };
            let term = line.split('|').nth(1).unwrap_or_default();
            found.extend(
                SEARCHED.into_iter().filter(|searched| term.contains(searched) && docs.contains(searched)),
            );
        }
    }
    let unfound = SEARCHED.into_iter().filter(|term| !found.contains(term));
    findings.extend(unfound.map(|term| {
        format!(
            "{file}: no item mentions \"{term}\" in its documentation\n    what to do: give the term a row, and use it in the doc \
             comment of the item that the row names"
        )
    }));
    findings
}

fn is_path_of_ours(code: &str, names: &Names) -> bool {
    code.split_once("::").is_some_and(|(krate, _)| names.items.contains_key(krate))
}

fn is_citation(code: &str) -> bool {
    let name = code.strip_suffix('…').unwrap_or(code);
    let is_snake = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let is_promise = name.len() >= 4
        && name.starts_with('p')
        && name[1..3].chars().all(|c| c.is_ascii_digit())
        && name[3..].starts_with('_');
    is_snake && (is_promise || name.matches('_').count() >= 3)
}

fn is_doc(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!")
}
