//! Resource selectors: `secrets`, `widgets.example.com`, `*.example.com`, `*.` or `*.*`.

use std::fmt::{Display, Formatter, Result as Written};

/// Selects one resource, the resources of a group, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resources {
    /// `None` matches every group; the core group is the empty string.
    group: Option<String>,
    /// `None` matches every resource.
    plural: Option<String>,
}

impl Resources {
    /// Parses a selector; the error suggests a valid one.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("{text:?} {why}"));
        if text == "*" {
            return wrong("is not allowed: write \"*.\" for the core group, or \"*.*\" for all");
        }
        if text.contains('/') {
            return wrong("has a slash: subresources are stored with their object; write RESOURCE.GROUP");
        }
        if text.chars().any(char::is_uppercase) {
            return wrong("has capitals: write the plural in small letters, as in `secrets`");
        }
        let (plural, group) =
            text.split_once('.').map_or((text, None), |(plural, group)| (plural, Some(group)));
        let group = match group {
            Some("*") if plural == "*" => None,
            group => Some(group.unwrap_or_default()),
        };
        let is_word = |word: &str| !word.contains('*') && !word.contains(char::is_whitespace);
        if plural.is_empty() || (plural != "*" && !is_word(plural)) || !group.is_none_or(is_word) {
            return wrong("matches nothing: write RESOURCE, RESOURCE.GROUP, *.GROUP, \"*.\" or \"*.*\"");
        }
        if text != "*." && text.ends_with('.') {
            return wrong("ends with a dot: write RESOURCE for one of the core group");
        }
        if group == Some("events.k8s.io") {
            return wrong("are stored as `events`: write that");
        }
        if group == Some("extensions") {
            return wrong("is of a removed group: write apps or networking.k8s.io");
        }
        let plural = (plural != "*").then(|| plural.to_owned());
        Ok(Self { group: group.map(str::to_owned), plural })
    }

    /// Returns whether a resource matches.
    pub(super) fn contain(&self, group: &str, plural: &str) -> bool {
        self.group.as_deref().is_none_or(|of| of == group)
            && self.plural.as_deref().is_none_or(|of| of == plural)
    }

    /// Returns whether the selector covers all of `other`.
    pub(super) fn mask(&self, other: &Self) -> bool {
        (self.group.is_none() || self.group == other.group)
            && (self.plural.is_none() || self.plural == other.plural)
    }
}

impl Display for Resources {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        let plural = self.plural.as_deref().unwrap_or("*");
        match self.group.as_deref() {
            Some("") if self.plural.is_some() => f.write_str(plural),
            group => write!(f, "{plural}.{}", group.unwrap_or("*")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, among: &[(&str, &str)], not: &[(&str, &str)]) {
        let resources = Resources::read(text).unwrap();
        assert_eq!(resources.to_string(), text);
        among
            .iter()
            .for_each(|(group, plural)| assert!(resources.contain(group, plural), "{group}/{plural}"));
        not.iter().for_each(|(group, plural)| assert!(!resources.contain(group, plural), "{group}/{plural}"));
    }

    #[test]
    fn resources_are_those_of_kubernetes() {
        let (secrets, widgets) = (("", "secrets"), ("example.com", "widgets"));
        check("secrets", &[secrets], &[widgets, ("", "configmaps"), ("example.com", "secrets")]);
        check("widgets.example.com", &[widgets], &[secrets, ("example.com", "gadgets"), ("com", "widgets")]);
        check(
            "*.example.com",
            &[widgets, ("example.com", "gadgets")],
            &[secrets, ("a.example.com", "widgets")],
        );
        check("*.", &[secrets, ("", "configmaps")], &[widgets]);
        check("*.*", &[secrets, widgets], &[]);
    }

    #[test]
    fn selectors_without_a_match_are_rejected_with_advice() {
        for (text, advice) in [
            ("", "write RESOURCE"),
            ("*", "write \"*.\""),
            (".example.com", "write RESOURCE"),
            ("secrets.", "write RESOURCE for one"),
            ("secrets.*", "write RESOURCE"),
            ("se*", "write RESOURCE"),
            ("*.*.com", "write RESOURCE"),
            ("a b", "write RESOURCE"),
            ("Secrets", "small letters"),
            ("widgets/status.example.com", "subresources"),
            ("events.events.k8s.io", "`events`"),
            ("*.extensions", "apps or"),
        ] {
            let why = Resources::read(text).expect_err(text);
            assert!(why.contains(advice), "{why}");
        }
    }

    #[test]
    fn a_masked_selector_is_covered_by_an_earlier_one() {
        let read = |text| Resources::read(text).unwrap();
        for (first, then, expected) in [
            ("*.*", "secrets", true),
            ("*.*", "*.*", true),
            ("*.", "secrets", true),
            ("*.", "widgets.example.com", false),
            ("*.example.com", "widgets.example.com", true),
            ("secrets", "secrets", true),
            ("secrets", "*.", false),
            ("widgets.example.com", "widgets.example.org", false),
        ] {
            assert_eq!(read(first).mask(&read(then)), expected, "{first} {then}");
        }
    }
}
