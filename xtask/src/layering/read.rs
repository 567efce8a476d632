//! Reads the dependency graph of the workspace from cargo.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use cargo_metadata::{DependencyKind, Package};

use super::workspace_table::{self, Row};
use super::{Crate, Edge, Graph};
use crate::workspace::Workspace;

/// Returns the dependencies of each crate, and the linked crates where the table excludes some.
pub(super) fn graph(workspace: &Workspace) -> anyhow::Result<Graph> {
    let crates =
        workspace.packages.iter().map(|package| read(workspace, package)).collect::<anyhow::Result<_>>()?;
    Ok(Graph { crates })
}

fn read(workspace: &Workspace, package: &Package) -> anyhow::Result<Crate> {
    let edge = |dependency: &cargo_metadata::Dependency| Edge {
        to: dependency.name.clone(),
        dev: dependency.kind == DependencyKind::Development,
    };
    let links = match workspace_table::row_of(&package.name) {
        Some(row) if !row.excludes.is_empty() => links(workspace, package, row)?,
        _ => BTreeMap::new(),
    };
    Ok(Crate {
        package: package.name.to_string(),
        edges: package.dependencies.iter().map(edge).collect(),
        links,
    })
}

/// Returns the crates that one crate links when built by itself, with all features but the exempt
/// one, on any platform.
///
/// It uses `cargo tree` and not the `resolve` of `cargo metadata`: the latter unites the features
/// of the whole workspace, so a feature that another crate turns on would look like this crate's
/// own.
fn links(
    workspace: &Workspace,
    package: &Package,
    row: &Row,
) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let features: Vec<_> =
        package.features.keys().map(String::as_str).filter(|feature| Some(*feature) != row.gate).collect();
    let mut command = workspace
        .cargo(["tree", "--edges", "normal", "--target", "all", "--prefix", "depth", "--format", "{p}"]);
    command.args([
        "--package",
        package.name.as_str(),
        "--no-default-features",
        "--features",
        &features.join(","),
    ]);
    let output = command.output().context("cannot start cargo tree")?;
    ensure!(
        output.status.success(),
        "cargo tree failed for {}: {}",
        package.name,
        String::from_utf8_lossy(&output.stderr)
    );
    parse(&String::from_utf8(output.stdout).context("cargo tree printed something that is not UTF-8")?)
}

/// Parses `0a v1 …`, `1b v2 …`, `2c v3 … (*)` into the edges a -> b -> c.
pub(super) fn parse(tree: &str) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let mut links: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut road: Vec<&str> = Vec::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let name = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let depth: usize =
            line[..line.len() - name.len()].parse().with_context(|| format!("no depth in `{line}`"))?;
        let name = name.split(' ').next().unwrap_or_default();
        ensure!(depth <= road.len(), "`{line}` is deeper than the line before it allows");
        road.truncate(depth);
        if let Some(parent) = road.last() {
            links.entry((*parent).to_owned()).or_default().insert(name.to_owned());
        }
        road.push(name);
    }
    Ok(links)
}
