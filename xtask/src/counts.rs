//! Adds up the closing lines of test harnesses.

use crate::shell::plain;

/// Numbers of tests that passed, failed and were skipped.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Ran and passed.
    pub(crate) passed: usize,
    /// Ran and failed; or should have run and did not.
    pub(crate) failed: usize,
    /// Not run, with a reason.
    pub(crate) skipped: usize,
}

impl Counts {
    /// Sums every `test result: …` line in the output of `cargo test`.
    pub(crate) fn of(output: &str) -> Self {
        let mut sum = Self::default();
        for line in output.lines() {
            let line = plain(line);
            let Some((_, numbers)) =
                line.trim_start().strip_prefix("test result: ").and_then(|l| l.split_once(". "))
            else {
                continue;
            };
            for part in numbers.split(';') {
                match part.trim().split_once(' ') {
                    Some((n, "passed")) => sum.passed += n.parse().unwrap_or(0),
                    Some((n, "failed")) => sum.failed += n.parse().unwrap_or(0),
                    Some((n, "ignored")) => sum.skipped += n.parse().unwrap_or(0),
                    _ => {}
                }
            }
        }
        sum
    }

    /// Returns the number of tests that ran.
    pub(crate) fn ran(&self) -> usize {
        self.passed + self.failed
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Returns the ignored tests, each with the reason in its `#[ignore = "…"]`.
pub(crate) fn ignored(output: &str) -> Vec<(String, String)> {
    output
        .lines()
        .filter_map(|line| {
            let line = plain(line);
            let (name, verdict) = line.trim().strip_prefix("test ")?.split_once(" ... ignored")?;
            let why = verdict.strip_prefix(", ").unwrap_or("marked #[ignore] without a reason");
            Some((name.to_owned(), why.to_owned()))
        })
        .collect()
}

/// Reasons of tests that skipped themselves: the text after `SKIPPED: `. A harness counts such
/// tests as passed.
pub(crate) fn gave_up(output: &str) -> Vec<String> {
    output.lines().filter_map(|line| Some(plain(line).split_once("SKIPPED: ")?.1.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_harness_is_added() {
        let output = "running 3 tests\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test result: FAILED. 1 passed; 2 failed; 4 ignored; 0 measured; 7 filtered out; finished in 0.12s\n";
        assert_eq!(Counts::of(output), Counts { passed: 4, failed: 2, skipped: 4 });
    }

    #[test]
    fn colours_do_not_hide_a_result() {
        let output =
            "test result: \x1b[32mok\x1b[0m. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(Counts::of(output), Counts { passed: 2, failed: 0, skipped: 1 });
    }

    #[test]
    fn other_lines_are_not_results() {
        assert_eq!(
            Counts::of("error: test failed, to rerun pass `--lib`\n9 passed; 9 failed\n"),
            Counts::default()
        );
    }

    #[test]
    fn an_ignored_test_gives_its_reason() {
        let output = "test a::b ... ignored, needs root\ntest c ... ignored\ntest d ... ok\n";
        let why = "marked #[ignore] without a reason";
        assert_eq!(ignored(output), [("a::b".into(), "needs root".into()), ("c".into(), why.into())]);
    }

    #[test]
    fn a_test_that_gave_up_says_why() {
        let output = "test a ... SKIPPED: no go here\nok\ntest b ... ok\nSKIPPED: no python here\n";
        assert_eq!(gave_up(output), ["no go here", "no python here"]);
    }
}
