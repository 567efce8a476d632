//! The committed lists of specs: each spec of the suite is in exactly one of them.
//!
//! `passes.txt` has one name a line. In `fails.txt` and `left-out.txt`, a line `# REASON` precedes
//! the names that it is the reason of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use super::ginkgo_report::{Spec, Verdict};

const PASSES: &str = "passes.txt";
const FAILS: &str = "fails.txt";
const LEFT_OUT: &str = "left-out.txt";

/// The beginning of a reason that `--update` wrote. Such a reason is a difference in each run until
/// somebody has found the cause.
const UNEXPLAINED: &str = "unexplained: ";

/// The expected result of a spec that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expectation<'a> {
    Passes,
    /// Fails for this reason.
    Fails(&'a str),
}

/// The three lists.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SpecLists {
    pub(super) passes: BTreeSet<String>,
    /// Reasons by name.
    pub(super) fails: BTreeMap<String, String>,
    /// Reasons by name.
    pub(super) left_out: BTreeMap<String, String>,
}

impl SpecLists {
    /// Reads the lists in `directory`.
    pub(super) fn read(directory: &Path) -> anyhow::Result<Self> {
        let text = |name: &str| {
            let path = directory.join(name);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        Ok(Self {
            passes: names(&text(PASSES)?).context(PASSES)?,
            fails: names_with_reasons(&text(FAILS)?).context(FAILS)?,
            left_out: names_with_reasons(&text(LEFT_OUT)?).context(LEFT_OUT)?,
        })
    }

    /// Writes the lists of passing and failing specs. Specs are left out by hand only.
    pub(super) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        let passes: String = self.passes.iter().map(|name| format!("{name}\n")).collect();
        for (file, text) in [(PASSES, passes), (FAILS, with_reasons(&self.fails))] {
            let path = directory.join(file);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// Returns the expected result of a spec, or nothing if it is left out or in no list.
    pub(super) fn expectation(&self, name: &str) -> Option<Expectation<'_>> {
        match self.fails.get(name) {
            Some(reason) => Some(Expectation::Fails(reason)),
            None => self.passes.contains(name).then_some(Expectation::Passes),
        }
    }

    /// Returns each difference between the lists and the specs of the suite, as a line of text.
    pub(super) fn differ_from(&self, suite: &[Spec]) -> Vec<String> {
        let suite: BTreeSet<&str> = suite.iter().map(|spec| spec.name.as_str()).collect();
        let mut times: BTreeMap<&str, usize> = suite.iter().map(|name| (*name, 0)).collect();
        let mut findings = Vec::new();
        for name in self.passes.iter().chain(self.fails.keys()).chain(self.left_out.keys()) {
            match times.get_mut(name.as_str()) {
                Some(count) => *count += 1,
                None => findings.push(format!("listed, but not in the suite: {name}")),
            }
        }
        findings.extend(times.into_iter().filter_map(|(name, count)| match count {
            0 => Some(format!("in the suite, but in no list: {name}")),
            1 => None,
            _ => Some(format!("in more than one list: {name}")),
        }));
        let unexplained = self.fails.iter().filter(|(_, reason)| reason.starts_with(UNEXPLAINED));
        findings.extend(unexplained.map(|(name, reason)| {
            format!("expected to fail without a reason: {name}: replace `# {reason}` in {FAILS} by the cause")
        }));
        findings
    }

    /// Makes the lists consistent with the suite: drops names that it lacks, and expects specs that
    /// are in no list to pass. A spec in several lists stays left out, or else fails.
    pub(super) fn adopt(&mut self, suite: &[Spec]) {
        let suite: BTreeSet<&str> = suite.iter().map(|spec| spec.name.as_str()).collect();
        self.left_out.retain(|name, _| suite.contains(name.as_str()));
        let left_out = &self.left_out;
        self.fails.retain(|name, _| suite.contains(name.as_str()) && !left_out.contains_key(name));
        let others = suite
            .into_iter()
            .filter(|name| !self.left_out.contains_key(*name) && !self.fails.contains_key(*name));
        self.passes = others.map(str::to_owned).collect();
    }

    /// Returns the names of the specs that run: all that are not left out, or those of them that
    /// contain `focus`.
    pub(super) fn chosen(&self, focus: Option<&str>) -> BTreeSet<String> {
        let all = self.passes.iter().chain(self.fails.keys());
        all.filter(|name| focus.is_none_or(|focus| name.contains(focus))).cloned().collect()
    }

    /// Returns the names that contain `focus` and are left out, with the reasons.
    pub(super) fn left_out(&self, focus: &str) -> impl Iterator<Item = (&String, &String)> {
        self.left_out.iter().filter(move |(name, _)| name.contains(focus))
    }

    /// Moves the specs that ran to the list of their results. A known reason is kept.
    pub(super) fn update(&mut self, results: &BTreeMap<String, Verdict>) {
        for (name, verdict) in results {
            match verdict {
                Verdict::Passed => {
                    self.fails.remove(name);
                    self.passes.insert(name.clone());
                }
                Verdict::Failed(message) | Verdict::Skipped(message) => {
                    self.passes.remove(name);
                    let message = message.lines().next().unwrap_or_default().trim();
                    self.fails.entry(name.clone()).or_insert_with(|| format!("{UNEXPLAINED}{message}"));
                }
            }
        }
    }
}

/// Reads a list without reasons.
fn names(text: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        ensure!(names.insert(line.to_owned()), "listed twice: {line}");
    }
    Ok(names)
}

