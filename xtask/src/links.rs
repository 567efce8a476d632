//! `cargo xtask links`: the links of the guides to lines of code.
//!
//! A link ``[`text`](../../path/file.rs#L12)`` claims that line 12 of the file contains the text.
//! `--fix` writes the numbers of lines that have moved.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::workspace::Workspace;

/// The arguments of `cargo xtask links`.
#[derive(Args)]
pub(crate) struct LinksArgs {
    /// Writes the numbers of lines that have moved
    #[arg(long)]
    fix: bool,
}

/// The directories whose Markdown files are checked.
const DIRECTORIES: [&str; 2] = ["docs/guides", "docs/designs"];

/// A link to a line, as found in a text.
#[derive(Debug, PartialEq)]
struct LineLink<'a> {
    /// The text in backticks, which the line contains.
    text: &'a str,
    /// The path, relative to the directory of the text.
    path: &'a str,
    /// The number of the line, from 1.
    line: usize,
    /// The position of the number in the text.
    digits: std::ops::Range<usize>,
}

/// Checks all links, and prints those that are wrong; with `fix` corrects them.
pub(crate) fn run(workspace: &Workspace, args: &LinksArgs) -> anyhow::Result<bool> {
    let mut is_right = true;
    for guide in guides(&workspace.root)? {
        let before = read(&guide)?;
        let (after, wrong) = corrected(&before, &|path| read(&directory(&guide).join(path)));
        if args.fix && after != before {
            fs::write(&guide, &after).with_context(|| format!("cannot write {}", guide.display()))?;
            println!("{}: corrected", guide.display());
        }
        let left =
            if args.fix { corrected(&after, &|path| read(&directory(&guide).join(path))).1 } else { wrong };
        is_right &= left.is_empty();
        left.iter().for_each(|wrong| println!("{}: {wrong}", guide.display()));
    }
    Ok(is_right)
}

/// Returns the wrong links of all guides, for the run of all tests.
pub(crate) fn findings(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for guide in guides(&workspace.root)? {
        let (_, wrong) = corrected(&read(&guide)?, &|path| read(&directory(&guide).join(path)));
        found.extend(wrong.iter().map(|wrong| format!("{}: {wrong}", guide.display())));
    }
    Ok(found)
}

/// Returns the text with the numbers of lines that have moved, and a message for each wrong link.
fn corrected(text: &str, file: &dyn Fn(&str) -> anyhow::Result<String>) -> (String, Vec<String>) {
    let (mut out, mut wrong, mut copied) = (String::new(), Vec::new(), 0);
    for LineLink { text: code, path, line, digits } in line_links(text) {
        let lines = match file(path) {
            Ok(lines) => lines,
            Err(error) => {
                wrong.push(format!("{error:#}"));
                continue;
            }
        };
        let with_code = lines.lines().zip(1..).filter(|(it, _)| it.contains(code)).map(|(_, number)| number);
        let nearest: Option<usize> = with_code.min_by_key(|number: &usize| number.abs_diff(line));
        match nearest {
            Some(number) if number == line => {}
            Some(number) => {
                wrong.push(format!(
                    "{path}: `{code}` is in line {number}, not {line}: cargo xtask links --fix"
                ));
                out.push_str(&text[copied..digits.start]);
                out.push_str(&number.to_string());
                copied = digits.end;
            }
            None => wrong.push(format!("{path}: no line contains `{code}`: link to its new place")),
        }
    }
    out.push_str(&text[copied..]);
    (out, wrong)
}

/// Returns the links to lines, in order. Other links are left to the readers.
fn line_links(text: &str) -> Vec<LineLink<'_>> {
    let mut links = Vec::new();
    for (at, separator) in text.match_indices("`](") {
        let start = at + separator.len();
        let Some(code) = text[..at].rsplit_once("[`").map(|(_, code)| code) else { continue };
        let Some(target) = text[start..].split_once(')').map(|(target, _)| target) else { continue };
        let Some((path, number)) = target.split_once("#L") else { continue };
        let digits = start + path.len() + 2;
        if let (Ok(line), false) = (number.parse(), code.contains('\n')) {
            links.push(LineLink { text: code, path, line, digits: digits..digits + number.len() });
        }
    }
    links
}

fn guides(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut guides = Vec::new();
    for directory in DIRECTORIES {
        let directory = root.join(directory);
        let entries =
            fs::read_dir(&directory).with_context(|| format!("cannot read {}", directory.display()))?;
        for entry in entries {
            guides.push(entry?.path());
        }
    }
    guides.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    guides.sort();
    Ok(guides)
}

fn directory(guide: &Path) -> &Path {
    guide.parent().unwrap_or(guide)
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
