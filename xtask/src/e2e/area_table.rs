//! The table of results by area.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::ginkgo_report::{Spec, Verdict};
use super::spec_lists::{Expectation, SpecLists};

/// Numbers of specs of one area.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct AreaCounts {
    passed: usize,
    /// Failed as expected.
    expected: usize,
    /// Failed against expectation, or skipped itself.
    failed: usize,
    left_out: usize,
    /// Neither left out nor run: outside of the focus.
    not_run: usize,
}

/// Renders the results by area, in alphabetical order, with a line of sums.
pub(super) fn render(suite: &[Spec], lists: &SpecLists, results: &BTreeMap<String, Verdict>) -> String {
    let mut areas: BTreeMap<&str, AreaCounts> = BTreeMap::new();
    let mut sum = AreaCounts::default();
    for spec in suite {
        for counts in [areas.entry(&spec.area).or_default(), &mut sum] {
            counts.add(lists.expectation(&spec.name), results.get(&spec.name));
        }
    }
    let width = areas.keys().map(|area| area.len()).max().unwrap_or(0).max(5);
    let mut text = String::new();
    let _ = writeln!(text, "{:width$}  passed  failed  expected to fail  left out  not run", "area");
    for (area, counts) in areas.into_iter().chain([("total", sum)]) {
        let AreaCounts { passed, expected, failed, left_out, not_run } = counts;
        let _ = writeln!(
            text,
            "{area:width$}  {passed:>6}  {failed:>6}  {expected:>16}  {left_out:>8}  {not_run:>7}"
        );
    }
    text
}

impl AreaCounts {
    fn add(&mut self, expectation: Option<Expectation<'_>>, verdict: Option<&Verdict>) {
        let count = match (expectation, verdict) {
            (_, Some(Verdict::Passed)) => &mut self.passed,
            (Some(Expectation::Fails(_)), Some(Verdict::Failed(_))) => &mut self.expected,
            (_, Some(Verdict::Failed(_) | Verdict::Skipped(_))) => &mut self.failed,
            (None, None) => &mut self.left_out,
            (Some(_), None) => &mut self.not_run,
        };
        *count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_by_area() {
        let spec = |name: &str, area: &str| Spec { name: name.to_owned(), area: area.to_owned() };
        let suite = ["pass", "fail", "expected", "unexpected", "out", "rest"]
            .map(|name| spec(name, "Garbage collector"));
        let mut suite = suite.to_vec();
        suite.push(spec("skip", "Watchers"));
        let lists = SpecLists {
            passes: ["pass", "fail", "rest", "skip"].map(str::to_owned).into(),
            fails: ["expected", "unexpected"].map(|name| (name.to_owned(), "x".to_owned())).into(),
            left_out: [("out".to_owned(), "pods".to_owned())].into(),
        };
        let failed = Verdict::Failed("x".to_owned());
        let results = [
            ("pass", Verdict::Passed),
            ("fail", failed.clone()),
            ("expected", failed),
            ("unexpected", Verdict::Passed),
            ("skip", Verdict::Skipped("x".to_owned())),
        ];
        let results = results.map(|(name, verdict)| (name.to_owned(), verdict)).into();
        let expected = "\
area               passed  failed  expected to fail  left out  not run
Garbage collector       2       1                 1         1        1
Watchers                0       1                 0         0        0
total                   2       2                 1         1        1
";
        assert_eq!(render(&suite, &lists, &results), expected);
    }
}
