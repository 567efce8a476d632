//! What sort of object.

use std::fmt;
use std::sync::Arc;

use crate::excerpt::excerpt;
use crate::{NameError, NameRule};

/// A sort of object, as one version of one group of an API has it. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(Arc<KindParts>);

#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct KindParts {
    api_version: Box<str>,
    name: Box<str>,
    plural: Box<str>,
    scope: Scope,
}

/// Where objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Each in a namespace.
    Namespaced,
    /// In none.
    Cluster,
}

impl Kind {
    /// A kind by its `group/version` (or `version`, for the group without a name), its name and its plural:
    /// `Kind::new("net.example.com/v1", "Host", "hosts", Scope::Namespaced)`.
    ///
    /// # Errors
    /// One of them is not a name as Kubernetes allows it.
    pub fn new(api_version: &str, name: &str, plural: &str, scope: Scope) -> Result<Self, KindError> {
        let wrong = |part: &'static str, text: &str| {
            let text = excerpt(text);
            move |source| KindError { part, text, source }
        };
        let version = match api_version.split_once('/') {
            None => api_version,
            Some((group, version)) => {
                NameRule::DnsSubdomain.check(group).map_err(wrong("group", group))?;
                version
            }
        };
        NameRule::DnsLabel.check(version).map_err(wrong("version", version))?;
        NameRule::DnsLabel.check(&name.to_ascii_lowercase()).map_err(wrong("name", name))?;
        NameRule::DnsLabel.check(plural).map_err(wrong("plural", plural))?;
        let parts =
            KindParts { api_version: api_version.into(), name: name.into(), plural: plural.into(), scope };
        Ok(Self(Arc::new(parts)))
    }

    /// The group, without the version; empty for the group without a name.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// The version, without the group.
    #[must_use]
    pub fn version(&self) -> &str {
        self.api_version().split_once('/').map_or(self.api_version(), |(_, version)| version)
    }

    /// Group and version, as objects say it in `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> &str {
        &self.0.api_version
    }

    /// The name, as objects say it in `kind`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The name of many, as paths say it.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.0.plural
    }

    /// Where its objects live.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.0.scope
    }
}

/// As kubectl takes it: `hosts.net.example.com`, or `pods`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural())?;
        if !self.group().is_empty() {
            write!(f, ".{}", self.group())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({} {}, {}, {:?})", self.api_version(), self.name(), self.plural(), self.scope())
    }
}

/// Why there is no such [`Kind`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot be the {part} of a kind")]
pub struct KindError {
    /// Which part of it is wrong: `group`, `version`, `name` or `plural`.
    pub part: &'static str,
    /// That part, or its beginning.
    pub text: String,
    /// What is wrong with it.
    pub source: NameError,
}
