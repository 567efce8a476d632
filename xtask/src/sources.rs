//! A rule about source text that clippy cannot state: in a library every `select!` is `biased;`.
//!
//! Without it tokio polls the branches in a random order from its own source of randomness, so a
//! simulated run could not be repeated.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::workspace::Workspace;

/// Returns every `select!` in the sources of the libraries that does not begin with `biased;`.
pub(crate) fn findings(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut findings = Vec::new();
    for package in workspace.libraries() {
        let home = package.manifest_path.parent().context("a manifest is in a directory")?;
        for file in rust_files(home.join("src").as_std_path())? {
            let text =
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let place = file.strip_prefix(&workspace.root).unwrap_or(&file).display();
            findings.extend(unbiased(&text).into_iter().map(|line| {
                format!(
                    "{place}:{line}: select! without `biased;`\n    rule: libraries take no randomness of their own\n    \
                     what to do: write `biased;` first, and order the branches: cancellation, then answers, then new work"
                )
            }));
        }
    }
    Ok(findings)
}

fn rust_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the line numbers of the `select!` calls without `biased;`.
fn unbiased(text: &str) -> Vec<usize> {
    let code = code_only(text);
    let in_a_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices("select!")
        .filter(|(at, _)| !code[..*at].ends_with(in_a_name))
        .filter(|(at, call)| {
            let body = code[at + call.len()..].trim_start().trim_start_matches(['{', '(', '[']).trim_start();
            !body.strip_prefix("biased").is_some_and(|rest| rest.trim_start().starts_with(';'))
        })
        .map(|(at, _)| code[..at].matches('\n').count() + 1)
        .collect()
}

/// Returns the text with comments, strings and characters blanked out, line for line.
fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let blank = comment(rest).or_else(|| literal(rest));
        // A name is taken whole, so that the r of `for"` is not taken for a raw string's.
        let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (length, keep) = match blank {
            Some(length) => (length, false),
            None => (name.max(first.len_utf8()), true),
        };
        let (piece, after) = rest.split_at(length);
        if keep {
            code.push_str(piece)
        } else {
            code.extend(piece.chars().map(|c| if c == '\n' { c } else { ' ' }))
        }
        rest = after;
    }
    code
}

/// Returns the length of the comment that `text` begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.strip_prefix("/*")?;
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    Some(text.len())
}

/// Returns the length of the string or character that `text` begins with.
fn literal(text: &str) -> Option<usize> {
    let raw = text.trim_start_matches(['b', 'c']);
    if text.len() - raw.len() <= 1
        && let Some(fence) = raw.strip_prefix('r')
    {
        let hashes = fence.len() - fence.trim_start_matches('#').len();
        if let Some(body) = fence[hashes..].strip_prefix('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            return Some(body.find(&end).map_or(text.len(), |at| text.len() - body.len() + at + end.len()));
        }
    }
    let body =
        text.strip_prefix('"').or_else(|| text.strip_prefix("b\"")).or_else(|| text.strip_prefix("c\""));
    if let Some(body) = body {
        return Some(text.len() - body.len() + closed(body, '"').unwrap_or(body.len()));
    }
    // 'a' and '\n' are characters, 'a is a lifetime.
    let body = text.strip_prefix('\'')?;
    let mut chars = body.chars();
    let character = chars.next() == Some('\\') || chars.next() == Some('\'');
    character.then(|| 1 + closed(body, '\'').unwrap_or(body.len()))
}

/// Returns the end of the literal that starts before `body`.
fn closed(body: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    body.char_indices().find_map(|(at, c)| {
        let end = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        end.then(|| at + c.len_utf8())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, lines: &[usize]) {
        assert_eq!(unbiased(text), lines, "in {text}");
    }

    #[test]
    fn an_unbiased_select_is_found_with_its_line() {
        check("fn f() {\n    tokio::select! {\n        _ = a => {}\n    }\n}\n", &[2]);
        check("select!(biased; _ = a => {});\nselect! { _ = biased => {} }", &[2]);
    }

    #[test]
    fn a_biased_select_is_fine() {
        check("tokio::select! {\n    biased;\n    _ = a => {}\n}", &[]);
        check("select! { // the order matters\n    biased ; _ = a => {} }", &[]);
    }

    #[test]
    fn other_names_are_other_macros() {
        check("my_select! { _ = a => {} }\nselect_biased! { _ = a => {} }", &[]);
    }

    #[test]
    fn text_is_not_code() {
        check("/// select! { }\n/* /* select! { } */ select! { } */\nlet s = \"select! {\\\" }\";", &[]);
        check("let s = r#\"select! { \" }\"#; let c = '\"'; let d = b'\\''; select! { }", &[1]);
        check("fn f<'a>(a: &'a str) { select! { } }", &[1]);
    }
}
