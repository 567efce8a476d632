//! Comparison of the results of a run with the lists, in both directions.

use std::collections::{BTreeMap, BTreeSet};

use super::ginkgo_report::Verdict;
use super::spec_lists::{Expectation, SpecLists};

/// Returns each difference between the expected and the actual results, as a line of text.
///
/// A chosen spec that did not run is a difference, and so is a spec that ran without being chosen.
pub(super) fn differences(
    lists: &SpecLists,
    chosen: &BTreeSet<String>,
    results: &BTreeMap<String, Verdict>,
) -> Vec<String> {
    let mut differences: Vec<_> =
        chosen.iter().filter_map(|name| difference(lists, name, results.get(name))).collect();
    let others = results.keys().filter(|name| !chosen.contains(*name));
    differences.extend(others.map(|name| format!("ran without being chosen: {name}")));
    differences
}

fn difference(lists: &SpecLists, name: &str, verdict: Option<&Verdict>) -> Option<String> {
    match (lists.expectation(name), verdict) {
        (_, None) => Some(format!("did not run: {name}")),
        (_, Some(Verdict::Skipped(message))) => {
            Some(format!("skipped itself: {name}: {message}; if that is right, leave it out with a reason"))
        }
        (Some(Expectation::Passes), Some(Verdict::Failed(message))) => {
            Some(format!("FAILED: {name}: {}", message.trim()))
        }
        (Some(Expectation::Fails(reason)), Some(Verdict::Passed)) => {
            Some(format!("passes, but is expected to fail: {name}: remove it from fails.txt ({reason})"))
        }
        (None, Some(_)) => Some(format!("ran, but is in no list: {name}")),
        (Some(Expectation::Passes), Some(Verdict::Passed))
        | (Some(Expectation::Fails(_)), Some(Verdict::Failed(_))) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(results: &[(&str, Verdict)], expected: &[&str]) {
        let lists = SpecLists {
            passes: ["good".to_owned()].into(),
            fails: [("bad".to_owned(), "no kind".to_owned())].into(),
            left_out: [("out".to_owned(), "pods".to_owned())].into(),
        };
        let results = results.iter().map(|(name, verdict)| ((*name).to_owned(), verdict.clone())).collect();
        assert_eq!(differences(&lists, &lists.chosen(None), &results), expected);
    }

    fn failed(message: &str) -> Verdict {
        Verdict::Failed(message.to_owned())
    }

    #[test]
    fn expected_results_are_no_difference() {
        check(&[("good", Verdict::Passed), ("bad", failed("got 404"))], &[]);
    }

    #[test]
    fn a_failure_is_a_difference_and_shows_its_message() {
        check(&[("good", failed("got 500\n")), ("bad", failed("x"))], &["FAILED: good: got 500"]);
    }

    #[test]
    fn a_pass_of_a_spec_that_is_expected_to_fail_is_a_difference() {
        check(
            &[("good", Verdict::Passed), ("bad", Verdict::Passed)],
            &["passes, but is expected to fail: bad: remove it from fails.txt (no kind)"],
        );
    }

    #[test]
    fn a_spec_that_did_not_run_is_a_difference() {
        check(&[("bad", failed("x"))], &["did not run: good"]);
        check(&[("good", Verdict::Passed)], &["did not run: bad"]);
    }

    #[test]
    fn a_spec_that_skipped_itself_is_a_difference() {
        let skipped = Verdict::Skipped("only on gce".to_owned());
        let line = |name| {
            format!("skipped itself: {name}: only on gce; if that is right, leave it out with a reason")
        };
        check(&[("good", skipped.clone()), ("bad", skipped)], &[&line("bad"), &line("good")]);
    }

    #[test]
    fn a_spec_that_ran_without_being_chosen_is_a_difference() {
        check(
            &[("good", Verdict::Passed), ("bad", failed("x")), ("out", Verdict::Passed)],
            &["ran without being chosen: out"],
        );
    }
}
