//! Rule coverage: nobody may grant permissions that they do not hold.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::{PolicyRule, has, path_matches};
use crate::bounded::{TEXT_BYTES, shortened};

/// Maximum number of string comparisons. A rule expands to the product of its lists, so without a
/// limit one request could occupy the server for years.
const COMPARISONS: usize = 100_000_000;

/// Maximum number of missing permissions in a message.
const MISSING: usize = 1_000;

/// Maximum number of bytes of the missing permissions in a message, up to the last one.
const MISSING_BYTES: usize = 128 << 10;

/// Returns the permissions of `required` that `held` lacks, formatted, sorted and distinct.
///
/// Each single permission must be in one held rule. Beyond the limit it counts as missing.
pub(super) fn missing(held: &[&PolicyRule], required: &[PolicyRule]) -> BTreeSet<String> {
    let size = held.iter().map(|rule| size(rule)).sum();
    let mut search = Search { held, size, left: COMPARISONS, found: Vec::new(), bytes: 0, limited: false };
    for rule in required {
        for part in parts(rule) {
            search.search(part);
        }
    }
    let mut shown: BTreeSet<_> =
        compacted(search.found).iter().map(|rule| shortened(rule.shown(), TEXT_BYTES)).collect();
    if search.limited {
        shown.insert("{and more than can be compared one by one}".into());
    }
    shown
}

struct Search<'a> {
    held: &'a [&'a PolicyRule],
    /// Number of strings in the held rules.
    size: usize,
    left: usize,
    found: Vec<PolicyRule>,
    /// Bytes of the permissions found.
    bytes: usize,
    /// Whether a limit was reached.
    limited: bool,
}

impl Search<'_> {
    /// Searches for a held rule that covers `required`; otherwise splits it and searches for the
    /// parts.
    fn search(&mut self, mut required: PolicyRule) {
        let cost = size(&required).saturating_mul(self.size.max(1));
        self.limited |= self.found.len() >= MISSING || self.bytes >= MISSING_BYTES || self.left < cost;
        if self.limited {
            return;
        }
        self.left -= cost;
        if self.held.iter().any(|rule| holds(rule, &required)) {
            return;
        }
        let Some(at) = (0..LISTS).find(|at| list(&mut required, *at).len() > 1) else {
            self.bytes += bytes(&required);
            self.found.push(required);
            return;
        };
        for one in std::mem::take(list(&mut required, at)) {
            let mut part = required.clone();
            list(&mut part, at).push(one);
            self.search(part);
            if self.limited {
                return;
            }
        }
    }
}

const LISTS: usize = 5;

/// The lists that a rule is the product of. Verbs are split last, which keeps them in order.
fn list(rule: &mut PolicyRule, at: usize) -> &mut Vec<String> {
    match at {
        0 => &mut rule.groups,
        1 => &mut rule.resources,
        2 => &mut rule.paths,
        3 => &mut rule.names,
        _ => &mut rule.verbs,
    }
}

fn size(rule: &PolicyRule) -> usize {
    let PolicyRule { groups, resources, paths, names, verbs } = rule;
    [groups, resources, paths, names, verbs].iter().map(|list| list.len()).sum()
}

fn bytes(rule: &PolicyRule) -> usize {
    let PolicyRule { groups, resources, paths, names, verbs } = rule;
    [groups, resources, paths, names, verbs].into_iter().flatten().map(String::len).sum()
}

/// Splits a rule into its resource and path parts, without the empty ones.
fn parts(rule: &PolicyRule) -> impl Iterator<Item = PolicyRule> {
    let once = |texts: &[String]| {
        let mut seen = BTreeSet::new();
        texts.iter().filter(|text| seen.insert(*text)).cloned().collect::<Vec<_>>()
    };
    let verbs = once(&rule.verbs);
    let resources = PolicyRule {
        groups: once(&rule.groups),
        resources: once(&rule.resources),
        names: once(&rule.names),
        verbs: verbs.clone(),
        paths: Vec::new(),
    };
    let paths = PolicyRule { paths: once(&rule.paths), verbs, ..PolicyRule::default() };
    let anything = |rule: &PolicyRule| {
        let something = !rule.paths.is_empty() || !rule.groups.is_empty() && !rule.resources.is_empty();
        something && !rule.verbs.is_empty()
    };
    [resources, paths].into_iter().filter(anything)
}

/// Returns whether one rule covers another, which is for resources or for paths.
fn holds(held: &PolicyRule, required: &PolicyRule) -> bool {
    let all = |held: &[String], required: &[String]| required.iter().all(|text| has(held, text));
    all(&held.verbs, &required.verbs)
        && all(&held.groups, &required.groups)
        && required.resources.iter().all(|resource| holds_resource(&held.resources, resource))
        && required.paths.iter().all(|path| held.paths.iter().any(|pattern| path_matches(pattern, path)))
        && (!required.paths.is_empty() || holds_names(&held.names, &required.names))
}

fn holds_resource(held: &[String], required: &str) -> bool {
    let everywhere = required.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
    has(held, required) || everywhere.is_some_and(|everywhere| held.contains(&everywhere))
}

/// An empty list covers all names. Names are never patterns.
fn holds_names(held: &[String], required: &[String]) -> bool {
    held.is_empty() || !required.is_empty() && required.iter().all(|name| held.contains(name))
}

/// Merges the verbs of permissions that are otherwise equal.
fn compacted(rules: Vec<PolicyRule>) -> Vec<PolicyRule> {
    let (paths, simple): (Vec<_>, Vec<_>) = rules.into_iter().partition(|rule| !rule.paths.is_empty());
    let mut verbs = BTreeMap::<PolicyRule, Vec<String>>::new();
    for mut rule in simple {
        let of = std::mem::take(&mut rule.verbs);
        verbs.entry(rule).or_default().extend(of);
    }
    paths.into_iter().chain(verbs.into_iter().map(|(rule, verbs)| PolicyRule { verbs, ..rule })).collect()
}
