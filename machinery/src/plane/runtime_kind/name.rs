//! Names of kinds, as kubectl accepts them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use machinery_objects::{NameError, NameRule};

/// The name of a kind: plural and group, with an optional version; `widgets.example.com`,
/// `widgets.v1.example.com`, `configmaps`. Without a version, the one that the server prefers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindName {
    plural: Arc<str>,
    version: Option<Arc<str>>,
    group: Arc<str>,
}

/// The text is no name of a kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no name of a kind: write the plural and the group, as in `widgets.example.com`")]
pub struct KindNameError {
    /// The text.
    pub text: String,
    /// The violated rule.
    #[source]
    pub why: NameError,
}

impl KindName {
    /// Returns the plural.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// Returns the version, if the name has one.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Returns the group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }
}

impl FromStr for KindName {
    type Err = KindNameError;

    fn from_str(text: &str) -> Result<Self, KindNameError> {
        let wrong = |why| KindNameError { text: text.chars().take(64).collect(), why };
        let (plural, rest) = text.split_once('.').unwrap_or((text, ""));
        let (version, group) = match rest.split_once('.').unwrap_or((rest, "")) {
            (version, group) if is_version(version) => (Some(version), group),
            _ => (None, rest),
        };
        NameRule::DnsLabel.check(plural).map_err(wrong)?;
        if !group.is_empty() {
            NameRule::DnsSubdomain.check(group).map_err(wrong)?;
        }
        Ok(Self { plural: plural.into(), version: version.map(Into::into), group: group.into() })
    }
}

/// Returns whether a label is a version of Kubernetes: `v1`, `v2beta1`.
fn is_version(label: &str) -> bool {
    let Some(rest) = label.strip_prefix('v') else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (major, stage) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    let minor = stage.strip_prefix("alpha").or_else(|| stage.strip_prefix("beta"));
    digits(major) && (stage.is_empty() || minor.is_some_and(digits))
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        let parts = [self.version(), Some(self.group()).filter(|group| !group.is_empty())];
        parts.into_iter().flatten().try_for_each(|part| write!(f, ".{part}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_plural_version_and_group() {
        let check = |text: &str, plural: &str, version: Option<&str>, group: &str| {
            let name: KindName = text.parse().unwrap();
            assert_eq!((name.plural(), name.version(), name.group()), (plural, version, group), "{text}");
            assert_eq!(name.to_string(), text);
        };
        check("widgets.example.com", "widgets", None, "example.com");
        check("widgets.v1.example.com", "widgets", Some("v1"), "example.com");
        check("widgets.v2beta1.example.com", "widgets", Some("v2beta1"), "example.com");
        check("configmaps", "configmaps", None, "");
        check("configmaps.v1", "configmaps", Some("v1"), "");
        check("deployments.apps", "deployments", None, "apps");
        check("widgets.vx.example.com", "widgets", None, "vx.example.com");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in
            ["", ".", "Widgets.example.com", "widgets.", "widgets..com", "a/b", "widgets.v1.", "w_x.y"]
        {
            let refused = text.parse::<KindName>();
            let is_ok = text == "widgets." || text == "widgets.v1.";
            assert_eq!(refused.is_ok(), is_ok, "{text:?}");
        }
    }
}
