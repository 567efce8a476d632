//! Kinds: group, version, name, plural and scope of a type of object.

use std::fmt;
use std::sync::Arc;

use crate::excerpt::excerpt;
use crate::{NameError, NameRule};

/// A type of object: group, version, kind, resource name and scope. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(Arc<KindParts>);

#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct KindParts {
    api_version: Box<str>,
    name: Box<str>,
    plural: Box<str>,
    scope: Scope,
}

/// The scope of the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Each object belongs to a namespace.
    Namespaced,
    /// The objects are cluster-scoped.
    Cluster,
}

impl Kind {
    /// Creates a kind from its `group/version` (or `version`, for the core group), its name and its
    /// plural: `Kind::new("net.example.com/v1", "Host", "hosts", Scope::Namespaced)`.
    ///
    /// # Errors
    /// If one of them is not a valid name in Kubernetes.
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
        // As Kubernetes checks it: a DNS label but for the case.
        NameRule::DnsLabel.check(&name.to_ascii_lowercase()).map_err(wrong("name", name))?;
        NameRule::DnsLabel.check(plural).map_err(wrong("plural", plural))?;
        let parts =
            KindParts { api_version: api_version.into(), name: name.into(), plural: plural.into(), scope };
        Ok(Self(Arc::new(parts)))
    }

    /// Returns the group, without the version; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the version, without the group.
    #[must_use]
    pub fn version(&self) -> &str {
        self.api_version().split_once('/').map_or(self.api_version(), |(_, version)| version)
    }

    /// Returns group and version, the `apiVersion` of objects.
    #[must_use]
    pub fn api_version(&self) -> &str {
        &self.0.api_version
    }

    /// Returns the name, the `kind` of objects.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the plural, the resource name in paths.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.0.plural
    }

    /// Returns the scope.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.0.scope
    }
}

/// The form that kubectl accepts: `hosts.net.example.com`, or `pods`.
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

/// An invalid part of a [`Kind`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot be the {part} of a kind")]
pub struct KindError {
    /// The invalid part: `group`, `version`, `name` or `plural`.
    pub part: &'static str,
    /// The text of that part, or its beginning.
    pub text: String,
    /// The violated rule.
    pub source: NameError,
}
