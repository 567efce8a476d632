//! The report as a generated section of `bench/RESULTS.md`.

use super::Report;
use super::table::{cells, figures_are};
use anyhow::Context;
use std::fmt::Write;
use std::path::Path;

/// Replaces the suite's section in the file, or appends it.
pub(crate) fn write_section(report: &Report, path: &Path) -> anyhow::Result<()> {
    let old = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let new = replace(&old, report.suite, &section(report)?);
    std::fs::write(path, new).with_context(|| format!("cannot write {}", path.display()))
}

fn section(report: &Report) -> anyhow::Result<String> {
    let mut text = format!("## {}\n\n", report.suite);
    writeln!(text, "- machine: {}", report.origin.machine)?;
    writeln!(text, "- commit: {}", report.origin.commit)?;
    writeln!(text, "- command: `{}`", report.origin.command)?;
    writeln!(text, "- figures: {}\n", figures_are(report.rounds))?;
    for (i, line) in cells(&report.rows).iter().enumerate() {
        writeln!(text, "| {} |", line.join(" | "))?;
        if i == 0 {
            writeln!(text, "|{}", "---|".repeat(line.len()))?;
        }
    }
    text.push('\n');
    for row in report.rows.iter().filter(|row| !row.note.is_empty()) {
        writeln!(text, "- `{}`: {}", row.name, row.note)?;
    }
    Ok(text)
}

/// Returns `old` with the section `## suite` replaced by `section`, or appended.
fn replace(old: &str, suite: &str, section: &str) -> String {
    let heading = format!("## {suite}\n");
    let begin =
        if old.starts_with(&heading) { Some(0) } else { old.find(&format!("\n{heading}")).map(|at| at + 1) };
    let Some(begin) = begin else {
        return if old.is_empty() { section.to_owned() } else { format!("{}\n\n{section}", old.trim_end()) };
    };
    let rest = &old[begin + heading.len()..];
    let tail = rest.find("\n## ").map_or("", |end| &rest[end..]);
    format!("{}{section}{tail}", &old[..begin])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_replaces_its_own_kind_and_leaves_the_others() {
        fn check(old: &str, expect: &str) {
            assert_eq!(replace(old, "b", "## b\nnew\n"), expect);
        }
        check("", "## b\nnew\n");
        check("# Results\n\n## a\nx\n", "# Results\n\n## a\nx\n\n## b\nnew\n");
        check("## b\nold\n", "## b\nnew\n");
        check("## a\nx\n\n## b\nold\n\n## c\ny\n", "## a\nx\n\n## b\nnew\n\n## c\ny\n");
    }
}
