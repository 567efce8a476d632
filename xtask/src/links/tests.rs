//! Tests of links to lines, and of those in the tree.

use anyhow::bail;

use super::{LineLink, corrected, findings, line_links};
use crate::workspace::Workspace;

fn file(path: &str) -> anyhow::Result<String> {
    match path {
        "a.rs" => Ok("use x;\n\nfn one() {}\nfn two() { one() }\n".into()),
        _ => bail!("cannot read {path}"),
    }
}

#[track_caller]
fn check(text: &str, expected: &str, wrong: &[&str]) {
    let (fixed, found) = corrected(text, &file);
    assert_eq!(fixed, expected);
    assert_eq!(found, wrong);
}

#[test]
fn links_to_lines_are_found_among_others() {
    let text = "`code` [`one`](a.rs#L3), [text](a.rs#L1) [`two`](b.rs) [`x`](c.rs#section)";
    assert_eq!(line_links(text), [LineLink { text: "one", path: "a.rs", line: 3, digits: 22..23 }]);
}

#[test]
fn a_right_link_stays() {
    check("[`fn one`](a.rs#L3) [`one()`](a.rs#L4)", "[`fn one`](a.rs#L3) [`one()`](a.rs#L4)", &[]);
}

#[test]
fn a_moved_line_is_found_by_its_text() {
    check(
        "see [`fn two`](a.rs#L12) and [`use x`](a.rs#L2).",
        "see [`fn two`](a.rs#L4) and [`use x`](a.rs#L1).",
        &[
            "a.rs: `fn two` is in line 4, not 12: cargo xtask links --fix",
            "a.rs: `use x` is in line 1, not 2: cargo xtask links --fix",
        ],
    );
}

#[test]
fn missing_files_and_texts_are_reported() {
    let text = "[`fn three`](a.rs#L3) [`x`](gone.rs#L1)";
    check(text, text, &["a.rs: no line contains `fn three`: link to its new place", "cannot read gone.rs"]);
}

#[test]
fn the_links_of_the_guides_lead_to_their_lines() {
    let workspace = Workspace::read().unwrap();
    assert_eq!(findings(&workspace).unwrap(), Vec::<String>::new());
}
