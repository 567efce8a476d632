//! `cargo xtask layering`: who may depend on whom. What is not in the table is forbidden.
//!
//! [`house`] is the table, [`read`] asks cargo how things are, and [`violations`] compares: a pure function, so that
//! its tests need no manifests.

mod house;
mod read;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use house::{GUARDS, May, Room};

use crate::sources;
use crate::workspace::Workspace;

/// Prints what breaks the rules. True: nothing does.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let findings = findings(workspace)?;
    match findings.as_slice() {
        [] => println!("every edge is allowed: {} crates", workspace.packages.len()),
        _ => findings.iter().for_each(|finding| println!("{finding}")),
    }
    Ok(findings.is_empty())
}

/// What breaks the rules of this module and of [`sources`], each as a paragraph that says what to do.
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
    /// Its package name.
    package: String,
    /// What its manifest names, optional or not, on any platform.
    edges: Vec<Edge>,
    /// What it links, at any depth: an edge of each crate to each it depends on. Empty where no wall is to be checked.
    links: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug)]
struct Edge {
    /// The package at the other end, whatever it is renamed to.
    to: String,
    /// For tests, examples and benches only.
    dev: bool,
}

/// An edge, the rule that it breaks, and the way out.
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

/// All that breaks the rules, in the order of the workspace.
pub(crate) fn violations(graph: &Graph) -> Vec<Violation> {
    graph.crates.iter().flat_map(|it| violations_of(it, graph)).collect()
}

fn violations_of(it: &Crate, graph: &Graph) -> Vec<Violation> {
    let Some(room) = house::room_of(&it.package) else {
        return vec![Violation {
            edge: format!("{} is not in the table", it.package),
            rule: "every crate of the workspace has a room, so that its edges can be judged".into(),
            remedy: "add it to HOUSE in xtask/src/layering/house.rs, and to the house in ARCHITECTURE.md"
                .into(),
        }];
    };
    if matches!(room.may, May::Anything) {
        return Vec::new();
    }
    let member = |edge: &&Edge| graph.crates.iter().any(|other| other.package == edge.to);
    let inside = it.edges.iter().filter(member).filter_map(|edge| judge_inside(room, edge));
    let outside = it.edges.iter().filter_map(|edge| judge_outside(room, edge));
    let linked = room.keeps_out.iter().flat_map(|pattern| judge_links(room, &it.links, pattern));
    inside.chain(outside).chain(linked).collect()
}

/// An edge between two crates of ours.
fn judge_inside(room: &Room, edge: &Edge) -> Option<Violation> {
    let to = house::room_of(&edge.to)?;
    let mut allowed = house::allowed(room);
    if edge.dev {
        allowed.extend(room.dev);
        allowed.insert(room.name); // a crate's tests may turn on features of its own
    }
    if allowed.contains(to.name) {
        return None;
    }
    let kind = if edge.dev { "dev-dependencies" } else { "dependencies" };
    let list = allowed.into_iter().collect::<Vec<_>>().join(", ");
    Some(Violation {
        edge: format!("{} -> {} ({kind})", room.package, to.package),
        rule: format!(
            "{} may name in its {kind}: {}",
            room.name,
            if list.is_empty() { "nothing of ours" } else { &list }
        ),
        remedy: format!(
            "remove the edge: move what both need to where both may reach, or turn it round with a trait that {} \
             defines. If the house itself is wrong, change the table and ARCHITECTURE.md in a commit of their own",
            room.name
        ),
    })
}

/// An edge to a crate that lives in one room only.
fn judge_outside(room: &Room, edge: &Edge) -> Option<Violation> {
    let guard = GUARDS.iter().find(|guard| guard.package == edge.to)?;
    if room.name == guard.inside || (edge.dev && guard.dev.contains(&room.name)) {
        return None;
    }
    let package = house::HOUSE.iter().find(|room| room.name == guard.inside).map_or("", |room| room.package);
    Some(Violation {
        edge: format!("{} -> {}", room.package, edge.to),
        rule: format!("{} is named inside {} only", edge.to, guard.inside),
        remedy: format!("go through {package}, or through a port that it implements"),
    })
}

/// A crate that must not be linked, at any depth.
fn judge_links(room: &Room, links: &BTreeMap<String, BTreeSet<String>>, pattern: &str) -> Vec<Violation> {
    let everywhere: BTreeSet<_> = links.values().flatten().filter(|name| matches(pattern, name)).collect();
    let violation = |found: &String| Violation {
        edge: path(room.package, found, links).join(" -> "),
        rule: format!("{} keeps out {}: {}", room.name, room.keeps_out.join(", "), room.because),
        remedy: format!(
            "drop the second crate in that line, or turn off the feature that brings the rest; `cargo tree --package {} \
             --edges normal --invert {found}` shows every road",
            room.package
        ),
    };
    everywhere.into_iter().map(violation).collect()
}

/// `hyper-*` matches `hyper-util`; a pattern without a star matches itself.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// The shortest road from one crate to another.
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
    let mut road = vec![to];
    while let Some(before) =
        came_from.get(road[road.len() - 1]).filter(|before| *before != &road[road.len() - 1])
    {
        road.push(before);
    }
    road.reverse();
    road
}
