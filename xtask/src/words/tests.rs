//! Tests that each rule finds text that breaks this rule and no other.

use super::ceilings::{self, Ceilings};
use super::citations::{self, Names};
use super::figures::{Figures, Rule};
use super::text;

/// Figures of one Rust file of the crate `example`.
fn figures_of(source: &str) -> Figures {
    let mut figures = Figures::default();
    figures.add("example/src/lib.rs", &text::of_rust(source));
    figures.finish("example");
    figures
}

/// Asserts which rules count `source`, and how often.
fn check(source: &str, expected: &[(Rule, usize)]) {
    let figures = figures_of(source);
    for rule in Rule::ALL {
        let count = figures.findings.iter().filter(|finding| finding.rule == rule).count();
        let wanted = expected.iter().find(|(it, _)| *it == rule).map_or(0, |(_, count)| *count);
        assert_eq!(count, wanted, "{rule:?} in {source}");
    }
}

#[test]
fn each_word_is_counted_under_its_rule() {
    check("/// Returns what it has. What remains is dropped.", &[(Rule::What, 2)]);
    check("/// Wakes whoever waits, and the task whose turn it is, who runs.", &[(Rule::Who, 3)]);
    check("/// A handler is told, has heard, said and asked.", &[(Rule::Told, 4)]);
    check("/// Lists anew.", &[(Rule::Anew, 1)]);
    check("/// Waits so long, after so many tries; so it ends.", &[(Rule::SoMany, 2)]);
    check("/// Returns the objects of the snapshot, somewhat later.", &[]);
}

#[test]
fn code_is_no_prose() {
    check("/// Calls `what()`.\n/// ```\n/// // what is told\n/// ```\n/// Ends.", &[]);
    check("// What a plain comment says is not counted.\nlet what = \"told\";", &[]);
}

#[test]
fn a_module_doc_that_begins_with_a_question_word_is_counted() {
    check("//! Which keys are due.\n//! How they are found.", &[(Rule::QuestionModules, 1)]);
    check("//! Keys that are due.\n//! Which of them comes first.", &[]);
}

#[test]
fn a_long_doc_line_is_counted_unless_it_is_a_table_row() {
    let long = "x".repeat(97);
    check(&format!("/// {long}"), &[(Rule::LongLines, 1)]);
    check(&format!("/// {}", &long[..96]), &[]);
    check(&format!("/// | {long} |\n// {long}"), &[]);
}

#[test]
fn a_type_name_used_twice_is_counted_once() {
    check("struct Place;\nmod tests {\n    pub(crate) enum Place {}\n}", &[(Rule::TypesTwice, 1)]);
    check("struct State;\nmod inner {\n    struct State;\n}", &[]);
    check("struct Place;\nimpl Iterator for Place {\n    type Item = Place;\n}\n// struct Place;", &[]);
}

#[test]
fn a_test_name_that_begins_with_a_question_word_is_counted() {
    let tests =
        "#[test]\nfn what_comes_goes() {}\n#[tokio::test(start_paused = true)]\nasync fn who_waits() {}";
    check(tests, &[(Rule::QuestionTests, 2)]);
    check("fn which_one() {}\n#[test]\nfn whole_pages_are_read() {}", &[]);
}

#[test]
fn figures_are_per_thousand_words_and_per_cent() {
    let figures = figures_of("//! How much.\n/// One two three four five six seven what.");
    assert_eq!(figures.value(Rule::What), 100.0);
    assert_eq!(figures.value(Rule::QuestionModules), 100.0);
}

/// One `what` in a hundred words, beside a ceiling for it.
fn judged(ceiling: f64) -> Vec<String> {
    let figures = figures_of(&format!("/// what\n{}", "/// word\n".repeat(99)));
    let mut limits = [0.0; Rule::ALL.len()];
    limits[Rule::What as usize] = ceiling;
    ceilings::judge("example", &figures, &[Ceilings { name: "example", limits }])
}

#[test]
fn a_figure_above_its_ceiling_fails_and_far_below_it_too() {
    assert!(judged(10.0).is_empty(), "at the ceiling");
    assert!(judged(11.0).is_empty(), "a tenth below");
    assert!(judged(9.9)[0].contains("the ceiling is 9.9"), "{:?}", judged(9.9));
    assert!(judged(11.2)[0].contains("lower the ceiling to 10"), "{:?}", judged(11.2));
}

#[test]
fn a_ceiling_at_the_goal_has_no_lower_bound() {
    let figures = figures_of("/// One word.");
    assert!(ceilings::judge("example", &figures, &[]).is_empty());
    let goals = Ceilings { name: "example", limits: Rule::ALL.map(Rule::goal) };
    assert!(ceilings::judge("example", &figures, &[goals]).is_empty());
}

#[test]
fn a_crate_that_is_missing_from_the_table_has_the_goals() {
    let figures = figures_of("/// what is");
    assert!(ceilings::judge("example", &figures, &[])[0].contains("the ceiling is 2"));
}

#[test]
fn every_row_of_the_table_is_at_or_above_the_goal() {
    for row in ceilings::CEILINGS {
        let below = Rule::ALL.into_iter().find(|rule| row.limits[*rule as usize] < rule.goal());
        assert_eq!(below, None, "{}: the goal is enough", row.name);
    }
}

fn names() -> Names {
    let source = "/// Waits for the garbage collector.\nstruct Queue;\n#[test]\nfn p01_an_add_is_kept_once() {}\n// fn an_old_name_of_it() {}";
    let mut names = Names::default();
    names.add("workqueue", "workqueue/src/core/ready.rs", source, &text::of_rust(source));
    names
}

#[test]
fn a_cited_test_must_exist() {
    let missing = |text: &str| citations::missing_tests("docs/a.md", text, &names());
    assert!(missing("`p01_an_add_is_kept_once`, `p01_…`, `p01_`, `add`, `a_short_name`").is_empty());
    assert!(missing("`an_old_name_of_it`")[0].starts_with("docs/a.md:1:"));
    assert_eq!(missing("`p02_…` and `p02_`").len(), 2);
}

#[test]
fn only_the_docs_of_a_rust_file_cite() {
    let missing = |text: &str| citations::missing_tests("a/src/lib.rs", text, &names());
    assert!(missing("let `an_old_name_of_it`;").is_empty());
    assert_eq!(missing("//! 1. (`an_old_name_of_it`)").len(), 1);
}

#[test]
fn items_of_the_glossary_must_exist() {
    let findings = |text: &str| citations::glossary("g.md", text, &names());
    let missing = |text: &str| findings(text).into_iter().filter(|it| it.contains("does not exist")).count();
    assert_eq!(missing("| a | `workqueue::Queue`, `workqueue::core`, `workqueue::ready`, `std::Vec` |"), 0);
    assert_eq!(missing("| a | `workqueue::Line` |"), 1);
}

#[test]
fn a_searched_term_must_be_in_the_docs_of_its_item() {
    let lacks = |row: &str| {
        citations::glossary("g.md", row, &names()).iter().any(|it| it.contains("\"garbage collector\""))
    };
    assert!(!lacks("| garbage collector | `workqueue::Queue` |"));
    assert!(lacks("| collector | `workqueue::Queue` |"));
    assert!(lacks("| garbage collector | `workqueue::Line` |"));
}
