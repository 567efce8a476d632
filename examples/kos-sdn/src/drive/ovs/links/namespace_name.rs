//! Names of network namespaces, and places of links.

use std::fmt;

use super::LinkError;

/// The name of a network namespace below `/run/netns`: one file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceName(String);

/// Maximum number of bytes of a file name on Linux.
const NAME_LIMIT: usize = 255;

impl NamespaceName {
    /// Parses a name.
    ///
    /// # Errors
    /// [`LinkError::Name`]: the text is no file name, or is longer than 255 bytes.
    pub fn new(name: impl Into<String>) -> Result<Self, LinkError> {
        let name = name.into();
        let is_file_name = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0', '\n']);
        if is_file_name && name.len() <= NAME_LIMIT { Ok(Self(name)) } else { Err(LinkError::Name { name }) }
    }

    /// Returns the name of an attachment's namespace: `NAMESPACE.NAME`. A Kubernetes namespace has
    /// no dots, so two attachments never share a name.
    ///
    /// # Errors
    /// [`LinkError::Name`]: both together are longer than 254 bytes.
    pub fn of_attachment(namespace: &str, name: &str) -> Result<Self, LinkError> {
        Self::new(format!("{namespace}.{name}"))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NamespaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The network namespace of a link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkPlace {
    /// The namespace of `ovs-vswitchd`.
    Switch,
    /// The named namespace of a workload.
    Workload(NamespaceName),
}

impl fmt::Display for LinkPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch => f.write_str("the switch's namespace"),
            Self::Workload(name) => write!(f, "namespace {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_file_names() {
        let check =
            |name: &str, expected: bool| assert_eq!(NamespaceName::new(name).is_ok(), expected, "{name}");
        check("a.b", true);
        check("", false);
        check(".", false);
        check("..", false);
        check("a/b", false);
        check("a\0", false);
        check(&"a".repeat(255), true);
        check(&"a".repeat(256), false);
        assert!(NamespaceName::of_attachment("default", &"a".repeat(253)).is_err());
    }
}
