//! The JSON report of ginkgo: the specs of a suite, and their results.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde::Deserialize;

/// The beginning of the names of the suite. Its packages import helpers that register specs of
/// other groups, which are not part of it.
const GROUP: &str = "[sig-api-machinery] ";

/// A spec of the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    /// The full name, as ginkgo's focus matches it.
    pub(super) name: String,
    /// The outermost container without the name of the group and without tags: `Watchers`.
    pub(super) area: String,
}

/// The result of one spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    /// Failed, panicked, timed out or was interrupted, with this message.
    Failed(String),
    /// Did not run, with the spec's own message. It is empty if the spec was not selected.
    Skipped(String),
}

/// Returns the specs of API machinery in a report with their results, in order of the report.
pub(super) fn parse(json: &str) -> anyhow::Result<Vec<(Spec, Verdict)>> {
    let suites: Vec<SuiteReport> = serde_json::from_str(json).context("the report of ginkgo is not whole")?;
    let specs = suites.into_iter().flat_map(|suite| suite.spec_reports);
    let specs = specs.filter(|spec| spec.leaf_node_type == "It").map(SpecReport::judge);
    let specs: Vec<_> = specs.filter(|(spec, _)| spec.name.starts_with(GROUP)).collect();
    let mut names = BTreeMap::new();
    for (spec, _) in &specs {
        ensure!(names.insert(&spec.name, ()).is_none(), "two specs are called {}", spec.name);
    }
    Ok(specs)
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SuiteReport {
    spec_reports: Vec<SpecReport>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpecReport {
    container_hierarchy_texts: Option<Vec<String>>,
    leaf_node_type: String,
    leaf_node_text: String,
    state: String,
    #[serde(default)]
    failure: Failure,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Failure {
    message: String,
}

impl SpecReport {
    fn judge(self) -> (Spec, Verdict) {
        let mut texts = self.container_hierarchy_texts.unwrap_or_default();
        let area = area(texts.first().map_or("", String::as_str));
        texts.push(self.leaf_node_text);
        let verdict = match self.state.as_str() {
            "passed" => Verdict::Passed,
            "skipped" | "pending" => Verdict::Skipped(self.failure.message),
            state if self.failure.message.is_empty() => Verdict::Failed(state.to_owned()),
            _ => Verdict::Failed(self.failure.message),
        };
        (Spec { name: texts.join(" "), area }, verdict)
    }
}

/// Returns a container's text without `[sig-api-machinery]` and other tags in brackets.
fn area(container: &str) -> String {
    let mut depth = 0_usize;
    let outside = container.chars().filter(|c| match c {
        '[' => {
            depth += 1;
            false
        }
        ']' => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    });
    outside.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(state: &str, rest: &str) -> String {
        format!(
            r#"[{{"SuitePath": "/x", "SpecReports": [
                {{"ContainerHierarchyTexts": null, "LeafNodeType": "BeforeSuite", "LeafNodeText": "", "State": "passed"}},
                {{"ContainerHierarchyTexts": ["[sig-api-machinery] Watchers [Serial]", "slow"], "LeafNodeType": "It",
                  "LeafNodeText": "should end [Slow]", "State": "{state}"{rest}}}]}}]"#
        )
    }

    fn check(state: &str, rest: &str, expected: Verdict) {
        let specs = parse(&report(state, rest)).unwrap();
        let name = "[sig-api-machinery] Watchers [Serial] slow should end [Slow]".to_owned();
        assert_eq!(specs, [(Spec { name, area: "Watchers".to_owned() }, expected)]);
    }

    #[test]
    fn results_are_read_from_states_and_failures() {
        let message = r#", "Failure": {"Message": "got 404"}"#;
        check("passed", "", Verdict::Passed);
        check("failed", message, Verdict::Failed("got 404".to_owned()));
        check("panicked", message, Verdict::Failed("got 404".to_owned()));
        check("timedout", "", Verdict::Failed("timedout".to_owned()));
        check("interrupted", "", Verdict::Failed("interrupted".to_owned()));
        check("skipped", message, Verdict::Skipped("got 404".to_owned()));
        check("skipped", "", Verdict::Skipped(String::new()));
        check("pending", "", Verdict::Skipped(String::new()));
    }

    #[test]
    fn specs_of_other_groups_are_ignored() {
        let other = r#"{"LeafNodeType": "It", "LeafNodeText": "[sig-storage] a", "State": "passed"}"#;
        assert_eq!(parse(&format!(r#"[{{"SpecReports": [{other}]}}]"#)).unwrap(), []);
    }

    #[test]
    fn a_report_that_is_cut_off_is_an_error() {
        let whole = report("passed", "");
        assert!(parse(&whole[..whole.len() - 2]).is_err());
    }

    #[test]
    fn two_specs_with_one_name_are_an_error() {
        let spec = r#"{"LeafNodeType": "It", "LeafNodeText": "[sig-api-machinery] a", "State": "passed"}"#;
        let error = parse(&format!(r#"[{{"SpecReports": [{spec}, {spec}]}}]"#)).unwrap_err();
        assert_eq!(error.to_string(), "two specs are called [sig-api-machinery] a");
    }

    #[test]
    fn an_area_has_no_tags() {
        assert_eq!(area("[sig-api-machinery] OpenAPIV3"), "OpenAPIV3");
        assert_eq!(area("[sig-x] A b [Privileged:ClusterAdmin] [Feature:X [y]]"), "A b");
    }
}