/// Reads a list with reasons.
fn names_with_reasons(text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let (mut reasons, mut current) = (BTreeMap::new(), None);
    for line in text.lines().filter(|line| !line.is_empty()) {
        match (line.strip_prefix("# "), current) {
            (Some(reason), _) => current = Some(reason),
            (None, None) => bail!("no line `# REASON` before: {line}"),
            (None, Some(reason)) => {
                ensure!(reasons.insert(line.to_owned(), reason.to_owned()).is_none(), "listed twice: {line}");
            }
        }
    }
    Ok(reasons)
}

/// Writes a list with reasons: names with one reason together, reasons in alphabetical order.
fn with_reasons(reasons: &BTreeMap<String, String>) -> String {
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, reason) in reasons {
        names.entry(reason).or_default().push(name);
    }
    let blocks = names.iter().map(|(reason, names)| format!("# {reason}\n{}\n", names.join("\n")));
    blocks.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(passes: &[&str], fails: &[(&str, &str)], left_out: &[(&str, &str)]) -> SpecLists {
        let reasons = |all: &[(&str, &str)]| {
            all.iter().map(|(name, reason)| ((*name).to_owned(), (*reason).to_owned())).collect()
        };
        SpecLists {
            passes: passes.iter().map(|name| (*name).to_owned()).collect(),
            fails: reasons(fails),
            left_out: reasons(left_out),
        }
    }

    fn suite(names: &[&str]) -> Vec<Spec> {
        names.iter().map(|name| Spec { name: (*name).to_owned(), area: "Area".to_owned() }).collect()
    }

    #[test]
    fn each_spec_of_the_suite_is_in_one_list() {
        let lists = lists(&["a"], &[("b", "no kind")], &[("c", "pods")]);
        assert_eq!(lists.differ_from(&suite(&["a", "b", "c"])), [""; 0]);
        assert_eq!(lists.differ_from(&suite(&["a", "b", "c", "d"])), ["in the suite, but in no list: d"]);
        assert_eq!(lists.differ_from(&suite(&["a", "b"])), ["listed, but not in the suite: c"]);
    }

    #[test]
    fn a_spec_in_two_lists_is_a_finding() {
        let twice = ["in more than one list: a"];
        assert_eq!(lists(&["a"], &[("a", "no kind")], &[]).differ_from(&suite(&["a"])), twice);
        assert_eq!(lists(&["a"], &[], &[("a", "pods")]).differ_from(&suite(&["a"])), twice);
        assert_eq!(lists(&[], &[("a", "no kind")], &[("a", "pods")]).differ_from(&suite(&["a"])), twice);
    }

    #[test]
    fn a_failure_that_nobody_explained_is_a_finding() {
        let lists = lists(&[], &[("a", "unexplained: got 404")], &[]);
        assert_eq!(
            lists.differ_from(&suite(&["a"])),
            [
                "expected to fail without a reason: a: replace `# unexplained: got 404` in fails.txt by the cause"
            ]
        );
    }

    #[test]
    fn a_list_with_reasons_is_read_as_it_was_written() {
        let reasons = lists(&[], &[("a", "pods"), ("b", "kinds"), ("c", "pods")], &[]).fails;
        let text = "# kinds\nb\n\n# pods\na\nc\n";
        assert_eq!(with_reasons(&reasons), text);
        assert_eq!(names_with_reasons(text).unwrap(), reasons);
    }

    #[test]
    fn a_name_without_a_reason_or_listed_twice_is_refused() {
        assert_eq!(names_with_reasons("a\n").unwrap_err().to_string(), "no line `# REASON` before: a");
        assert_eq!(names_with_reasons("# x\na\n# y\na\n").unwrap_err().to_string(), "listed twice: a");
        assert_eq!(names("a\na\n").unwrap_err().to_string(), "listed twice: a");
    }

    #[test]
    fn specs_that_are_left_out_are_never_chosen() {
        let lists = lists(&["watch a", "list a"], &[("watch b", "x")], &[("watch c", "pods")]);
        assert_eq!(lists.chosen(None).len(), 3);
        let watches: Vec<_> = lists.chosen(Some("watch")).into_iter().collect();
        assert_eq!(watches, ["watch a", "watch b"]);
        assert_eq!(lists.left_out("watch").count(), 1);
    }

    #[test]
    fn an_update_moves_specs_by_their_results_and_keeps_reasons() {
        let mut before = lists(&["a", "b", "e"], &[("c", "kinds"), ("d", "kinds")], &[("f", "pods")]);
        let failed = |message: &str| Verdict::Failed(message.to_owned());
        let results = [
            ("a", Verdict::Passed),
            ("b", failed("got 404\nmore")),
            ("c", Verdict::Passed),
            ("d", failed("got 500")),
        ];
        before.update(&results.map(|(name, verdict)| (name.to_owned(), verdict)).into());
        let fails = [("b", "unexplained: got 404"), ("d", "kinds")];
        assert_eq!(before, lists(&["a", "c", "e"], &fails, &[("f", "pods")]));
    }

    #[test]
    fn adoption_expects_new_specs_to_pass_and_drops_old_ones() {
        let mut before =
            lists(&["a", "old", "c"], &[("b", "x"), ("c", "y"), ("old2", "x")], &[("c", "pods")]);
        before.adopt(&suite(&["a", "b", "c", "new"]));
        assert_eq!(before, lists(&["a", "new"], &[("b", "x")], &[("c", "pods")]));
    }
}
