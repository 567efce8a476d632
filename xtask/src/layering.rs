//! `cargo xtask layering`: the allowed dependencies between crates. Edges that are not in the table
//! are forbidden.
//!
//! [`workspace_table`] is the table, [`read`] reads the graph from cargo, and [`violations`]
//! compares them: a pure function, so that its tests need no manifests.

mod read;
#[cfg(test)]
mod tests;
mod workspace_table;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use workspace_table::{May, Row, SINGLE_USER};

use crate::sources;
use crate::workspace::Workspace;

/// Prints the violations. Returns whether there are none.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let findings = findings(workspace)?;
    match findings.as_slice() {
        [] => println!("every edge is allowed: {} crates", workspace.packages.len()),
        _ => findings.iter().for_each(|finding| println!("{finding}")),
    }
    Ok(findings.is_empty())
}

/// Returns the violations of the rules of this module and of [`sources`], each as a paragraph with
/// its remedy.
pub(crate) fn findings(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let graph = read::graph(workspace)?;
    let mut findings: Vec<_> = violations(&graph).iter().map(Violation::to_string).collect();
    findings.extend(sources::findings(workspace)?);
    Ok(findings)
}

/// The crates of the workspace.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    crates: Vec<Crate>,
}

/// One crate, as its manifest and the resolver see it.
#[derive(Debug, Default)]
struct Crate {
    /// Name of the package.
    package: String,
    /// Dependencies in the manifest, optional ones and those of any platform included.
    edges: Vec<Edge>,
    /// Linked crates at any depth: edges from each crate to its dependencies. Empty where no
    /// exclusion is checked.
    links: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug)]
struct Edge {
    /// The package at the other end, by its own name, also if the manifest renames it.
    to: String,
    /// For tests, examples and benches only.
    dev: bool,
}

/// A forbidden edge, the rule, and the remedy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    edge: String,
    rule: String,
    remedy: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n    rule: {}\n    what to do: {}", self.edge, self.rule, self.remedy)
    }
}

/// Returns all violations, in the order of the workspace.
pub(crate) fn violations(graph: &Graph) -> Vec<Violation> {
    graph.crates.iter().flat_map(|it| violations_of(it, graph)).collect()
}

fn violations_of(it: &Crate, graph: &Graph) -> Vec<Violation> {
    let Some(row) = workspace_table::row_of(&it.package) else {
        return vec![Violation {
            edge: format!("{} is not in the table", it.package),
            rule: "every crate of the workspace has a row, so that its edges can be judged".into(),
            remedy: "add it to WORKSPACE in xtask/src/layering/workspace_table.rs, and to the table in ARCHITECTURE.md"
                .into(),
        }];
    };
    if matches!(row.may, May::Anything) {
        return Vec::new();
    }
    let member = |edge: &&Edge| graph.crates.iter().any(|other| other.package == edge.to);
    let inside = it.edges.iter().filter(member).filter_map(|edge| judge_inside(row, edge));
    let outside = it.edges.iter().filter_map(|edge| judge_outside(row, edge));
    let linked = row.excludes.iter().flat_map(|pattern| judge_links(row, &it.links, pattern));
    inside.chain(outside).chain(linked).collect()
}

/// Checks an edge between two crates of the workspace.
fn judge_inside(row: &Row, edge: &Edge) -> Option<Violation> {
    let to = workspace_table::row_of(&edge.to)?;
    let mut allowed = workspace_table::allowed(row);
    if edge.dev {
        allowed.extend(row.dev);
        allowed.insert(row.name); // a crate's tests may turn on features of its own
    }
    if allowed.contains(to.name) {
        return None;
    }
    let kind = if edge.dev { "dev-dependencies" } else { "dependencies" };
    let list = allowed.into_iter().collect::<Vec<_>>().join(", ");
    Some(Violation {
        edge: format!("{} -> {} ({kind})", row.package, to.package),
        rule: format!(
            "{} may name in its {kind}: {}",
            row.name,
            if list.is_empty() { "nothing of ours" } else { &list }
        ),
        remedy: format!(
            "remove the edge: move what both need to where both may reach, or turn it round with a trait that {} \
             defines. If the table itself is wrong, change the table and ARCHITECTURE.md in a commit of their own",
            row.name
        ),
    })
}

/// Checks an edge to an external crate that only one crate may use.
fn judge_outside(row: &Row, edge: &Edge) -> Option<Violation> {
    let external = SINGLE_USER.iter().find(|external| external.package == edge.to)?;
    if row.name == external.inside || (edge.dev && external.dev.contains(&row.name)) {
        return None;
    }
    let package = workspace_table::WORKSPACE
        .iter()
        .find(|row| row.name == external.inside)
        .map_or("", |row| row.package);
    Some(Violation {
        edge: format!("{} -> {}", row.package, edge.to),
        rule: format!("{} is named inside {} only", edge.to, external.inside),
        remedy: format!("go through {package}, or through a port that it implements"),
    })
}

/// Finds linked crates that must not be linked, at any depth.
fn judge_links(row: &Row, links: &BTreeMap<String, BTreeSet<String>>, pattern: &str) -> Vec<Violation> {
    let everywhere: BTreeSet<_> = links.values().flatten().filter(|name| matches(pattern, name)).collect();
    let violation = |found: &String| Violation {
        edge: path(row.package, found, links).join(" -> "),
        rule: format!("{} keeps out {}: {}", row.name, row.excludes.join(", "), row.because),
        remedy: format!(
            "drop the second crate in that line, or turn off the feature that brings the rest; `cargo tree --package {} \
             --edges normal --invert {found}` shows every path",
            row.package
        ),
    };
    everywhere.into_iter().map(violation).collect()
}

/// Returns whether a pattern matches: `hyper-*` matches `hyper-util`; a pattern without a star
/// matches itself.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// Returns the shortest dependency path from one crate to another.
fn path<'a>(from: &'a str, to: &'a str, links: &'a BTreeMap<String, BTreeSet<String>>) -> Vec<&'a str> {
    let mut came_from = BTreeMap::from([(from, from)]);
    let mut queue = VecDeque::from([from]);
    while let Some(here) = queue.pop_front() {
        for next in links.get(here).into_iter().flatten() {
            if !came_from.contains_key(next.as_str()) {
                came_from.insert(next, here);
                queue.push_back(next);
            }
        }
    }
    let mut path = vec![to];
    while let Some(before) =
        came_from.get(path[path.len() - 1]).filter(|before| *before != &path[path.len() - 1])
    {
        path.push(before);
    }
    path.reverse();
    path
}
